//! What a reading may ask of this machine: scripts that a command runs, folders, and the environment of its shell.
//!
//! The reader asks only where a command runs a file or calls an imported function; a command without these opens nothing.

use serde::{Deserialize, Serialize};

/// The maximum size in bytes of a script that is read.
pub const LONGEST_SCRIPT: usize = 64 * 1024;

/// The maximum number of entries of a folder that are listed.
pub const LONGEST_LISTING: usize = 1_000;

/// This machine, as far as a reading depends on it.
pub trait Disk {
    /// Reads a script. `path` is absolute.
    ///
    /// # Errors
    /// States why the file cannot be read as text.
    fn read(&self, path: &str) -> Result<DiskFile, Unreadable>;
    /// The lines of an environment file that set variables of compose, `COMPOSE_…`; its other lines may hold secrets. Empty if
    /// it cannot be read. `path` is absolute.
    fn compose_variables(&self, path: &str) -> String;
    /// The entries of a folder, sorted by name; empty if it cannot be listed. `path` is absolute.
    fn list(&self, path: &str) -> Vec<Entry>;
    /// The value of a variable in the environment of the client's shell.
    fn variable(&self, name: &str) -> Option<String>;
    /// The body of a function that the client's shell imports from its environment: `() { …; }`.
    fn function(&self, name: &str) -> Option<String>;
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskFile {
    /// Its text.
    pub text: String,
    /// The links on its path and the path behind them, all absolute. Replacing any of these replaces the text.
    pub behind: Vec<String>,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// Its name without the folder.
    pub name: String,
    /// True for a folder; a link is not followed.
    pub is_folder: bool,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unreadable {
    /// It does not exist.
    #[error("it does not exist")]
    Missing,
    /// It is a folder, a device, a FIFO or a socket, or is in `/proc`, `/sys` or `/dev`.
    #[error("it is not a regular file")]
    NotRegular,
    /// It exceeds [`LONGEST_SCRIPT`].
    #[error("it is larger than 64 KiB")]
    TooLarge,
    /// It contains NUL bytes: a compiled program.
    #[error("it is not text")]
    Binary,
    /// It holds secrets.
    #[error("it holds secrets")]
    Secret,
    /// It changed while it was read.
    #[error("it changes while it is read")]
    Changing,
    /// Permissions, a loop of links, or an error of the disk.
    #[error("it cannot be opened")]
    Refused,
}
