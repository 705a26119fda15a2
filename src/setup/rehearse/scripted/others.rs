//! Requests and responses of the APIs of other models, as far as a rehearsal needs them: the Responses API, which
//! Codex CLI calls, and `generateContent` of Gemini.

use serde_json::{Value, json};

use super::messages::{ToolResult, list, text};
use super::script::Step;

/// What Codex CLI says of a call that a hook has denied.
const BLOCKED: &str = "blocked by PreToolUse hook";

/// The results of tool calls in a request, with the ids of their calls.
pub fn tool_results(body: &Value) -> impl Iterator<Item = (&str, ToolResult)> {
    let of_codex = list(body, "input").filter(|item| text(item, "type").ends_with("_call_output"));
    let of_codex = of_codex.map(|item| {
        let text_of = item.get("output").map(in_text).unwrap_or_default();
        let is_error = text_of.contains(BLOCKED);
        (text(item, "call_id"), ToolResult { text: text_of, is_error })
    });
    let parts = list(body, "contents").flat_map(|content| list(content, "parts"));
    let of_gemini = parts.filter_map(|part| part.get("functionResponse")).map(|part| {
        let response = part.get("response").unwrap_or(&Value::Null);
        let is_error = response.get("error").is_some();
        (text(part, "id"), ToolResult { text: in_text(response), is_error })
    });
    of_codex.chain(of_gemini)
}

/// The text of the conversation so far.
pub fn conversation(body: &Value) -> String {
    list(body, "input").chain(list(body, "contents")).map(in_text).collect::<Vec<_>>().join("\n")
}

/// All texts in a value.
fn in_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(in_text).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => members.values().map(in_text).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// The stream of a response of the Responses API. Codex CLI runs a command for each tool but `Write`.
pub fn responses(number: usize, step: &Step) -> String {
    let id = format!("call_{number:024}");
    let item = match step {
        Step::Say(text) => json!({"type": "message", "role": "assistant", "id": format!("msg_{number}"),
            "content": [{"type": "output_text", "text": text}]}),
        Step::Tool("Write", input) => {
            let lines: String = text(input, "content").lines().map(|line| format!("+{line}\n")).collect();
            let patch = format!(
                "*** Begin Patch\n*** Add File: {}\n{lines}*** End Patch\n",
                text(input, "file_path")
            );
            json!({"type": "custom_tool_call", "id": format!("ctc_{number}"), "call_id": id,
                "name": "apply_patch", "input": patch})
        }
        Step::Tool(_, input) => {
            let command = match input.get("command").and_then(Value::as_str) {
                Some(command) => command.to_owned(),
                None => format!("cat '{}'", text(input, "file_path")),
            };
            json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": id,
                "name": "exec_command", "arguments": json!({"cmd": command}).to_string()})
        }
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    let response = |usage: Value| json!({"id": format!("resp_{number}"), "usage": usage});
    [
        json!({"type": "response.created", "response": response(Value::Null)}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response(usage)}),
    ]
    .map(|event| format!("event: {}\ndata: {event}\n\n", text(&event, "type")))
    .concat()
}

/// A response of `generateContent`.
pub fn content(step: &Step) -> Value {
    let call = |name: &str, arguments: Value| json!({"functionCall": {"name": name, "args": arguments}});
    let part = match step {
        Step::Say(text) => json!({"text": text}),
        Step::Tool("Write", input) => call("write_file", input.clone()),
        Step::Tool("Read", input) => call("read_file", input.clone()),
        Step::Tool(_, input) => call("run_shell_command", json!({"command": text(input, "command")})),
    };
    json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    })
}
