//! Bash text → the simple commands that it would really run.

mod brace;
mod parse;
mod pattern;
mod script;
mod text;
mod word;

pub use script::{Command, Construct, Mode, Node, Redirection, Script, Unread};
pub use text::{Listing, Origin, Unknown, Word};
