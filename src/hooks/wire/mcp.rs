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
    let mut arguments = Vec::new();
    if let Ok(wire) = surrogates::parse::<ArgumentsWire>(input) {
        flatten(&wire.tool_input, String::new(), &mut arguments);
    }
    McpCall { tool, arguments }
}

/// Adds the strings and numbers in `value` to `into`, by JSON pointer.
fn flatten(value: &Value, pointer: String, into: &mut Vec<(String, String)>) {
    if into.len() >= MAX_ARGUMENTS || pointer.len() > MAX_POINTER {
        return;
    }
    match value {
        Value::String(text) => into.push((pointer, text.clone())),
        Value::Number(number) => into.push((pointer, number.to_string())),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(item, format!("{pointer}/{index}"), into);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                flatten(member, format!("{pointer}/{key}"), into);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}
