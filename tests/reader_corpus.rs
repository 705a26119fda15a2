//! Every row of `tests/corpus` says what a command does; the reader must say the same.

use std::path::Path;

use opsctl::actions::{CommandReading, read_command};
use opsctl::model::action::{Action, Target};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    command: String,
    cwd: String,
    expect: Vec<Expected>,
    /// For people.
    #[serde(default)]
    #[expect(dead_code, reason = "rows explain themselves to people")]
    note: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    kind: String,
    service: Option<String>,
    verb: Option<String>,
    /// The host by its name; `null` is here. Left out: not compared.
    #[serde(default, deserialize_with = "stated")]
    host: Option<Option<String>>,
    repeats: Option<bool>,
    #[serde(default, deserialize_with = "stated")]
    title: Option<Option<String>>,
}

fn stated<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

/// The addresses that the rows use, by the names of the example inventory.
const ADDRESSES: &[(&str, &str)] = &[
    ("192.168.100.210", "ie01"),
    ("192.168.100.220", "pie01"),
    ("192.168.100.221", "pie02"),
    ("192.168.5.30", "int01"),
];

fn host_name(host: &str) -> &str {
    ADDRESSES.iter().find(|(address, _)| *address == host).map_or(host, |(_, name)| name)
}

fn service(target: &Target) -> Option<&str> {
    match target {
        Target::Container(name)
        | Target::ComposeService(name)
        | Target::ComposeProject(name)
        | Target::Unit(name)
        | Target::Workload(name)
        | Target::Release(name) => Some(name),
        Target::Playbook(playbook) => playbook.told.as_deref().or(playbook.guessed.as_deref()),
        Target::Unknown | Target::Nothing => None,
    }
}

fn is_expected(action: &Action, expected: &Expected) -> bool {
    action.kind.as_str() == expected.kind
        && service(&action.target) == expected.service.as_deref()
        && expected.verb.as_deref().is_none_or(|verb| verb == action.verb.as_str())
        && expected.host.as_ref().is_none_or(|host| host.as_deref() == action.host.as_deref().map(host_name))
        && expected.repeats.is_none_or(|repeats| repeats == action.repeats)
        && expected.title.as_ref().is_none_or(|title| *title == action.title)
}

/// Same actions, in any order: every expected one takes one found one.
fn agrees(reading: &CommandReading, expected: &[Expected]) -> bool {
    // Rows that state more choose first, so that they are not left with what states less could have taken.
    let mut by_detail: Vec<&Expected> = expected.iter().collect();
    by_detail.sort_by_key(|e| std::cmp::Reverse((e.verb.is_some(), e.host.is_some(), e.repeats.is_some())));
    let mut left: Vec<&Action> = reading.actions.iter().collect();
    for expected in by_detail {
        let Some(at) = left.iter().position(|action| is_expected(action, expected)) else { return false };
        left.remove(at);
    }
    left.is_empty()
}

#[test]
fn every_corpus_row_is_read_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut rows = 0;
    let mut wrong = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = format!("{}:{}", file.file_name().unwrap().to_string_lossy(), number + 1);
            let row: Row = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
            rows += 1;
            let reading = read_command(&row.command, Some(Path::new(&row.cwd)));
            if !agrees(&reading, &row.expect) {
                let tree = reading.script.lines().join("\n    ");
                wrong.push(format!(
                    "{place}: {}\n  expected {:?}\n  found {:#?}\n  complaints {:?}\n  tree\n    {tree}",
                    row.command, row.expect, reading.actions, reading.complaints
                ));
            }
        }
    }
    assert!(rows >= 138, "only {rows} rows in {}", folder.display());
    assert!(wrong.is_empty(), "{} of {rows} rows are read wrongly:\n{}", wrong.len(), wrong.join("\n"));
}
