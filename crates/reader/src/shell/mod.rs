//! Reads bash text without running it and returns the simple commands that it would run.
//!
//! Four phases, each built on those before it: `grammar` turns text into a syntax tree, `expansion` turns
//! words as written into words as a program receives them, `execution` follows what the shell does itself
//! (lists, loops, functions, builtins), and `programs` follows programs that run other programs. The result
//! is a [`Script`].

mod complaint;
pub mod disk;
mod evaluator;
mod execution;
mod expansion;
mod grammar;
mod host;
mod leaving;
mod marks;
mod on_disk;
mod programs;
mod script;
mod shared;
mod state;
mod text;
mod variables;

pub use crate::catalogue::options;
pub use complaint::Complaint;
pub use execution::run::{read, read_on, read_with};
pub use expansion::pattern::{glob, set_len};
pub use host::host_of;
pub use programs::{AnsibleCall, pairs};
pub use script::{
    Command, Construct, EACH, Environment, Found, INHERITED, Mode, NOT_TAKEN, Node, Script, Suspicion, Unread,
};
pub use text::{FAILED, Listing, Unknown, Word, is_name};
