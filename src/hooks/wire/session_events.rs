//! Events of a session itself. Their fields are read in a second pass, which no tool call pays for.

use serde::Deserialize;

use super::lenient::{Flag, Text};
use super::surrogates;
use opsctl_policy::model::records::event::{HookEvent, SessionStart, Subagent};
use opsctl_policy::model::records::session::plain_id;

/// The most calls of one message that are read.
const MAX_CALLS: usize = 1000;

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
    tool_calls: CallsWire,
}

/// A list of calls; a value of another type counts as an empty list.
#[derive(Deserialize)]
#[serde(untagged)]
enum CallsWire {
    List(Vec<CallWire>),
    Other(serde::de::IgnoredAny),
}

impl Default for CallsWire {
    fn default() -> Self {
        Self::List(vec![])
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CallWire {
    Call {
        #[serde(default)]
        tool_use_id: Text,
    },
    Other(serde::de::IgnoredAny),
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
        "PostToolBatch" => Some(HookEvent::PostToolBatch { agent: agent(), calls: wire.tool_calls.ids() }),
        "SubagentStart" => subagent().map(HookEvent::SubagentStart),
        "SubagentStop" => subagent().map(HookEvent::SubagentStop),
        "Stop" => Some(HookEvent::Stop {
            blocked_before: wire.stop_hook_active.0,
            last_message: wire.last_assistant_message.0.unwrap_or_default(),
        }),
        "SessionEnd" => Some(HookEvent::SessionEnd { reason: word(wire.reason.0) }),
        _ => None,
    };
    event.unwrap_or_else(|| HookEvent::Other(name.to_owned()))
}

/// A value as it is stored and shown; `None` if nothing of it is left.
fn word(text: Option<String>) -> Option<String> {
    text.map(|word| plain_id(&word)).filter(|word| !word.is_empty())
}

impl CallsWire {
    fn ids(self) -> Vec<String> {
        let Self::List(calls) = self else { return vec![] };
        let ids = calls.into_iter().filter_map(|call| match call {
            CallWire::Call { tool_use_id } => word(tool_use_id.0),
            CallWire::Other(_) => None,
        });
        ids.take(MAX_CALLS).collect()
    }
}
