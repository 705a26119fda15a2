//! Accesses of a command to files.

use opsctl_reader::shell::Word;

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Touch {
    /// It is read.
    Read,
    /// It and everything below it is copied.
    ReadAll,
    /// It is written, moved, removed, or its rights are changed.
    Write,
    /// It and everything below it is written, moved, removed, or changed in its rights.
    WriteAll,
    /// A container gets it and everything below it, or its rights change.
    Shared,
    /// It is copied, and its links as links: what is written through the copy may be elsewhere.
    Linked,
    /// It is written, moved, removed, or changed in its rights, if a search finds it: `FOLDER/NAME`, where the name may be a glob,
    /// in the folder or anywhere below it.
    WriteFound {
        /// False for a shell script that gets the names: it may only read.
        certain: bool,
    },
    /// It is read if a search finds it: `FOLDER/NAME`, where the name may be a glob, in the folder or anywhere below it.
    Search {
        /// Whether files below the folder are found, too.
        deep: bool,
    },
    /// It is a variable of the environment that is printed; without a name, all of them.
    Print,
}

impl Touch {
    /// Whether it reads the file that it names.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadAll)
    }

    /// Whether it changes the file.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::WriteAll | Self::Shared | Self::WriteFound { certain: true })
    }
}

/// An access to a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Access {
    /// The kind of access.
    pub touch: Touch,
    /// The path as it is written, or the name of the variable.
    pub path: String,
    /// Whether a part of the path is unknown.
    pub unknown: bool,
    /// Globs of the names that a search leaves out.
    pub left_out: Vec<String>,
    /// Whether it is a file of a container, though the command runs outside of it: `docker cp web:/app -`.
    pub is_inside: bool,
}

impl Access {
    /// The access to the file that a word names.
    pub fn new(touch: Touch, word: &Word) -> Self {
        Self::named(touch, word.text.clone(), word.unknown.is_some())
    }

    /// The access to a path; `unknown` if a part of it is.
    pub fn named(touch: Touch, path: impl Into<String>, unknown: bool) -> Self {
        Self { touch, path: path.into(), unknown, left_out: vec![], is_inside: false }
    }
}
