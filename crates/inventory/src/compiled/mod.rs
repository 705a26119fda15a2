//! The compiled policy: an installation as JSON, which hooks read in place of `hosts.yaml`.
//!
//! A new top-level key is a field of the JSON shape in `file` and a file here. A value that hooks read without the rest
//! stands on one line of the header.

mod checks;
mod contacts;
mod context;
mod error;
mod file;
mod header;
mod inventory;
mod mirrors;
mod policy;
mod rules;
mod spend;

pub use error::CompiledError;
pub use file::Compiled;
pub use header::{PolicyHeader, read_windows};
