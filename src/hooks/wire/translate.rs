//! The input of clients besides Claude Code, in the words of Claude Code: what follows needs to know no other client.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::error::InputError;
use super::surrogates;
use crate::machine::client::clients::{Client, Description, Tool};
use opsctl_policy::model::records::event::{EVENTS, event_name};

/// The keys of a call of Claude Code.
const OF_CALL: [&str; 8] = [
    "session_id",
    "transcript_path",
    "cwd",
    "permission_mode",
    "hook_event_name",
    "tool_name",
    "tool_input",
    "tool_use_id",
];

/// The beginnings of the lines of a patch that name a file.
const PATCHED: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The client whose input this is, and the input as Claude Code would write it; `None` if it is that of Claude Code.
///
/// # Errors
/// If it is not the input of a known client, or that of a tool call which cannot be judged.
pub fn translate(text: &str, event: Option<&str>) -> Result<Option<(Client, String)>, InputError> {
    let input: Map<String, Value> = surrogates::parse(text)?;
    let name = input.get("hook_event_name").and_then(Value::as_str).unwrap_or_default();
    for client in Client::OTHERS {
        let Some(description) = client.description().map_err(|_| InputError::OtherClient)? else { continue };
        if let Some(meant) = description.events.get(name)
            && description.keys.iter().all(|key| input.contains_key(key))
        {
            let translated = translated(&input, meant, &description)?;
            return Ok(Some((client, Value::Object(translated).to_string())));
        }
    }
    if is_of_claude_code(&input, name, event) { Ok(None) } else { Err(InputError::OtherClient) }
}

/// Whether this is the name of an event of Claude Code.
pub fn is_known(name: &str) -> bool {
    EVENTS.iter().any(|event| event_name(event) == name)
}

/// Whether this is the event before a tool call, by the argument of the hook, else by the input.
pub fn is_call(name: &str, event: Option<&str>) -> bool {
    event.map_or_else(|| matches!(name, "" | "PreToolUse"), |event| event == "pre-tool-use")
}

/// Whether Claude Code, or a program that speaks as it does, has written the input. Its events begin with a capital letter, and
/// those of later releases are not known. Of its own input, some cannot be judged.
fn is_of_claude_code(input: &Map<String, Value>, name: &str, event: Option<&str>) -> bool {
    if is_call(name, event) {
        let has_tool = ["tool_input", "tool_name"].iter().any(|key| input.contains_key(*key));
        let has_others = input.keys().any(|key| !OF_CALL.contains(&key.as_str()));
        return (name.is_empty() || is_known(name)) && (has_tool || !has_others);
    }
    name.is_empty() || name.starts_with(|first: char| first.is_ascii_uppercase())
}

fn translated(
    input: &Map<String, Value>,
    event: &str,
    description: &Description,
) -> Result<Map<String, Value>, InputError> {
    let mut translated = input.clone();
    translated.insert("hook_event_name".to_owned(), event.into());
    // It is in a format of its own.
    translated.remove("transcript_path");
    if !event.ends_with("ToolUse") {
        return Ok(translated);
    }
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let name = text("tool_name").unwrap_or_default();
    let Some(Value::Object(arguments)) = input.get("tool_input") else { return Err(InputError::ToolInput) };
    if name.starts_with("mcp__") {
        return Ok(with_result(translated));
    }
    let Some(tool) = description.tools.get(name) else {
        let named = |key| input.get("mcp_context")?.get(key)?.as_str();
        let (server, tool) = match (named("server_name"), named("tool_name")) {
            (Some(server), Some(tool)) => (server, tool),
            _ => (description.name.as_str(), name),
        };
        translated.insert("tool_name".to_owned(), format!("mcp__{server}__{tool}").into());
        return Ok(with_result(translated));
    };
    let folder = tool.folder.as_ref().and_then(|key| arguments.get(key)).and_then(Value::as_str);
    if let Some(folder) = folder {
        let folder = Path::new(text("cwd").unwrap_or_default()).join(folder);
        translated.insert("cwd".to_owned(), folder.to_string_lossy().into());
    }
    translated.insert("tool_input".to_owned(), Value::Object(tool_input(tool, arguments)?));
    Ok(with_result(translated))
}

/// The input of a tool of Claude Code that does what this tool does.
fn tool_input(tool: &Tool, arguments: &Map<String, Value>) -> Result<Map<String, Value>, InputError> {
    let mut input = Map::new();
    let stated = |key: &Option<String>| key.as_ref().and_then(|key| arguments.get(key));
    let needed = |key: &str| arguments.get(key).and_then(Value::as_str).ok_or(InputError::Command);
    if let Some(key) = &tool.command {
        let command = needed(key)?;
        if let Some(word) = tool.refuses.iter().find(|word| command.contains(word.as_str())) {
            let why =
                format!("`{word}` in a shell command cannot be checked. Call the tool `{word}` instead.");
            input.insert("unchecked".to_owned(), why.into());
        }
        input.insert("command".to_owned(), command.into());
    }
    if let Some(key) = &tool.patch {
        let files = patched(needed(key)?);
        if files.is_empty() {
            input.insert("unchecked".to_owned(), "This patch names no file.".into());
        }
        input.insert("file_paths".to_owned(), json!(files));
    }
    if let Some(key) = &tool.writes {
        input.insert("file_path".to_owned(), needed(key)?.into());
        input.insert("content".to_owned(), "".into());
    }
    for (key, argument) in [("file_path", &tool.reads), ("path", &tool.search), ("glob", &tool.glob)] {
        if let Some(value) = stated(argument) {
            input.insert(key.to_owned(), value.clone());
        }
    }
    Ok(input)
}

/// The files that a patch names.
fn patched(patch: &str) -> Vec<&str> {
    let file = |line: &'_ str| -> Option<usize> {
        PATCHED.iter().find(|start| line.starts_with(**start)).map(|start| start.len())
    };
    let lines = patch.lines().map(str::trim);
    lines.filter_map(|line| Some(line.get(file(line)?..)?.trim())).filter(|path| !path.is_empty()).collect()
}

/// The result of a tool as the model reads it, and its error.
fn with_result(mut input: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Object(response)) = input.get("tool_response") else { return input };
    let error = response.get("error").and_then(|error| error.get("message")).cloned();
    let Some(content) = response.get("llmContent").cloned() else { return input };
    let exit_code = || content.as_str().and_then(exit_code).map(|code| format!("Exit code {code}").into());
    if let Some(error) = error.or_else(exit_code) {
        input.insert("error".to_owned(), error);
    }
    input.insert("tool_response".to_owned(), content);
    input
}

/// The exit code that the last line of a result with one states.
fn exit_code(result: &str) -> Option<&str> {
    result.lines().rev().find_map(|line| line.strip_prefix("Exit Code: "))
}
