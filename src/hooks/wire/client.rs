//! The client's hook input, as far as it is read. Unknown fields and events are skipped: the client adds some with
//! every release.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::error::InputError;
use super::lenient::{Any, Flag, Text};
use super::session_events::HookEvent;
use super::tool_input::ToolFields;
use super::translate::{is_call, is_known, translate};
use super::{mcp, session_events, surrogates};
use crate::machine::client::clients::Client;
use opsctl_policy::model::records::event::{HookCall, SESSION_STATE, ToolCall, ToolResult, event_name};
use opsctl_policy::model::records::session::plain_id;

/// One call of a hook, as the client writes it to stdin.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HookInputWire {
    session_id: Text,
    cwd: Text,
    transcript_path: Text,
    hook_event_name: Text,
    tool_use_id: Text,
    tool_name: Text,
    tool_input: Any<Option<ToolFields>>,
    tool_response: Any<Option<ToolFields>>,
    error: Text,
    is_interrupt: Flag,
    /// Not of Claude Code.
    turn_id: Text,
    /// Not of Claude Code.
    timestamp: Text,
}

/// What was read of the input of a hook.
#[derive(Debug)]
pub struct Read {
    /// The client that wrote it.
    pub client: Client,
    /// The input in the words of Claude Code, if another client wrote it.
    pub translated: Option<String>,
    /// The call.
    pub call: HookCall,
    /// The event.
    pub event: HookEvent,
}

/// Reads the input. `event` is the name on the command line, in kebab case; it takes precedence over the name in the
/// input, unless another client wrote it.
pub fn read(text: &str, event: Option<&str>) -> Result<Read, InputError> {
    let Input(wire) = surrogates::parse(text)?;
    if wire.may_be_of_another(event)
        && let Some((client, translated)) = translate(text, event)?
    {
        let Input(wire) = surrogates::parse(&translated)?;
        let (call, event) = hook_call(wire, &translated, None)?;
        return Ok(Read { client, translated: Some(translated), call, event });
    }
    let (call, event) = hook_call(wire, text, event)?;
    Ok(Read { client: Client::ClaudeCode, translated: None, call, event })
}

impl HookInputWire {
    /// Whether it has a key that Claude Code does not write, lacks one that it does, or is of an event that is not expected.
    fn may_be_of_another(&self, event: Option<&str>) -> bool {
        let event = event.filter(|event| *event != SESSION_STATE);
        let stated = self.hook_event_name.0.as_deref().filter(|name| !name.is_empty());
        let is_expected = match (event.map(event_name), stated) {
            (_, None) => true,
            (Some(named), Some(stated)) => named == stated,
            (None, Some(stated)) => is_known(stated),
        };
        let lacks_tool = self.tool_input.0.is_none() && is_call(stated.unwrap_or_default(), event);
        !is_expected || self.turn_id.0.is_some() || self.timestamp.0.is_some() || lacks_tool
    }
}

fn hook_call(
    wire: HookInputWire,
    text: &str,
    event: Option<&str>,
) -> Result<(HookCall, HookEvent), InputError> {
    let session_state = event == Some(SESSION_STATE);
    let named = event.filter(|_| !session_state).map(event_name);
    let stated = wire.hook_event_name.0.filter(|name| !name.is_empty());
    // Input that states no event may be a tool call.
    let name = named.or(stated).unwrap_or_else(|| "PreToolUse".to_owned());
    let missing = wire.tool_input.0.is_none().then_some(InputError::ToolInput);
    let mut fields = wire.tool_input.0.unwrap_or_default();
    let files = fields.take_files();
    let mcp = wire.tool_name.0.filter(|name| name.starts_with("mcp__")).map(|tool| mcp::call(tool, text));
    let ToolFields { command, problem, unchecked, .. } = fields;
    let problem = missing.or(problem).filter(|_| mcp.is_none());
    let call = ToolCall { id: wire.tool_use_id.0, command, files, mcp, unchecked };
    let event = match name.as_str() {
        "PreToolUse" if session_state => session_events::event(&name, text),
        "PreToolUse" => match problem {
            None => HookEvent::PreToolUse(call),
            Some(problem) => return Err(problem),
        },
        "PostToolUse" if wire.tool_response.0.is_some_and(|response| response.interrupted) => {
            HookEvent::PostToolUse(call, ToolResult::Failed("interrupted".to_owned()))
        }
        // Claude Code states an error at an event of its own.
        "PostToolUse" if wire.error.0.is_none() => HookEvent::PostToolUse(call, ToolResult::Succeeded),
        "PostToolUse" | "PostToolUseFailure" => {
            let why = failure(wire.error.0.as_deref(), wire.is_interrupt.0);
            HookEvent::PostToolUse(call, ToolResult::Failed(why))
        }
        _ => session_events::event(&name, text),
    };
    let call = HookCall {
        session: wire.session_id.0.map(|id| plain_id(&id)).filter(|id| !id.is_empty()),
        client_session: None,
        cwd: wire.cwd.0.map(PathBuf::from),
        transcript: wire.transcript_path.0.map(PathBuf::from),
    };
    Ok((call, event))
}

/// Why a command failed, without its output, which may hold secrets: `interrupted`, `exit code N` or `failed`.
fn failure(error: Option<&str>, interrupted: bool) -> String {
    if interrupted {
        return "interrupted".to_owned();
    }
    let code = error.and_then(|error| {
        let rest = error.trim_start().get(..10).filter(|head| head.eq_ignore_ascii_case("exit code "))?;
        let digits: String =
            error.trim_start().chars().skip(rest.len()).take_while(char::is_ascii_digit).take(3).collect();
        (!digits.is_empty()).then_some(digits)
    });
    code.map_or_else(|| "failed".to_owned(), |code| format!("exit code {code}"))
}

/// An object: a derived struct would accept a list, too.
struct Input(HookInputWire);

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectOnly;

        impl<'de> Visitor<'de> for ObjectOnly {
            type Value = Input;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Input, A::Error> {
                HookInputWire::deserialize(MapAccessDeserializer::new(map)).map(Input)
            }
        }

        deserializer.deserialize_map(ObjectOnly)
    }
}
