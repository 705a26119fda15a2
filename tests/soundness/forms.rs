//! The forms in which a command runs a program.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::program::quoted;

/// How a command runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The program is the command.
    Inline,
    /// A file on disk, with arguments.
    Script,
    /// In quotes behind `ssh host`.
    Ssh,
    /// In quotes behind `bash -c`, with arguments.
    Quoted,
    /// A file that the command's shell reads, with arguments.
    Sourced,
    /// A function that is called with the arguments.
    Function,
}

impl Form {
    const ALL: [Self; 8] = [
        Self::Inline,
        Self::Script,
        Self::Inline,
        Self::Quoted,
        Self::Script,
        Self::Ssh,
        Self::Sourced,
        Self::Function,
    ];

    /// The form in which the program of a seed runs.
    pub fn of(seed: u64) -> Self {
        Self::ALL[usize::try_from(seed % 8).expect("small")]
    }

    /// The command, and the files that it needs.
    pub fn command(self, text: &str, args: &[String], here: &Path) -> (String, BTreeMap<String, String>) {
        let words: String = args.iter().map(|arg| format!(" {}", quoted(arg))).collect();
        let path = here.join("p.sh").to_string_lossy().into_owned();
        let file = BTreeMap::from([(path, text.to_owned())]);
        match self {
            Self::Inline => (text.to_owned(), BTreeMap::new()),
            Self::Script => (format!("bash p.sh{words}"), file),
            Self::Sourced => (format!("source ./p.sh{words}"), file),
            Self::Ssh => (format!("ssh nas {}", quoted(text)), BTreeMap::new()),
            Self::Quoted => (format!("bash -c {} p{words}", quoted(text)), BTreeMap::new()),
            Self::Function => (format!("main() {{\n{text}\n}}\nmain{words}"), BTreeMap::new()),
        }
    }
}
