//! The arguments of an MCP tool, which each server defines. They are read in a second pass, for MCP tools only.

use serde::Deserialize;
use serde_json::Value;

use super::surrogates;
use opsctl_policy::model::records::event::McpCall;

/// The most arguments that are read.
const MAX_ARGUMENTS: usize = 256;

/// The longest JSON pointer that is followed, in bytes.
const MAX_POINTER: usize = 512;

#[derive(Deserialize)]
struct ArgumentsWire {
    #[serde(default)]
    tool_input: Value,
}

/// The call of `tool`, from the whole hook input.
pub fn call(tool: String, input: &str) -> McpCall {
    let mut call = McpCall { tool, is_whole: true, ..McpCall::default() };
    match surrogates::parse::<ArgumentsWire>(input) {
        Ok(wire) => flatten(&wire.tool_input, String::new(), &mut call),
        Err(_) => call.is_whole = false,
    }
    call
}

/// Adds what `value` contains to `into`, by JSON pointer.
fn flatten(value: &Value, pointer: String, into: &mut McpCall) {
    if into.arguments.len().max(into.others.len()) >= MAX_ARGUMENTS || pointer.len() > MAX_POINTER {
        into.is_whole = false;
        return;
    }
    match value {
        Value::String(text) => into.arguments.push((pointer, text.clone())),
        Value::Number(number) => into.arguments.push((pointer, number.to_string())),
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                flatten(item, format!("{pointer}/{index}"), into);
            }
        }
        Value::Object(members) if !members.is_empty() => {
            for (key, member) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                flatten(member, format!("{pointer}/{key}"), into);
            }
        }
        other => into.others.push((pointer, other.to_string())),
    }
}
