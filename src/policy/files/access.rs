//! Accesses of a command to files.

use crate::shell::Word;

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// It is read.
    Read,
    /// It is written, moved, removed, or its rights are changed.
    Write,
    /// It and everything below it is written, moved, removed, or changed in its rights.
    WriteAll,
}

/// An access to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The kind of access.
    pub touch: Touch,
    /// The path as it is written.
    pub path: String,
    /// Whether a part of the path is unknown.
    pub unknown: bool,
}

impl Access {
    /// The access to the file that a word names.
    pub fn new(touch: Touch, word: &Word) -> Self {
        Self { touch, path: word.text.clone(), unknown: word.unknown.is_some() }
    }
}
