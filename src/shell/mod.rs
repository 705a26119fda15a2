//! Bash text → the simple commands that it would really run.

mod arithmetic;
mod assign;
mod batch;
mod brace;
mod builtins;
mod code;
mod code_calls;
mod compound;
mod evaluate;
mod expand;
mod files;
mod functions;
mod lift;
mod listing;
mod loops;
pub mod options;
mod output;
mod parameter;
mod parse;
mod pattern;
mod prepare;
mod redirect;
mod remote;
mod script;
mod shells;
mod simple;
mod state;
mod text;
pub mod valued;
mod word;
mod wrap;
mod wrappers;

pub use evaluate::read;
pub use remote::host_of;
pub use script::{Command, Construct, Mode, Node, Redirection, Script, Unread};
pub use text::{Listing, Origin, Unknown, Word};
