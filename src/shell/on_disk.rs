//! What one reading knows of this machine's disk.

use std::collections::{BTreeMap, VecDeque};

use super::disk::{Disk, Entry, Unreadable};
use super::expansion::pattern::glob;

/// Maximum number of files that are opened in one reading.
pub(crate) const MOST_FILES: usize = 32;
/// Maximum number of paths that are looked up in one reading.
pub(crate) const MOST_PATHS: usize = 256;
/// Maximum number of folders that one search or glob lists.
pub(crate) const MOST_FOLDERS: usize = 64;
/// Characters of globs.
pub(crate) const GLOB: [char; 3] = ['*', '?', '['];
/// Folders of installed programs, which are taken for what the catalogue says of their name.
pub(crate) const INSTALLED: [&str; 8] =
    ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/lib/", "/lib/", "/snap/", "/etc/init.d/"];

/// The disk of this machine, and what was read from it.
#[derive(Default)]
pub(crate) struct OnDisk {
    pub disk: Option<&'static dyn Disk>,
    /// The texts that were read, by absolute path.
    pub read: BTreeMap<String, Result<String, Unreadable>>,
    /// The paths under which files were reached that were read, links included.
    pub reached: Vec<String>,
    /// The files whose text is being followed, outermost first.
    pub running: Vec<String>,
}

/// A script in a file that is run.
pub(crate) struct ScriptFile {
    /// Its path as `$0` has it.
    pub path: String,
    pub text: String,
    /// True for a file that the same command wrote.
    pub is_written: bool,
}

/// Files on this machine that are not named one by one. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Search {
    /// Files below folders whose names match one of the globs; all files without globs.
    Below { folders: Vec<String>, names: Vec<String> },
    /// Files that a glob matches.
    Glob(String),
}

impl Search {
    pub fn files(&self, disk: &dyn Disk) -> Vec<String> {
        let mut files = match self {
            Self::Below { folders, names } => below(folders, names, disk),
            Self::Glob(pattern) => expand(pattern, disk),
        };
        files.truncate(MOST_FILES + 1);
        files
    }
}

/// The files below folders, those of the outer folders first.
fn below(folders: &[String], names: &[String], disk: &dyn Disk) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders: VecDeque<String> = folders.iter().cloned().collect();
    for _ in 0..MOST_FOLDERS {
        let Some(folder) = folders.pop_front() else { break };
        for entry in disk.list(&folder) {
            let path = format!("{}/{}", folder.trim_end_matches('/'), entry.name);
            if entry.is_folder {
                folders.push_back(path);
            } else if names.is_empty() || names.iter().any(|name| glob(name, &entry.name)) {
                files.push(path);
            }
        }
    }
    files
}

/// The files that a glob matches.
pub(crate) fn expand(pattern: &str, disk: &dyn Disk) -> Vec<String> {
    let mut found = vec![String::new()];
    for name in pattern.split('/').filter(|name| !name.is_empty()) {
        found = if name.contains(GLOB) {
            let in_folder = |folder: &String| {
                let entries = disk.list(if folder.is_empty() { "/" } else { folder });
                let fits = |entry: &Entry| {
                    entry.name.starts_with('.') == name.starts_with('.') && glob(name, &entry.name)
                };
                entries
                    .into_iter()
                    .filter(fits)
                    .map(|entry| format!("{folder}/{}", entry.name))
                    .collect::<Vec<_>>()
            };
            found.iter().take(MOST_FOLDERS).flat_map(in_folder).collect()
        } else {
            found.iter().map(|folder| format!("{folder}/{name}")).collect()
        };
    }
    found
}
