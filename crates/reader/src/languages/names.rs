//! Names of modules, functions and commands, by language: compiled in from `src/catalogue/languages/`.

use std::iter::Copied;
use std::slice::Iter;

/// A list of names.
#[derive(Debug, Clone, Copy)]
pub struct Names(pub &'static [&'static str]);

impl Names {
    /// Whether a name is in the list.
    pub fn has(self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// The names.
    pub fn iter(self) -> Copied<Iter<'static, &'static str>> {
        self.0.iter().copied()
    }

    /// Whether a text contains one of the names.
    pub fn are_in(self, text: &str) -> bool {
        self.iter().any(|name| text.contains(name))
    }

    /// Whether a text begins with one of the names.
    pub fn begin(self, text: &str) -> bool {
        self.iter().any(|name| text.starts_with(name))
    }

    /// Whether the list names everything, or this name.
    pub fn allow(self, name: &str) -> bool {
        self.0 == ["*"] || self.has(name)
    }
}

/// Lists of names, each with its key.
#[derive(Debug, Clone, Copy)]
pub struct Table(pub &'static [(&'static str, Names)]);

impl Table {
    /// The list of a key.
    pub fn get(self, key: &str) -> Option<Names> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, names)| *names)
    }

    /// The list of the longest key that a text begins with.
    pub fn get_prefix(self, text: &str) -> Option<Names> {
        let rows = self.0.iter().filter(|(prefix, _)| text.starts_with(prefix));
        rows.max_by_key(|(prefix, _)| prefix.len()).map(|(_, names)| *names)
    }
}

include!(concat!(env!("OUT_DIR"), "/languages.rs"));
