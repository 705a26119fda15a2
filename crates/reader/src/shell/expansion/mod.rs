//! Turns words as written into words as a program receives them.

pub(crate) mod arithmetic;
pub(crate) mod brace;
mod expand;
mod operators;
mod parameter;
pub(crate) mod pattern;
mod splitter;
mod subscripts;
