//! Paths, patterns of paths, and what words of a command name.

pub mod archive;
pub mod file_entry;
pub mod glob;
pub mod word_paths;
