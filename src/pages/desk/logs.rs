//! The log of a session as lines of text, without secrets.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use serde::Serialize;
use serde_json::Value;

use crate::sessions::output::stream;
use crate::sessions::output::stream::{Said, ToolOutcome};
use opsctl_reader::terms::plain_text::plain_lines;

/// The maximum number of bytes that are read, from the end of the log.
const MOST: u64 = 512 * 1024;

/// The maximum length of a text of one event, in characters.
const LONGEST: usize = 2000;

/// A log.
#[derive(Debug, PartialEq, Eq)]
pub struct Log {
    /// Its lines.
    pub lines: Vec<LogLine>,
    /// Whether its beginning is left out.
    pub is_cut: bool,
}

/// A line of a log.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// How it is shown: `text`, `tool`, `ok`, `failed` or `own`.
    pub kind: &'static str,
    /// The text.
    pub text: String,
}

/// Whether a log can be read.
pub fn exists(results: &Path, path: &str) -> bool {
    open(results, path).is_some_and(|file| file.metadata().is_ok_and(|found| found.is_file()))
}

fn open(results: &Path, path: &str) -> Option<File> {
    let name = Path::new(path).file_name()?;
    let path = results.join(name);
    if path.extension()? != "jsonl" {
        return None;
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()
}

/// Reads a log. Its path may be one of another machine or container, and an agent may have written it: only its name
/// counts, below the results folder, and no link is followed. `None` if it cannot be read.
pub fn read(results: &Path, path: &str) -> Option<Log> {
    let mut file = open(results, path)?;
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let from = metadata.len().saturating_sub(MOST);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line is incomplete.
    let whole = if from > 0 { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
    Some(Log { lines: whole.lines().flat_map(lines).collect(), is_cut: from > 0 })
}

fn lines(line: &str) -> Vec<LogLine> {
    let Ok(mut event) = serde_json::from_str::<Value>(line) else { return vec![] };
    opsctl_redact::json(&mut event);
    if event.get("type").and_then(Value::as_str) == Some("opsctl") {
        return vec![shown("own", &own(&event))];
    }
    stream::read(&event).iter().map(said).collect()
}

fn said(said: &Said) -> LogLine {
    match said {
        Said::Text(text) => shown("text", text),
        Said::ToolCall(tool, input) => shown("tool", &format!("{tool}: {input}")),
        Said::ToolResult(ToolOutcome::Ok) => shown("ok", "  ok"),
        Said::ToolResult(ToolOutcome::Denied(why)) => shown("failed", &format!("  denied: {why}")),
        Said::ToolResult(ToolOutcome::Failed(why)) => shown("failed", &format!("  failed: {why}")),
        Said::End(account) if account.is_error => {
            shown("failed", &format!("The client gave up: {}", account.words))
        }
        Said::End(_) => shown("own", "end"),
    }
}

/// A line of opsctl: its time, and its other entries.
fn own(event: &Value) -> String {
    let entries = event.as_object().into_iter().flatten().filter(|(key, _)| *key != "type" && *key != "at");
    let at = event.get("at").and_then(Value::as_str).unwrap_or_default();
    let entries = entries.map(|(key, value)| match value {
        Value::String(text) => format!("{key}: {text}"),
        value => format!("{key}: {value}"),
    });
    std::iter::once(at.to_owned()).chain(entries).collect::<Vec<_>>().join("  ")
}

fn shown(kind: &'static str, text: &str) -> LogLine {
    let mut text = plain_lines(text.trim_end());
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    LogLine { kind, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_events_without_secrets_and_without_hidden_characters() {
        let folder = tempfile::tempdir().unwrap();
        let log = concat!(
            r#"{"type":"opsctl","at":"2026-03-21T14:00:00Z","started":"tier 1"}"#,
            "\nnot JSON\n",
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"mysql --password hunter22\u202e"}}]}}"#,
            "\n"
        );
        std::fs::write(folder.path().join("a.jsonl"), log).unwrap();
        let log = read(folder.path(), "/results/of/another/a.jsonl").unwrap();
        let texts: Vec<&str> = log.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["2026-03-21T14:00:00Z  started: tier 1", "Bash: mysql --password [redacted]"]);
        assert!(!log.is_cut);
    }

    #[test]
    fn reads_no_link_no_other_file_and_not_more_than_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("key.pem"), "{}").unwrap();
        std::os::unix::fs::symlink(at("key.pem"), at("link.jsonl")).unwrap();
        for path in ["key.pem", "link.jsonl", "missing.jsonl", "..", "/", ""] {
            assert_eq!(read(folder.path(), path), None, "{path}");
        }
        let line = format!("{}\n", r#"{"type":"opsctl","at":"t","n":1}"#);
        std::fs::write(at("long.jsonl"), line.repeat(40_000)).unwrap();
        let log = read(folder.path(), "long.jsonl").unwrap();
        assert!(log.is_cut && log.lines.len() < 40_000 && log.lines.len() > 10_000, "{}", log.lines.len());
        assert!(log.lines.iter().all(|line| line.text == "t  n: 1"));
    }
}
