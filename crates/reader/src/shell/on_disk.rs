//! What one reading knows of this machine's disk.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::disk::{Disk, Entry, LONGEST_LISTING, Unreadable};
use super::expansion::pattern::glob;

/// Maximum number of files that are opened in one reading.
pub(crate) const MOST_FILES: usize = 32;
/// Maximum number of paths that are looked up in one reading.
pub(crate) const MOST_PATHS: usize = 256;
/// Maximum number of folders that one search or glob lists.
pub(crate) const MOST_FOLDERS: usize = 64;
/// Characters of globs.
pub(crate) const GLOB: [char; 3] = ['*', '?', '['];

/// The disk of this machine, and what was read from it.
#[derive(Default)]
pub(crate) struct OnDisk {
    pub disk: Option<Rc<dyn Disk>>,
    /// The texts that were read, by absolute path.
    pub read: BTreeMap<String, Result<String, Unreadable>>,
    /// The paths under which files were reached that were read, links included.
    pub reached: Vec<String>,
    /// True where a file was looked up in a folder that may be another one.
    pub is_doubtful: bool,
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

/// What a search finds.
#[derive(Debug, Default)]
pub(crate) struct FoundFiles {
    pub files: Vec<String>,
    /// The folders that were listed.
    pub folders: Vec<String>,
    /// False where a limit ended the search.
    pub is_complete: bool,
}

impl Search {
    pub fn files(&self, disk: &dyn Disk) -> FoundFiles {
        let mut found = match self {
            Self::Below { folders, names } => below(folders, names, disk),
            Self::Glob(pattern) => expand(pattern, disk),
        };
        found.is_complete = found.folders.len() < MOST_FOLDERS && found.files.len() <= MOST_FILES;
        found.files.truncate(MOST_FILES + 1);
        found
    }
}

impl FoundFiles {
    /// The entries of a folder, none beyond the limit on folders. Too many entries count as all folders at once.
    fn list(&mut self, folder: &str, disk: &dyn Disk) -> Vec<Entry> {
        if self.folders.len() >= MOST_FOLDERS {
            return vec![];
        }
        self.folders.push(folder.to_owned());
        let entries = disk.list(folder);
        if entries.len() >= LONGEST_LISTING {
            self.folders.resize(MOST_FOLDERS, folder.to_owned());
        }
        entries
    }
}

/// The files below folders, those of the outer folders first.
fn below(folders: &[String], names: &[String], disk: &dyn Disk) -> FoundFiles {
    let mut found = FoundFiles::default();
    let mut folders: VecDeque<String> = folders.iter().cloned().collect();
    while let Some(folder) = folders.pop_front() {
        for entry in found.list(&folder, disk) {
            let path = format!("{}/{}", folder.trim_end_matches('/'), entry.name);
            if entry.is_folder {
                folders.push_back(path);
            } else if names.is_empty() || names.iter().any(|name| glob(name, &entry.name)) {
                found.files.push(path);
            }
        }
    }
    found
}

/// The files that a glob matches.
fn expand(pattern: &str, disk: &dyn Disk) -> FoundFiles {
    let mut result = FoundFiles::default();
    let mut found = vec![String::new()];
    for name in pattern.split('/').filter(|name| !name.is_empty()) {
        let mut next = Vec::new();
        for folder in found {
            if !name.contains(GLOB) {
                next.push(format!("{folder}/{name}"));
                continue;
            }
            let entries = result.list(if folder.is_empty() { "/" } else { &folder }, disk);
            let fits = |entry: &&Entry| {
                entry.name.starts_with('.') == name.starts_with('.') && glob(name, &entry.name)
            };
            next.extend(entries.iter().filter(fits).map(|entry| format!("{folder}/{}", entry.name)));
        }
        found = next;
    }
    result.files = found;
    result
}
