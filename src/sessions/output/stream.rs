//! Parses the client's stream, one line of JSON per event, into what is printed and recorded.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The content of a line.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(Deserialize))]
pub enum Said {
    /// Text of the agent.
    Text(String),
    /// A tool call: the tool's name, and its most important input.
    ToolCall(String, String),
    /// The result of a tool call.
    ToolResult(ToolOutcome),
    /// The end of the session, as summarised by the client.
    End(Account),
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Deserialize))]
pub enum ToolOutcome {
    /// It succeeded.
    Ok,
    /// A hook or the client's permissions denied it.
    Denied(String),
    /// It failed.
    Failed(String),
}

/// The client's summary of a session.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(test, derive(Deserialize), serde(default))]
pub struct Account {
    /// Whether the session failed.
    pub is_error: bool,
    /// The final text, or the error message.
    pub words: String,
    /// The cost in US dollars, as estimated by the client.
    pub cost_usd: Option<f64>,
    /// The number of turns of the model.
    pub turns: Option<i64>,
    /// Input tokens, including those read from a cache.
    pub input_tokens: Option<i64>,
    /// Output tokens.
    pub output_tokens: Option<i64>,
    /// The client's id of the call that waits for a person; the session ends there until it is resumed.
    pub waiting_call: Option<String>,
    /// The answer of a verifier, if that is its structured result.
    pub verdict: Option<Verdict>,
    /// The hand-over of a structured result: its `handoff`, or all of it if it recommends a tier.
    pub handoff: Option<Map<String, Value>>,
}

/// The answer of a verifier.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Verdict {
    /// Whether it found nothing unhealthy.
    pub ok: bool,
    /// Why not.
    pub reason: Option<String>,
}

impl Account {
    /// Adds those of an earlier part of the session. The client adds up the costs of a session itself.
    pub fn add_earlier(&mut self, earlier: &Self) {
        self.turns = sum(self.turns, earlier.turns);
        self.input_tokens = sum(self.input_tokens, earlier.input_tokens);
        self.output_tokens = sum(self.output_tokens, earlier.output_tokens);
    }

    /// Adds what a verifier has used. Its turns are not those of the session.
    pub fn add_verifier(&mut self, verifier: &Self) {
        self.input_tokens = sum(self.input_tokens, verifier.input_tokens);
        self.output_tokens = sum(self.output_tokens, verifier.output_tokens);
        self.cost_usd = sum(self.cost_usd, verifier.cost_usd);
    }
}

fn sum<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

/// Keys of a tool's input, most important first.
const TELLING: [&str; 8] =
    ["command", "file_path", "path", "pattern", "url", "description", "prompt", "query"];

/// Parses a line of the stream. Empty for lines that are not printed or recorded.
pub fn read(line: &Value) -> Vec<Said> {
    match line.get("type").and_then(Value::as_str) {
        Some("assistant") => blocks(line).filter_map(of_agent).collect(),
        Some("user") => blocks(line).filter_map(of_tool).collect(),
        Some("result") => vec![Said::End(account(line))],
        _ => vec![],
    }
}

fn blocks(line: &Value) -> impl Iterator<Item = &Value> {
    line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
}

fn of_agent(block: &Value) -> Option<Said> {
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    match text("type")? {
        "text" => Some(Said::Text(text("text")?.to_owned())),
        "tool_use" => {
            let input = block.get("input").unwrap_or(&Value::Null);
            let telling = TELLING.iter().find_map(|key| input.get(key)?.as_str());
            let input = telling.map_or_else(|| input.to_string(), str::to_owned);
            Some(Said::ToolCall(text("name")?.to_owned(), input))
        }
        _ => None,
    }
}

fn of_tool(block: &Value) -> Option<Said> {
    if block.get("type").and_then(Value::as_str) != Some("tool_result") {
        return None;
    }
    let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    if !failed {
        return Some(Said::ToolResult(ToolOutcome::Ok));
    }
    let shown = flat(block.get("content").unwrap_or(&Value::Null));
    let shown = shown.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let refused = shown.starts_with("Permission to") || shown.contains(" hook error: ");
    let shown = shown.to_owned();
    Some(Said::ToolResult(if refused { ToolOutcome::Denied(shown) } else { ToolOutcome::Failed(shown) }))
}

/// The text of a string or of a list of text blocks.
fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn account(line: &Value) -> Account {
    let number = |pointer: &str| line.pointer(pointer).and_then(Value::as_i64);
    let read = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let read: Vec<i64> = read.iter().filter_map(|key| number(&format!("/usage/{key}"))).collect();
    Account {
        is_error: line.get("is_error").and_then(Value::as_bool).unwrap_or(false),
        words: line.get("result").map(flat).unwrap_or_default(),
        cost_usd: line.get("total_cost_usd").and_then(Value::as_f64).filter(|cost| cost.is_finite()),
        turns: number("/num_turns"),
        input_tokens: (!read.is_empty()).then(|| read.iter().sum()),
        output_tokens: number("/usage/output_tokens"),
        waiting_call: waiting_call(line),
        verdict: line.get("structured_output").and_then(|result| Verdict::deserialize(result).ok()),
        handoff: line.get("structured_output").and_then(handoff),
    }
}

/// A resumed session that waits again states no `terminal_reason`.
fn waiting_call(line: &Value) -> Option<String> {
    line.pointer("/deferred_tool_use/id")?.as_str().map(str::to_owned)
}

fn handoff(result: &Value) -> Option<Map<String, Value>> {
    let stated = result.get("handoff").filter(|handoff| !handoff.is_null());
    let whole = result.get("recommended_tier").filter(|tier| !tier.is_null()).map(|_| result);
    stated.or(whole)?.as_object().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of `stream.yaml`, and what is read of it.
    #[derive(Deserialize)]
    struct Row {
        line: Value,
        said: Vec<Said>,
    }

    #[test]
    fn reads_what_is_printed_and_recorded() {
        for row in serde_saphyr::from_str::<Vec<Row>>(include_str!("stream.yaml")).unwrap() {
            assert_eq!(read(&row.line), row.said, "{}", row.line);
        }
    }
}
