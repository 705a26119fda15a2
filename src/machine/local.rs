//! The file system and environment of the agent's machine, for the rules.

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::agent_side::AgentSide;
use crate::machine::link::lookup::Lookup;
use opsctl_policy::paths::word_paths::{LocalMachine, normal};
use opsctl_reader::shell::glob;

/// The maximum number of directory entries that the globs of one command may visit. A hook that exceeds its timeout
/// would fail open.
const MOST_FILES: usize = 2_000;

/// The agent's machine: its files, and the environment of the agent's shell.
pub struct Machine<'a> {
    agent: &'a AgentSide,
    /// The number of directory entries that may still be visited.
    left: Cell<usize>,
    is_host: bool,
}

impl<'a> Machine<'a> {
    /// The machine of which nothing has been visited yet.
    pub const fn of(agent: &'a AgentSide) -> Self {
        Self { agent, left: Cell::new(MOST_FILES), is_host: false }
    }

    /// The machine as a host itself, if it is one.
    #[must_use]
    pub fn as_host(self, is_host: bool) -> Self {
        Self { is_host, ..self }
    }

    /// The files below a folder of this machine.
    fn files_below(&self, folder: &str, deep: bool) -> Vec<String> {
        let mut files = Vec::new();
        // The nearest ones first: in a large tree, these are the ones that can be looked at.
        let mut folders = VecDeque::from([PathBuf::from(folder)]);
        while let Some(folder) = folders.pop_front() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let Some(left) = self.left.get().checked_sub(1) else { return files };
                self.left.set(left);
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && deep => folders.push_back(entry.path()),
                    _ => files.extend(entry.path().to_str().map(str::to_owned)),
                }
            }
        }
        files
    }

    /// The files of this machine that a glob matches; `None` if they are too many.
    fn matching(&self, pattern: &str) -> Option<Vec<String>> {
        let mut found = vec![PathBuf::from("/")];
        for name in pattern.split('/').filter(|name| !name.is_empty()) {
            let is_glob = name.contains(['*', '?', '[']);
            let mut next = Vec::new();
            for folder in found {
                if !is_glob {
                    next.push(folder.join(name));
                    continue;
                }
                for entry in folder.read_dir().into_iter().flatten().flatten() {
                    self.left.set(self.left.get().checked_sub(1)?);
                    let Ok(entry) = entry.file_name().into_string() else { continue };
                    // A glob matches a leading dot only if it is written.
                    if entry.starts_with('.') == name.starts_with('.') && glob(name, &entry) {
                        next.push(folder.join(entry));
                    }
                }
            }
            found = next;
        }
        Some(found.iter().filter_map(|path| path.to_str().map(str::to_owned)).collect())
    }
}

impl LocalMachine for Machine<'_> {
    fn begin(&self) {
        self.left.set(MOST_FILES);
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.agent.variable(name)
    }

    fn canonical(&self, path: &str) -> Option<String> {
        self.agent.find(|| Lookup::Canonical(path.to_owned()), || canonical(path))
    }

    fn below(&self, folder: &str, deep: bool) -> Option<Vec<String>> {
        let lookup = || Lookup::Below { folder: folder.to_owned(), deep };
        self.agent.find(lookup, || Some(self.files_below(folder, deep)))
    }

    fn is_host(&self) -> bool {
        self.is_host
    }

    fn is_folder(&self, path: &str) -> bool {
        let here = || Some(Path::new(path).is_dir());
        self.agent.find(|| Lookup::IsFolder(path.to_owned()), here).unwrap_or_default()
    }

    fn expand(&self, pattern: &str) -> Option<Vec<String>> {
        self.agent.find(|| Lookup::Expand(pattern.to_owned()), || self.matching(pattern))
    }
}

/// A path of this machine with its links resolved; its end may not exist.
fn canonical(path: &str) -> Option<String> {
    let mut left = Path::new(path);
    let mut missing: Vec<&str> = Vec::new();
    loop {
        if let Ok(real) = left.canonicalize() {
            let real = missing.iter().rev().fold(real, |path, name| path.join(name));
            return real.to_str().map(normal);
        }
        // Writing to a dangling link creates its target.
        if let Ok(target) = left.read_link() {
            let folder = left.parent().unwrap_or(Path::new("/"));
            let target = folder.join(target);
            let folder = target.parent().and_then(|folder| folder.canonicalize().ok())?;
            let real = folder.join(target.file_name()?);
            return missing.iter().rev().fold(real, |path, name| path.join(name)).to_str().map(normal);
        }
        missing.push(left.file_name()?.to_str()?);
        left = left.parent()?;
    }
}
