//! The client's hook input, as far as it is read. Unknown fields and events are skipped: the client adds some with
//! every release.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::error::InputError;
use super::lenient::{Flag, Text};
use super::tool_input::ToolFields;
use super::{mcp, session_events, surrogates};
use opsctl_policy::model::records::event::{
    HookCall, HookEvent, SESSION_STATE, ToolCall, ToolResult, event_name,
};
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
    tool_input: ToolFields,
    tool_response: ToolFields,
    error: Text,
    is_interrupt: Flag,
    title: Text,
    message: Text,
    error_type: Text,
    last_assistant_message: Text,
}

/// Reads the input. `event` is the name on the command line, in kebab case; it takes precedence over the name in the
/// input.
pub fn read(text: &str, event: Option<&str>) -> Result<HookCall, InputError> {
    let Input(mut wire) = surrogates::parse(text)?;
    let session_state = event == Some(SESSION_STATE);
    let named = event.filter(|_| !session_state).map(event_name);
    let stated = wire.hook_event_name.0.filter(|name| !name.is_empty());
    // Input that states no event may be a tool call.
    let name = named.or(stated).unwrap_or_else(|| "PreToolUse".to_owned());
    let file = wire.tool_input.take_file();
    let mcp = wire.tool_name.0.filter(|name| name.starts_with("mcp__")).map(|tool| mcp::call(tool, text));
    let ToolFields { command, problem, .. } = wire.tool_input;
    let problem = problem.filter(|_| mcp.is_none());
    let call = ToolCall { id: wire.tool_use_id.0, command, file, mcp };
    let event = match name.as_str() {
        "PreToolUse" if session_state => session_events::event(&name, text),
        "PreToolUse" => match problem {
            None => HookEvent::PreToolUse(call),
            Some(problem) => return Err(problem),
        },
        "PostToolUse" if wire.tool_response.interrupted => {
            HookEvent::PostToolUse(call, ToolResult::Failed("interrupted".to_owned()))
        }
        "PostToolUse" => HookEvent::PostToolUse(call, ToolResult::Succeeded),
        "PostToolUseFailure" => {
            let why = failure(wire.error.0.as_deref(), wire.is_interrupt.0);
            HookEvent::PostToolUse(call, ToolResult::Failed(why))
        }
        "StopFailure" => HookEvent::StopFailure {
            error: wire.error.0.or(wire.error_type.0),
            message: wire.last_assistant_message.0.or(wire.message.0),
        },
        "Notification" => {
            HookEvent::Notification { title: wire.title.0, message: wire.message.0.unwrap_or_default() }
        }
        _ => session_events::event(&name, text),
    };
    Ok(HookCall {
        session: wire.session_id.0.map(|id| plain_id(&id)).filter(|id| !id.is_empty()),
        client_session: None,
        cwd: wire.cwd.0.map(PathBuf::from),
        transcript: wire.transcript_path.0.map(PathBuf::from),
        event,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn command(input: &str) -> Option<String> {
        match read(input, Some("pre-tool-use")).unwrap().event {
            HookEvent::PreToolUse(call) => call.command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_is_found_inside_any_other_text() {
        assert_eq!(
            command(
                r#"{"tool_name":"Bash","new":[1,{"a":null}],"tool_input":{"timeout":5,"command":"ls"},"x":1e3}"#
            ),
            Some("ls".into())
        );
        assert_eq!(command(r#"{"tool_input":{"url":"ls"}}"#), None);
    }

    #[test]
    fn a_tool_call_without_readable_input_is_an_error() {
        let error = |input: &str| read(input, None).unwrap_err().to_string();
        for input in ["{}", r#"{"tool_input":null}"#, r#"{"tool_input":"ls"}"#, r#"{"tool_input":["ls"]}"#] {
            assert_eq!(error(input), "`tool_input` is not an object", "{input}");
        }
        for command in ["null", "7", "true", r#"["ls"]"#, r#"{"x":"ls"}"#] {
            let input = format!(r#"{{"tool_input":{{"command":{command}}}}}"#);
            assert_eq!(error(&input), "`command` is not a text", "{input}");
        }
        let of_mcp = r#"{"tool_name":"mcp__x__y","tool_input":{"command":["ls"]}}"#;
        assert!(matches!(read(of_mcp, None).unwrap().event, HookEvent::PreToolUse(_)));
    }

    #[test]
    fn a_failure_is_reported_without_the_commands_output() {
        assert_eq!(failure(Some("Exit code 127\npassword=hunter2"), false), "exit code 127");
        assert_eq!(failure(Some("something else"), false), "failed");
        assert_eq!(failure(Some("Exit code 130"), true), "interrupted");
        assert_eq!(failure(None, false), "failed");
    }

    #[test]
    fn an_event_of_a_later_release_is_allowed() {
        let call = read(r#"{"hook_event_name":"PreReboot"}"#, None).unwrap();
        assert_eq!(call.event, HookEvent::Other("PreReboot".into()));
    }
}
