//! The corpus: `tests/corpus/*.jsonl`, one command a line with what it does.
#![allow(dead_code, reason = "each test reads the fields that it is about")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use opsctl_reader::actions::{CommandReading, read_command_on};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::shell::disk::Disk;
use opsctl_reader::terms::action::Action;
use serde::{Deserialize, Deserializer};

use crate::action_summary::ActionSummary;
use crate::map_disk::MapDisk;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub command: String,
    pub cwd: String,
    pub expect: Vec<Expected>,
    /// Files on this machine, by absolute path.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The stand-ins of its programs do less than the real ones, so that nothing can be learnt from running it.
    #[serde(default)]
    pub beyond_stand_ins: bool,
    #[serde(default)]
    pub note: Option<String>,
    /// The file's stem.
    #[serde(skip)]
    pub family: String,
    #[serde(skip)]
    pub line: usize,
}

impl Row {
    /// Reads the command on a disk with the files of the row; without files, no disk is read.
    pub fn read(&self) -> CommandReading {
        let disk = (!self.files.is_empty()).then(|| MapDisk::of(&self.files, &[]) as Rc<dyn Disk>);
        read_command_on(&self.command, Some(Path::new(&self.cwd)), Catalogue::default(), disk)
    }
}

/// An action as the corpus states it; what a row leaves out, it does not ask about.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub kind: String,
    pub service: Option<String>,
    pub verb: Option<String>,
    #[serde(default)]
    pub host: Stated,
    pub repeats: Option<bool>,
    #[serde(default)]
    pub title: Stated,
}

/// A field that says something even where it is `null`, which for a host means here.
#[derive(Debug, Clone, Default)]
pub enum Stated {
    #[default]
    Nothing,
    Value(Option<String>),
}

impl Stated {
    fn admits(&self, found: Option<&str>) -> bool {
        match self {
            Self::Nothing => true,
            Self::Value(stated) => stated.as_deref() == found,
        }
    }

    pub fn value(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Value(stated) => stated.as_deref(),
        }
    }
}

impl<'de> Deserialize<'de> for Stated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::Value)
    }
}

impl Expected {
    /// Whether the action is as stated.
    pub fn admits(&self, action: &Action) -> bool {
        let summary = ActionSummary::of(action);
        summary.kind == self.kind
            && summary.service == self.service
            && self.verb.as_ref().is_none_or(|verb| *verb == summary.verb)
            && self.host.admits(summary.host.as_deref())
            && self.repeats.is_none_or(|repeats| repeats == summary.repeats)
            && self.title.admits(action.title.as_deref())
    }

    /// How much is stated; what states more must choose first among the actions found.
    pub fn detail(&self) -> usize {
        let hosts = matches!(self.host, Stated::Value(_)) || matches!(self.title, Stated::Value(_));
        usize::from(self.verb.is_some()) + usize::from(hosts) + usize::from(self.repeats.is_some())
    }
}

/// Whether the variable `FAMILY`, a list with commas, names a family or is not set. The files of a family have its name.
pub fn is_selected(family: &str) -> bool {
    std::env::var("FAMILY").map_or(true, |names| names.split(',').any(|name| name == family))
}

/// The rows of the selected families, in the order of the files' names.
pub fn rows() -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the corpus folder")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut rows = Vec::new();
    for file in files {
        let family = file.file_stem().expect("a name").to_string_lossy().into_owned();
        if !is_selected(&family) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a readable family");
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let row: Row = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{family}.jsonl, line {}: {error}", number + 1));
            rows.push(Row { family: family.clone(), line: number + 1, ..row });
        }
    }
    rows
}
