//! A disk of files that a test states, for the reader.
#![allow(dead_code, reason = "each test crate uses its own part of it")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use opsctl_reader::shell::disk::{Disk, DiskFile, Entry, LONGEST_SCRIPT, Unreadable};

/// Files by absolute path, and a home folder.
#[derive(Debug, Default)]
pub struct MapDisk {
    files: BTreeMap<String, String>,
    /// Variables of the environment, and functions with `%%` behind their name.
    variables: BTreeMap<String, String>,
    asked: Cell<usize>,
}

impl MapDisk {
    /// A disk with these files and variables.
    pub fn of(files: &BTreeMap<String, String>, variables: &[(&str, &str)]) -> Rc<Self> {
        let mut all = BTreeMap::from([("HOME".to_owned(), "/root".to_owned())]);
        all.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Rc::new(Self { files: files.clone(), variables: all, asked: Cell::default() })
    }

    /// How often a file or folder was asked for.
    pub fn asked(&self) -> usize {
        self.asked.get()
    }
}

impl Disk for MapDisk {
    fn read(&self, path: &str) -> Result<DiskFile, Unreadable> {
        self.asked.update(|asked| asked + 1);
        let text = self.files.get(path).ok_or(Unreadable::Missing)?.clone();
        match text.as_str() {
            _ if text.len() > LONGEST_SCRIPT => Err(Unreadable::TooLarge),
            _ if text.contains('\0') => Err(Unreadable::Binary),
            _ => Ok(DiskFile { text, behind: vec![path.to_owned()] }),
        }
    }

    fn compose_variables(&self, path: &str) -> String {
        self.asked.update(|asked| asked + 1);
        let text = self.files.get(path).map(String::as_str).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("COMPOSE_")).flat_map(|line| [line, "\n"]).collect()
    }

    fn list(&self, path: &str) -> Vec<Entry> {
        self.asked.update(|asked| asked + 1);
        let folder = format!("{}/", path.trim_end_matches('/'));
        let below = self.files.keys().filter_map(|file| file.strip_prefix(&folder));
        let mut entries: Vec<Entry> = below
            .map(|rest| match rest.split_once('/') {
                Some((name, _)) => Entry { name: name.to_owned(), is_folder: true },
                None => Entry { name: rest.to_owned(), is_folder: false },
            })
            .collect();
        entries.dedup();
        entries
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn function(&self, name: &str) -> Option<String> {
        self.variables.get(&format!("{name}%%")).cloned()
    }
}
