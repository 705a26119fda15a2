//! What the client asked the model, kept for the assertions.

use serde_json::Value;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The session's agent, or one of its subagents.
    Agent,
    /// The verifier that an agent hook starts.
    Verifier,
    /// The client itself: a title, a summary.
    Errand,
}

/// One request to the Messages API.
#[derive(Clone, Debug)]
pub struct Request {
    pub body: Value,
}

impl Request {
    pub fn role(&self) -> Role {
        let tools = self.tools();
        if tools.contains(&"StructuredOutput") {
            Role::Verifier
        } else if tools.is_empty() {
            Role::Errand
        } else {
            Role::Agent
        }
    }

    /// The names of the tools on offer.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools.filter_map(|tool| tool["name"].as_str()).collect()
    }

    /// The system prompt.
    pub fn system(&self) -> String {
        flat(&self.body["system"])
    }

    /// The conversation: every text, tool call and tool result, in order.
    pub fn conversation(&self) -> String {
        self.messages().iter().map(|message| flat(&message["content"])).collect::<Vec<_>>().join("\n")
    }

    /// The first message of the conversation: the prompt, with any text before it.
    pub fn opening(&self) -> String {
        self.messages().first().map(|message| flat(&message["content"])).unwrap_or_default()
    }

    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }
}

/// The text in a content value of any shape: a string, a block, or a list of blocks.
pub(super) fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(flat).collect::<Vec<_>>().join("\n"),
        Value::Object(block) => match block.get("type").and_then(Value::as_str) {
            Some("text") => flat(&block["text"]),
            Some("tool_use") => format!("{}({})", flat(&block["name"]), block["input"]),
            Some("tool_result") => block.get("content").map(flat).unwrap_or_default(),
            _ => content.to_string(),
        },
        _ => String::new(),
    }
}
