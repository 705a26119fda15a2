//! The events. The fields of those that are not a tool call are read in a second pass, which no tool call pays for.

use serde::Deserialize;
use serde_json::Value;

use super::lenient::{Flag, Text};
use super::surrogates;
use crate::machine::client::refusals::is_refusal;
use opsctl_policy::model::records::event::{SessionStart, Subagent, ToolCall, ToolResult};
use opsctl_policy::model::records::session::plain_id;

/// The most calls of one message that are read.
const MAX_CALLS: usize = 1000;

/// The events that have a handler. Every other one is `Other` and is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEvent {
    /// A session starts; stdout becomes context.
    SessionStart(SessionStart),
    /// A prompt was submitted; stdout becomes context.
    UserPromptSubmit {
        /// The whole prompt.
        prompt: String,
    },
    /// A tool is about to run and can be denied.
    PreToolUse(ToolCall),
    /// A tool has run, successfully or not.
    PostToolUse(ToolCall, ToolResult),
    /// A tool is about to run, for the session state only: the client does not wait for this hook.
    ToolStart {
        /// The client's id of the call.
        call: String,
        /// The subagent that makes it; `None` for the session's own agent.
        agent: Option<String>,
    },
    /// All tools of one message have run or were denied, and the model is about to see the results.
    PostToolBatch {
        /// The client's ids of the calls.
        calls: Vec<String>,
        /// Those of them that the client has refused.
        refused: Vec<String>,
        /// The subagent that made them; `None` for the session's own agent.
        agent: Option<String>,
    },
    /// A subagent starts.
    SubagentStart(Subagent),
    /// A subagent has finished.
    SubagentStop(Subagent),
    /// The agent is about to end its turn.
    Stop {
        /// Whether a Stop hook has already blocked the end of this turn.
        blocked_before: bool,
        /// The agent's last message.
        last_message: String,
    },
    /// The session has ended.
    SessionEnd {
        /// The client's reason, e.g. `clear` or `other`.
        reason: Option<String>,
    },
    /// The turn ended because of an API error.
    StopFailure {
        /// The client's error code, e.g. `rate_limit` or `authentication_failed`.
        error: Option<String>,
        /// The client's message.
        message: Option<String>,
    },
    /// The client asks for a person's attention.
    Notification {
        /// One line; the client may leave it out.
        title: Option<String>,
        /// The text.
        message: String,
    },
    /// An event without a handler, by the client's name.
    Other(String),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SessionWire {
    source: Text,
    model: Text,
    prompt: Text,
    reason: Text,
    stop_hook_active: Flag,
    last_assistant_message: Text,
    tool_use_id: Text,
    agent_id: Text,
    agent_type: Text,
    error: Text,
    error_type: Text,
    title: Text,
    message: Text,
    tool_calls: Value,
}

/// The event of this name, from the whole hook input. An event that names no call or subagent is `Other`.
pub fn event(name: &str, input: &str) -> HookEvent {
    let wire: SessionWire = surrogates::parse(input).unwrap_or_default();
    let agent = || word(wire.agent_id.0.clone());
    let subagent = || Some(Subagent { id: agent()?, kind: word(wire.agent_type.0.clone()) });
    let event = match name {
        "SessionStart" => {
            let (source, model) = (word(wire.source.0), word(wire.model.0));
            Some(HookEvent::SessionStart(SessionStart { source, model }))
        }
        "UserPromptSubmit" => Some(HookEvent::UserPromptSubmit { prompt: wire.prompt.0.unwrap_or_default() }),
        "PreToolUse" => word(wire.tool_use_id.0).map(|call| HookEvent::ToolStart { call, agent: agent() }),
        "PostToolBatch" => {
            let (calls, refused) = (ids(&wire.tool_calls, |_| true), ids(&wire.tool_calls, is_refusal));
            Some(HookEvent::PostToolBatch { agent: agent(), calls, refused })
        }
        "SubagentStart" => subagent().map(HookEvent::SubagentStart),
        "SubagentStop" => subagent().map(HookEvent::SubagentStop),
        "Stop" => Some(HookEvent::Stop {
            blocked_before: wire.stop_hook_active.0,
            last_message: wire.last_assistant_message.0.unwrap_or_default(),
        }),
        "StopFailure" => Some(HookEvent::StopFailure {
            error: wire.error.0.or(wire.error_type.0),
            message: wire.last_assistant_message.0.or(wire.message.0),
        }),
        "Notification" => {
            Some(HookEvent::Notification { title: wire.title.0, message: wire.message.0.unwrap_or_default() })
        }
        "SessionEnd" => Some(HookEvent::SessionEnd { reason: word(wire.reason.0) }),
        _ => None,
    };
    event.unwrap_or_else(|| HookEvent::Other(name.to_owned()))
}

/// A value as it is stored and shown; `None` if nothing of it is left.
fn word(text: Option<String>) -> Option<String> {
    text.map(|word| plain_id(&word)).filter(|word| !word.is_empty())
}

/// The ids of those calls of a list that have such a result; a value of another type counts as an empty list. A result that
/// is no text counts as an empty one.
fn ids(calls: &Value, is_meant: fn(&str) -> bool) -> Vec<String> {
    let result =
        |call: &&Value| call.get("tool_response").and_then(Value::as_str).unwrap_or_default().to_owned();
    let id = |call: &Value| word(call.get("tool_use_id")?.as_str().map(str::to_owned));
    let calls = calls.as_array().into_iter().flatten().take(MAX_CALLS);
    calls.filter(|call| is_meant(&result(call))).filter_map(id).collect()
}
