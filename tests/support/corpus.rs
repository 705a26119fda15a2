//! The corpus: `tests/corpus/*.jsonl`, one command a line with what it does.
#![allow(dead_code, reason = "each test reads the fields that it is about")]

use std::fs;
use std::path::Path;

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub command: String,
    pub cwd: String,
    pub expect: Vec<Expected>,
    #[serde(default)]
    pub note: Option<String>,
    /// The file's stem.
    #[serde(skip)]
    pub family: String,
}

/// An action as the corpus states it; what a row leaves out, it does not ask about.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub kind: String,
    pub service: Option<String>,
    pub verb: Option<String>,
    pub host: Option<String>,
    pub repeats: Option<bool>,
}

/// Every row of every family, in the order of the files' names.
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
        let text = fs::read_to_string(&file).expect("a readable family");
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let row: Row = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{family}.jsonl, line {}: {error}", number + 1));
            rows.push(Row { family: family.clone(), ..row });
        }
    }
    rows
}
