//! Past calls from the client's transcripts: one file for each session, one line of JSON for each message.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use super::PastCall;
use crate::hooks::wire::{self, HookEvent};
use opsctl_machine::plain_file;
use opsctl_policy::model::records::event::ToolCall;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_redact::shortened;

/// The longest line that is read, in bytes: a message may contain pictures.
const LINE: usize = 16 * 1024 * 1024;

/// A line, as far as it concerns tool calls.
#[derive(Deserialize)]
struct Line {
    timestamp: Option<DateTime<Utc>>,
    cwd: Option<PathBuf>,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
}

/// The calls of all transcripts below a folder, oldest first, each once, and how many transcripts were read. `progress` gets the number of
/// transcripts that were read.
pub fn calls(
    folder: &Path,
    since: Option<DateTime<Utc>>,
    tier: Option<Tier>,
    progress: &dyn Fn(String),
) -> io::Result<(Vec<PastCall>, usize)> {
    let (mut calls, mut seen) = (Vec::new(), HashSet::new());
    let mut files = Vec::new();
    find(folder, &mut files)?;
    for (number, file) in files.iter().enumerate() {
        if number % 20 == 0 {
            progress(format!("{number} of {} transcripts read", files.len()));
        }
        of_file(file, tier, &mut |id: String, call: PastCall| {
            let is_new = since.is_none_or(|since| call.at >= since) && seen.insert(id);
            calls.extend(is_new.then_some(call));
        })?;
    }
    calls.sort_by_key(|call| call.at);
    Ok((calls, files.len()))
}

/// The transcripts below a folder.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        let is_folder = path.symlink_metadata()?.is_dir();
        if is_folder {
            find(&path, files)?;
        } else if path.extension().is_some_and(|kind| kind == "jsonl") {
            files.push(path);
        }
    }
    Ok(())
}

fn of_file(path: &Path, tier: Option<Tier>, add: &mut dyn FnMut(String, PastCall)) -> io::Result<()> {
    let (file, _) = plain_file::open(path)?;
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        if read_line(&mut lines, &mut line)? == 0 {
            return Ok(());
        }
        if memchr::memmem::find(&line, b"\"tool_use\"").is_none() {
            continue;
        }
        // A line that is cut off or of another form has no call that can be read.
        let Ok(Line { timestamp: Some(at), cwd, message: Some(message) }) = serde_json::from_slice(&line)
        else {
            continue;
        };
        for part in message.content.as_array().into_iter().flatten() {
            if let Some((id, tool, shown)) = tool_use(part, cwd.as_deref()) {
                add(id, PastCall { at, tier, tool, cwd: cwd.clone(), shown, recorded: None });
            }
        }
    }
}

/// Reads a line; of a longer one than [`LINE`], the beginning.
fn read_line(lines: &mut BufReader<File>, line: &mut Vec<u8>) -> io::Result<usize> {
    let mut read = 0;
    loop {
        let available = lines.fill_buf()?;
        if available.is_empty() {
            return Ok(read);
        }
        let (part, ends) = match memchr::memchr(b'\n', available) {
            Some(at) => (available.get(..=at).unwrap_or(available), true),
            None => (available, false),
        };
        if line.len() < LINE {
            line.extend_from_slice(part);
        }
        let length = part.len();
        read += length;
        lines.consume(length);
        if ends {
            return Ok(read);
        }
    }
}

/// A tool call of a message, with its id and as a person reads it, as a hook gets it.
fn tool_use(part: &Value, cwd: Option<&Path>) -> Option<(String, ToolCall, String)> {
    if part.get("type")? != "tool_use" {
        return None;
    }
    let (id, name, input) = (part.get("id")?.as_str()?, part.get("name")?.as_str()?, part.get("input")?);
    let call = json!({
        "hook_event_name": "PreToolUse", "tool_name": name, "tool_input": input, "tool_use_id": id, "cwd": cwd
    });
    let event = wire::read(call.to_string().as_bytes(), Some("pre-tool-use"), None).ok()?.event;
    let HookEvent::PreToolUse(tool) = event else { return None };
    let shown = match &tool {
        ToolCall { command: Some(command), .. } => shortened(command, 200),
        ToolCall { mcp: Some(mcp), .. } => mcp.tool.clone(),
        ToolCall { .. } => shortened(&tool.files_in_words()?, 200),
    };
    Some((id.to_owned(), tool, shown))
}
