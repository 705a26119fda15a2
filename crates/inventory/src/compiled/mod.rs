//! The compiled policy: an installation as JSON, which hooks read in place of `hosts.yaml`.
//!
//! Its form is that of the types. A value that hooks read without the rest stands on one line of the header.

mod enforced;
mod error;
mod file;
mod header;

pub use error::CompiledError;
pub use file::Compiled;
pub use header::{read_header, read_windows};
