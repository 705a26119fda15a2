//! Turns text into a syntax tree, and the words of the tree into pieces.

pub(crate) mod ansi_c;
pub mod error;
pub(crate) mod here;
pub(crate) mod lift;
pub(crate) mod parse;
mod plain;
mod prepare;
pub(crate) mod word;
