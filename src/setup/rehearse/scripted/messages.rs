//! Requests and responses of the Messages API, as far as a rehearsal needs them.

use serde_json::{Value, json};

use super::script::Step;

/// The sender of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The session's agent, or a subagent.
    Agent,
    /// The verifier of an agent hook.
    Verifier,
    /// The client, for a title or a summary.
    Errand,
}

/// The sender of a request, derived from the offered tools.
pub fn role(body: &Value) -> Role {
    let tools = || list(body, "tools");
    if tools().any(|tool| text(tool, "name") == "StructuredOutput") {
        Role::Verifier
    } else if tools().next().is_none() {
        Role::Errand
    } else {
        Role::Agent
    }
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The result of a tool call, as the model receives it.
#[derive(Debug, Clone)]
pub struct ToolResult {
    /// The text.
    pub text: String,
    /// Whether the client marks it as an error: denied or failed.
    pub is_error: bool,
}

/// The results of tool calls in a request, with the ids of their calls.
pub fn tool_results(body: &Value) -> impl Iterator<Item = (&str, ToolResult)> {
    let blocks = list(body, "messages").flat_map(|message| list(message, "content"));
    blocks.filter(|block| text(block, "type") == "tool_result").map(|block| {
        let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        (text(block, "tool_use_id"), ToolResult { text: flat(block), is_error })
    })
}

/// The first message: the prompt, with the context before it.
pub fn opening(body: &Value) -> String {
    list(body, "messages").next().map(flat).unwrap_or_default()
}

/// The text of the conversation so far.
pub fn conversation(body: &Value) -> String {
    list(body, "messages").map(flat).collect::<Vec<_>>().join("\n")
}

/// The text of a content value: a string, a block, or a list of blocks.
fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(flat).collect::<Vec<_>>().join("\n"),
        Value::Object(block) => {
            block.get("text").or_else(|| block.get("content")).map(flat).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The content of a response to which its text or input is yet to be added, and that text or input.
fn parts(number: usize, step: &Step) -> (Value, &'static str, Value) {
    match step {
        Step::Tool(name, input) => {
            let id = format!("toolu_{number:024}");
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), "input", input.clone())
        }
        Step::Say(text) => (json!({"type": "text", "text": ""}), "text", json!(text)),
    }
}

const fn stop_reason(step: &Step) -> &'static str {
    match step {
        Step::Tool(..) => "tool_use",
        Step::Say(_) => "end_turn",
    }
}

fn message(number: usize, model: &str, content: &[Value], stop_reason: Option<&str>) -> Value {
    json!({
        "id": format!("msg_{number:024}"), "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    })
}

fn with(mut value: Value, key: &str, member: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.insert(key.to_owned(), member);
    }
    value
}

/// The response as one object.
pub fn whole(number: usize, model: &str, step: &Step) -> Value {
    let (opening, key, rest) = parts(number, step);
    message(number, model, &[with(opening, key, rest)], Some(stop_reason(step)))
}

/// The response as a stream of events.
pub fn stream(number: usize, model: &str, step: &Step) -> String {
    let (opening, _, rest) = parts(number, step);
    let delta = match step {
        Step::Tool(..) => json!({"type": "input_json_delta", "partial_json": rest.to_string()}),
        Step::Say(_) => json!({"type": "text_delta", "text": rest}),
    };
    let ending = json!({"stop_reason": stop_reason(step), "stop_sequence": null});
    [
        ("message_start", json!({"message": message(number, model, &[], None)})),
        ("content_block_start", json!({"index": 0, "content_block": opening})),
        ("content_block_delta", json!({"index": 0, "delta": delta})),
        ("content_block_stop", json!({"index": 0})),
        ("message_delta", json!({"delta": ending, "usage": {"output_tokens": 5}})),
        ("message_stop", json!({})),
    ]
    .map(|(kind, event)| format!("event: {kind}\ndata: {}\n\n", with(event, "type", kind.into())))
    .concat()
}
