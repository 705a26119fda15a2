//! `opsctl demo`: replays an incident through the real hooks, with a temporary state folder.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use clap::Args;
use serde_json::Value;

use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, print};

const HOSTS: &str = include_str!("../../../templates/demo/hosts.yaml");
const SESSION: &str = include_str!("../../../templates/demo/session.jsonl");

/// Replay an incident in a few seconds, in a temporary folder and without a client
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl demo

Replays a recorded session through the hooks and shows what the agent reads, what is denied, and what is \
recorded. Nothing outside a temporary folder is changed.")]
pub struct DemoArgs {}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::changes("demo")];

/// Runs the verb.
pub fn run(_: &DemoArgs) -> Result<u8, Failure> {
    let folder = tempfile::tempdir()?;
    let stage = Stage { opsctl: std::env::current_exe()?, folder: folder.path() };
    std::fs::write(stage.folder.join("hosts.yaml"), HOSTS)?;

    print("opsctl renders the client's settings from hosts.yaml:\n");
    let rendered = stage.opsctl(&["render"], "")?;
    print(&indented(&String::from_utf8_lossy(&rendered.stdout)));

    for line in SESSION.lines() {
        let recorded = serde_json::from_str(line)?;
        let answer = stage.opsctl(&["hook"], line)?;
        print(&scene(&recorded, &answer));
    }
    Ok(OK)
}

/// The temporary folder and the program.
struct Stage<'a> {
    opsctl: PathBuf,
    folder: &'a Path,
}

impl Stage<'_> {
    fn opsctl(&self, arguments: &[&str], stdin: &str) -> io::Result<Output> {
        let mut child = Command::new(&self.opsctl)
            .args(arguments)
            .current_dir(self.folder)
            .env_clear()
            .env("CLAUDEOPS_HOSTS", "hosts.yaml")
            .env("CLAUDEOPS_STATE_DIR", ".")
            .env("CLAUDE_PROJECT_DIR", ".")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(stdin.as_bytes())?;
        }
        child.wait_with_output()
    }
}

fn scene(recorded: &Value, answer: &Output) -> String {
    let text_at = |key| recorded.pointer(key).and_then(Value::as_str).unwrap_or_default();
    let command = text_at("/tool_input/command");
    let stderr = String::from_utf8_lossy(&answer.stderr);
    let mut text = String::new();
    match text_at("/hook_event_name") {
        "SessionStart" => {
            text.push_str("\nA session starts. The agent reads:\n");
            text.push_str(&indented(&String::from_utf8_lossy(&answer.stdout)));
        }
        "PreToolUse" => {
            let _ = writeln!(text, "\nThe agent wants to run:  {command}");
            if answer.status.code() == Some(2) {
                text.push_str("  denied; the agent reads:\n");
                text.push_str(&indented(&indented(&stderr)));
            } else {
                text.push_str("  allowed\n");
            }
        }
        "PostToolUse" => text.push_str("  succeeded; recorded in the ledger\n"),
        "PostToolUseFailure" => text.push_str("  failed; recorded in the ledger, and counted\n"),
        _ => text.push_str("\nThe session ends.\n"),
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}
