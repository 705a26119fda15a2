//! The contents of files that a script writes, changes or runs.

mod changed;
pub mod disk;
pub mod writing;
pub mod written;
