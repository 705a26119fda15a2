//! Bash text → the simple commands that it would really run.
//!
//! A text passes through `grammar` (text → syntax tree), `expansion` (words as written → words as a program
//! gets them), `execution` (the shell itself: lists, loops, functions, builtins) and `programs` (programs
//! that run other programs). Each folder builds on those before it; the [`Script`] is what comes out.

mod evaluator;
mod execution;
mod expansion;
mod grammar;
mod host;
mod marks;
mod programs;
mod script;
mod state;
mod text;

pub use crate::catalogue::options;
pub use execution::run::{read, read_with};
pub use expansion::pattern::glob;
pub use host::host_of;
pub use script::{Command, Construct, Mode, Node, Redirection, Script, Suspicion, Unread};
pub use text::{Listing, Origin, Unknown, Word};
