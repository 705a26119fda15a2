//! Calls that the client has refused, by a permission rule, for a person or for a hook: they never ran.

use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::Deserialize;

use opsctl_machine::plain_file;

/// How much of the end of a transcript is read, in bytes.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The largest number of refused calls that are returned.
const MOST_CALLS: usize = 1000;

/// How the results of refused calls begin. That of a command that ran and failed begins with its exit code.
const OPENINGS: [&str; 4] = [
    "Permission to use ",
    "Claude requested permissions to ",
    "The user doesn't want to proceed with this tool use.",
    "PreToolUse:",
];

#[derive(Deserialize)]
struct RecordWire {
    message: MessageWire,
}

#[derive(Deserialize)]
struct MessageWire {
    content: Vec<ResultWire>,
}

#[derive(Deserialize)]
#[serde(default)]
struct ResultWire {
    tool_use_id: String,
    is_error: bool,
    content: serde_json::Value,
}

impl Default for ResultWire {
    fn default() -> Self {
        Self { tool_use_id: String::new(), is_error: false, content: serde_json::Value::Null }
    }
}

/// Whether the result of a call says that the client has refused it.
pub fn is_refusal(result: &str) -> bool {
    OPENINGS.iter().any(|opening| result.starts_with(opening))
}

/// The ids of the calls of a session that the client has refused, by its transcript and those of its subagents. Of a
/// transcript that cannot be read, none.
pub fn of_transcript(path: &Path) -> Vec<String> {
    let subagents = path.with_extension("").join("subagents");
    let entries = std::fs::read_dir(subagents).into_iter().flatten().filter_map(Result::ok);
    let files = std::iter::once(path.to_owned()).chain(entries.map(|entry| entry.path()));
    files.flat_map(|file| of_file(&file)).take(MOST_CALLS).collect()
}

/// As [`of_transcript`], for the session with this id below the client's folder of projects.
pub fn of_session(projects: &Path, session: &str) -> Vec<String> {
    transcripts(projects, session).flat_map(|path| of_transcript(&path)).take(MOST_CALLS).collect()
}

/// Where the transcript of the session with this id may be below the client's folder of projects.
pub fn transcripts(projects: &Path, session: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(projects).into_iter().flatten().filter_map(Result::ok);
    entries.map(move |folder| folder.path().join(format!("{session}.jsonl")))
}

fn of_file(path: &Path) -> Vec<String> {
    let bytes = plain_file::read_tail(path, MOST_BYTES).unwrap_or_default();
    let errors = memmem::Finder::new(r#""is_error":true"#);
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| errors.find(line).is_some());
    let records = lines.filter_map(|line| serde_json::from_slice::<RecordWire>(line).ok());
    let refused = |result: &ResultWire| result.is_error && result.content.as_str().is_some_and(is_refusal);
    let results = records.flat_map(|record| record.message.content).filter(refused);
    results.map(|result| result.tool_use_id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_calls_are_distinguished_from_those_that_ran() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("-app");
        let write = |name: &str, results: &[(&str, bool, &str)]| {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            let lines = results.iter().map(|(id, is_error, content)| {
                let result = serde_json::json!({
                    "type": "tool_result", "content": content, "is_error": is_error, "tool_use_id": id
                });
                serde_json::json!({ "type": "user", "message": { "content": [result] } }).to_string()
            });
            std::fs::write(file, lines.collect::<Vec<_>>().join("\n")).unwrap();
        };
        let rule = "Permission to use Bash with command docker restart x has been denied.";
        write(
            "s.jsonl",
            &[
                ("t1", true, rule),
                ("t2", false, rule),
                ("t3", true, "Exit code 1\nPermission to use it was denied"),
                ("t4", true, "PreToolUse:Bash hook error: because"),
            ],
        );
        write(
            "s/subagents/agent-a.jsonl",
            &[("t5", true, "Claude requested permissions to use Bash, but no")],
        );
        write("other.jsonl", &[("t6", true, rule)]);
        assert_eq!(of_session(home.path(), "s"), ["t1", "t4", "t5"]);
        assert_eq!(of_session(home.path(), "missing"), [""; 0]);
    }
}
