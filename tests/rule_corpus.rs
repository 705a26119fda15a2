//! Every row of `tests/rules` says which rule a command breaks, if any.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "support/corpus.rs"]
mod corpus;
#[path = "support/deed.rs"]
mod deed;

use std::path::Path;

use opsctl::model::rules::Rules;
use opsctl::policy::files::{self, guarded::Places};
use opsctl::policy::never::{self, defaults::DEFAULTS};
use opsctl::policy::place::{Nowhere, View};
use opsctl::shell;
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    command: String,
    rule: Option<String>,
}

fn rows(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules").join(file);
    let text = std::fs::read_to_string(&path).expect("the corpus is there");
    let row = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    text.lines().map(row).collect()
}

/// The names of the rules that a command breaks.
fn broken(command: &str) -> Vec<String> {
    let script = shell::read(command, Some("/app"));
    let named = |text: String| {
        text.split("(rule ").nth(1).and_then(|rest| rest.split_once(')')).map(|(n, _)| n.to_owned())
    };
    never::objections(&script, &Rules::default(), None, &Nowhere)
        .into_iter()
        .map(|reason| named(reason.text).expect("a denial names its rule"))
        .collect()
}

#[test]
fn every_row_breaks_the_rule_that_it_names_and_no_other() {
    let mut wrong = Vec::new();
    for row in rows("never.jsonl") {
        let found = broken(&row.command);
        if found != row.rule.clone().into_iter().collect::<Vec<_>>() {
            wrong.push(format!("{}\n  expected {:?}, found {found:?}", row.command, row.rule));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrapper_hides_no_rule() {
    let wrappers = [
        "ssh root@ie01 ",
        "bash -c ",
        "env A=b sh -c ",
        "timeout 30 bash -c ",
        "nohup sh -c ",
        "eval ",
        "nice -n 5 bash -lc ",
        "ssh -p 2222 -J jump ie01 bash -c ",
        "docker exec tools sh -c ",
        "watch ",
    ];
    let mut count = 0;
    for row in rows("never.jsonl") {
        let Some(rule) = row.rule.filter(|rule| rule != "local-sudo") else { continue };
        for wrapper in wrappers {
            // What `ssh` hands to `bash -c` is read by two shells.
            let twice = wrapper.starts_with("ssh -p");
            let text = if twice { quoted(&quoted(&row.command)) } else { quoted(&row.command) };
            let text = format!("{wrapper}{text}");
            assert!(broken(&text).contains(&rule), "{rule}: {text}: {:?}", broken(&text));
            count += 1;
        }
    }
    assert!(count > 500, "only {count} combinations");
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn what_agents_look_up_breaks_no_rule() {
    for row in corpus::rows() {
        if row.family.starts_with("lookups") || row.family.starts_with("mentions") {
            let found: Vec<String> =
                broken(&row.command).into_iter().filter(|rule| rule != "local-sudo").collect();
            assert_eq!(found, [""; 0], "{}", row.command);
        }
    }
}

#[test]
fn every_default_has_rows() {
    let rows = rows("never.jsonl");
    for rule in DEFAULTS {
        let count = rows.iter().filter(|row| row.rule.as_deref() == Some(rule.name)).count();
        assert!(count >= 2 || rule.name == "destroy-cluster-data", "{} has {count} rows", rule.name);
    }
}

#[test]
fn the_document_lists_every_default_and_its_example_is_valid() {
    let text = include_str!("../docs/policy.md");
    for rule in DEFAULTS {
        assert!(text.contains(&format!("| `{}` |", rule.name)), "docs/policy.md lacks `{}`", rule.name);
    }
    for block in text.split("```yaml\n").skip(1) {
        let yaml = block.split("```").next().expect("a block ends");
        let loaded = opsctl::inventory::load::parse(yaml);
        assert!(loaded.is_ok(), "{yaml}: {:?}", loaded.err());
    }
}

/// A container of Claude Ops: no files of this machine are looked at.
struct Container;

impl View for Container {
    fn variable(&self, name: &str) -> Option<String> {
        let value = match name {
            "HOME" => "/home/agent",
            "CLAUDEOPS_STATE_DIR" => "/state",
            _ => return None,
        };
        Some(value.to_owned())
    }

    fn canonical(&self, _: &str) -> Option<String> {
        None
    }

    fn expand(&self, _: &str) -> Option<Vec<String>> {
        Some(vec![])
    }

    fn is_folder(&self, path: &str) -> bool {
        matches!(path, "/app" | "/app/.claude" | "/app/.claude/hooks" | "/state" | "/tmp")
    }
}

fn places() -> Places {
    Places {
        project: "/app".into(),
        home: Some("/home/agent".into()),
        ledger: "/state/claudeops.db".into(),
        state: "/state".into(),
        hosts: Some("/app/hosts.yaml".into()),
        opsctl: Some("/usr/local/bin/opsctl".into()),
    }
}

fn touched(command: &str) -> Vec<&'static str> {
    let script = shell::read(command, Some("/app"));
    let mut rules: Vec<&str> = files::objections(&script, &Rules::default(), &places, &Container)
        .into_iter()
        .map(|reason| reason.rule)
        .collect();
    rules.dedup();
    rules
}

#[test]
fn every_file_is_guarded_as_its_row_says() {
    let mut wrong = Vec::new();
    for row in rows("files.jsonl") {
        let found = touched(&row.command);
        // A secret that is copied is also read; one of the two is enough to say so.
        let agrees = match &row.rule {
            None => found.is_empty(),
            Some(rule) => found.contains(&rule.as_str()),
        };
        if !agrees {
            wrong.push(format!("{}\n  expected {:?}, found {found:?}", row.command, row.rule));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_agents_look_up_touches_no_guarded_file() {
    let mut wrong = Vec::new();
    for row in corpus::rows() {
        if row.family.starts_with("lookups") || row.family.starts_with("mentions") {
            let found = touched(&row.command);
            // Two of them do write.
            let writes = row.command.ends_with("mv /tmp/c.json /state/cooldown.json")
                || row.command.starts_with("tee /etc/systemd/system/r.service");
            if found.is_empty() == writes {
                wrong.push(format!("{}: {found:?}", row.command));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
