//! Words as written → words as a program gets them.

pub(crate) mod arithmetic;
mod brace;
mod expand;
mod parameter;
pub(crate) mod pattern;
mod splitter;
