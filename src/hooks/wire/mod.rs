//! Hook input: bytes on stdin → [`HookCall`]. Each input format has one file; today there is one, the client's JSON
//! (`client`). Another format is another file, and a choice between the two in [`read`].

mod client;
pub mod digest;
mod error;
mod lenient;
mod mcp;
mod session_events;
mod surrogates;
mod tool_input;

pub use error::InputError;
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::records::session::plain_id;

/// Reads one call of a hook. `event` is the name on the command line, in kebab case; it takes precedence over the name
/// in the input. Input without either is a tool call that is about to run. `session` is `CLAUDE_SESSION_ID`, which takes precedence over the session in the input.
///
/// # Errors
/// If the input is not a JSON object, or that of a tool call which cannot be judged.
pub fn read(stdin: &[u8], event: Option<&str>, session: Option<&str>) -> Result<HookCall, InputError> {
    let text = String::from_utf8_lossy(stdin);
    let mut call = client::read(&text, event)?;
    if let Some(session) = session.map(plain_id).filter(|id| !id.is_empty()) {
        call.client_session = call.session.filter(|id| *id != session);
        call.session = Some(session);
    }
    Ok(call)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::records::event::{HookEvent, ToolCall};

    fn tool_call(stdin: &[u8]) -> ToolCall {
        match read(stdin, Some("pre-tool-use"), None).unwrap().event {
            HookEvent::PreToolUse(call) => call,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn unpaired_surrogates_hide_nothing() {
        let call = tool_call(br#"{"tool_input":{"command":"docker restart x \ud800"}}"#);
        assert_eq!(call.command.as_deref(), Some("docker restart x \u{FFFD}"));
        let call = tool_call(br#"{"tool_name":"mcp__x__y","tool_input":{"name":"a","text":"\udc00"}}"#);
        let arguments = call.mcp.unwrap().arguments;
        assert_eq!(arguments.first(), Some(&("/name".to_owned(), "a".to_owned())));
        let call = read(br#"{"prompt":"x \ud800"}"#, Some("user-prompt-submit"), None).unwrap();
        assert_eq!(call.event, HookEvent::UserPromptSubmit { prompt: "x \u{FFFD}".to_owned() });
    }

    #[test]
    fn invalid_utf_8_does_not_hide_a_command() {
        let call = tool_call(b"{\"tool_input\":{\"command\":\"docker restart x \xff\"}}");
        assert_eq!(call.command.as_deref(), Some("docker restart x \u{FFFD}"));
    }

    #[test]
    fn the_environment_names_the_session_and_the_argument_the_event() {
        let stdin = br#"{"session_id":"inner","hook_event_name":"PostToolUse","cwd":"/app"}"#;
        let call = read(stdin, Some("session-end"), Some("outer\n")).unwrap();
        assert_eq!(
            (call.session.as_deref(), call.client_session.as_deref(), call.event),
            (Some("outer"), Some("inner"), HookEvent::SessionEnd { reason: None })
        );
        let call = read(stdin, None, None).unwrap();
        assert_eq!((call.session.as_deref(), call.client_session), (Some("inner"), None));
        assert!(matches!(call.event, HookEvent::PostToolUse(..)));
        assert_eq!(read(stdin, None, Some("inner")).unwrap().client_session, None);
    }
}
