//! Text → the grammar's syntax tree, and raw words → their pieces.

mod error;
pub(crate) mod here;
pub(crate) mod lift;
pub(crate) mod parse;
mod prepare;
pub(crate) mod word;
