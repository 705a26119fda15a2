//! Parses the client's stream, one line of JSON per event, into what is printed and recorded.

use serde_json::{Map, Value};

/// The content of a line.
#[derive(Debug, Clone, PartialEq)]
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
    /// The hand-over of a structured result: its `handoff`, or all of it if it recommends a tier.
    pub handoff: Option<Map<String, Value>>,
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
    use serde_json::json;

    #[test]
    fn parses_text_tool_calls_and_results() {
        let content = json!([
            {"type": "text", "text": "looking"},
            {"type": "tool_use", "name": "Bash", "input": {"description": "list", "command": "docker ps"}},
            {"type": "tool_use", "name": "mcp__x__y", "input": {"n": 1}},
            {"type": "thinking", "thinking": "hm"}
        ]);
        let said = read(&json!({"type": "assistant", "message": {"content": content}}));
        assert_eq!(
            said,
            [
                Said::Text("looking".into()),
                Said::ToolCall("Bash".into(), "docker ps".into()),
                Said::ToolCall("mcp__x__y".into(), "{\"n\":1}".into()),
            ]
        );
    }

    #[test]
    fn distinguishes_denials_from_failures() {
        let result = |content: Value, is_error: bool| {
            let block = json!({"type": "tool_result", "content": content, "is_error": is_error});
            read(&json!({"type": "user", "message": {"content": [block]}})).pop()
        };
        let hook = "PreToolUse:Bash hook error: [opsctl hook pre-tool-use]: Cooldown limit exceeded";
        assert_eq!(result(json!(hook), true), Some(Said::ToolResult(ToolOutcome::Denied(hook.into()))));
        let blocks = json!([{"type": "text", "text": "Exit code 1"}]);
        assert_eq!(result(blocks, true), Some(Said::ToolResult(ToolOutcome::Failed("Exit code 1".into()))));
        assert_eq!(result(json!("out"), false), Some(Said::ToolResult(ToolOutcome::Ok)));
    }

    #[test]
    fn a_structured_result_may_contain_or_be_a_hand_over() {
        let handoff = json!({"schema_version": 1, "recommended_tier": 2});
        for (result, expected) in [
            (json!({"summary": "x", "handoff": handoff}), Some(&handoff)),
            (handoff.clone(), Some(&handoff)),
            (json!({"summary": "x", "handoff": null}), None),
            (json!({"recommended_tier": null}), None),
            (json!("text"), None),
        ] {
            let said = read(&json!({"type": "result", "structured_output": result}));
            let [Said::End(account)] = said.as_slice() else { panic!("{said:?}") };
            assert_eq!(account.handoff.clone().map(Value::Object).as_ref(), expected, "{result}");
        }
    }

    #[test]
    fn parses_the_summary_at_the_end() {
        let line = json!({"type": "result", "is_error": true, "result": "no credit", "num_turns": 3, "total_cost_usd": 0.25,
                          "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 7}});
        let expected = Account {
            is_error: true,
            words: "no credit".into(),
            cost_usd: Some(0.25),
            turns: Some(3),
            input_tokens: Some(100),
            output_tokens: Some(7),
            waiting_call: None,
            handoff: None,
        };
        assert_eq!(read(&line), [Said::End(expected)]);
        let deferred =
            json!({"type": "result", "deferred_tool_use": {"id": "toolu_1", "name": "Bash", "input": {}}});
        let expected = Account { waiting_call: Some("toolu_1".into()), ..Account::default() };
        assert_eq!(read(&deferred), [Said::End(expected)]);
        for odd in
            [json!(7), json!({"type": "assistant"}), json!({"type": "user", "message": "x"}), json!({})]
        {
            assert_eq!(read(&odd), []);
        }
    }
}
