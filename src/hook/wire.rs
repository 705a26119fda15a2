//! The client's hook input, as far as it is read. The client adds fields and events with every release, so
//! what is not known is passed over, and a known field of an unexpected type counts as missing.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{SESSION_STATE, mcp, wire_session};
use crate::model::event::{HookCall, HookEvent, ToolCall, ToolFile, ToolResult};
use crate::model::session::plain_id;

/// One call of a hook, as it stands on stdin.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HookInputWire {
    session_id: Text,
    cwd: Text,
    transcript_path: Text,
    hook_event_name: Text,
    tool_use_id: Text,
    tool_name: Text,
    tool_input: Fields,
    tool_response: Fields,
    error: Text,
    is_interrupt: Flag,
    title: Text,
    message: Text,
    error_type: Text,
    last_assistant_message: Text,
}

/// Reads the input. `event` is the name on the command line and wins over the one in the input;
/// `session` is `CLAUDE_SESSION_ID`, which wins too.
pub fn read(stdin: &[u8], event: Option<&str>, session: Option<&str>) -> Result<HookCall, serde_json::Error> {
    let text = String::from_utf8_lossy(stdin);
    let Input(mut wire) = match serde_json::from_str(&text) {
        Ok(input) => input,
        // JavaScript strings may hold half of a surrogate pair, which no Rust string can. A command that
        // holds one must not pass unread.
        Err(error) => match whole_surrogates(&text) {
            Some(mended) => serde_json::from_str(&mended).map_err(|_| error)?,
            None => return Err(error),
        },
    };
    let beside = event == Some(SESSION_STATE);
    let named = event.filter(|_| !beside).map(camel_case);
    let name = named.or(wire.hook_event_name.0).unwrap_or_default();
    let file = wire.tool_input.file();
    let mcp = wire.tool_name.0.filter(|name| name.starts_with("mcp__")).map(|tool| mcp::call(tool, &text));
    let call = ToolCall { id: wire.tool_use_id.0, command: wire.tool_input.command, file, mcp };
    let event = match name.as_str() {
        "PreToolUse" if beside => wire_session::event(&name, &text),
        "PreToolUse" => HookEvent::PreToolUse(call),
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
        _ => wire_session::event(&name, &text),
    };
    let given = session.map(plain_id).filter(|id| !id.is_empty());
    let clients = wire.session_id.0.map(|id| plain_id(&id)).filter(|id| !id.is_empty());
    let client_session = if given.is_some() && given != clients { clients.clone() } else { None };
    Ok(HookCall {
        session: given.or(clients),
        client_session,
        cwd: wire.cwd.0.map(PathBuf::from),
        transcript: wire.transcript_path.0.map(PathBuf::from),
        event,
    })
}

/// `pre-tool-use` → `PreToolUse`.
fn camel_case(kebab: &str) -> String {
    kebab
        .split('-')
        .filter_map(|word| {
            let mut chars = word.chars();
            chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>())
        })
        .collect()
}

/// Why a command failed, in words that hold nothing of its output, which may hold secrets.
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

/// The text with every unpaired `\uD800`–`\uDFFF` escape replaced; `None` when there is none.
fn whole_surrogates(text: &str) -> Option<String> {
    let unit = |at: usize| -> Option<u32> {
        let escape = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(escape, 16).ok()
    };
    let mut mended = String::with_capacity(text.len());
    let mut at = 0;
    let mut found = false;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                found = true;
                mended.push_str("\\uFFFD");
                at += 6;
                continue;
            }
            // A backslash takes the next character with it, so that `\\uD800` stays the text it is.
            _ if rest.starts_with('\\') => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        mended.push_str(rest.get(..length)?);
        at += length;
    }
    found.then_some(mended)
}

/// An object: a derived struct would take a list for one, too.
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

/// A string; anything else counts as missing.
#[derive(Debug, Default)]
pub(super) struct Text(pub(super) Option<String>);

/// A boolean; anything else counts as false.
#[derive(Debug, Default)]
pub(super) struct Flag(pub(super) bool);

/// The fields of `tool_input` and `tool_response` that are read, whatever else these hold.
#[derive(Debug, Default)]
struct Fields {
    command: Option<String>,
    interrupted: bool,
    /// `file_path` or `notebook_path`: a file that is opened.
    file: Option<String>,
    /// `path` and `glob`: where a search looks.
    path: Option<String>,
    glob: Option<String>,
    /// There is a key that none of the tools has that only look.
    changes: bool,
}

impl Fields {
    /// The file that the tool opens: by the shape of its input, whatever the tool is called.
    fn file(&mut self) -> Option<ToolFile> {
        if let Some(path) = self.file.take() {
            return Some(ToolFile { path, writes: self.changes });
        }
        let folder = self.path.take();
        let path = match (folder, self.glob.take()) {
            (Some(folder), Some(glob)) => format!("{folder}/{glob}"),
            (folder, glob) => folder.or(glob)?,
        };
        Some(ToolFile { path, writes: false })
    }
}

/// One visitor for all three: it takes any value and remembers what fits.
#[derive(Default)]
struct AnyValue {
    text: Option<String>,
    flag: bool,
    fields: Fields,
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(mut self, text: &str) -> Result<Self, E> {
        self.text = Some(text.to_owned());
        Ok(self)
    }

    fn visit_bool<E>(mut self, flag: bool) -> Result<Self, E> {
        self.flag = flag;
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match key.as_ref() {
                "command" => self.fields.command = map.next_value::<Text>()?.0,
                "interrupted" => self.fields.interrupted = map.next_value::<Flag>()?.0,
                "file_path" | "notebook_path" => self.fields.file = map.next_value::<Text>()?.0,
                "path" => self.fields.path = map.next_value::<Text>()?.0,
                "glob" => self.fields.glob = map.next_value::<Text>()?.0,
                key => {
                    self.fields.changes |= !matches!(key, "offset" | "limit" | "pages" | "cell_id");
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue::default()).map(|value| Self(value.text))
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue::default()).map(|value| Self(value.flag))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue::default()).map(|value| value.fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(stdin: &str) -> Option<String> {
        match read(stdin.as_bytes(), Some("pre-tool-use"), None).unwrap().event {
            HookEvent::PreToolUse(call) => call.command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_is_found_whatever_stands_around_it() {
        assert_eq!(
            command(
                r#"{"tool_name":"Bash","new":[1,{"a":null}],"tool_input":{"timeout":5,"command":"ls"},"x":1e3}"#
            ),
            Some("ls".into())
        );
        assert_eq!(command(r#"{"tool_input":"ls"}"#), None);
        assert_eq!(command(r#"{"tool_input":{"command":["ls"]}}"#), None);
        assert_eq!(command("{}"), None);
    }

    #[test]
    fn a_file_is_found_by_the_shape_of_the_input() {
        for (input, expected) in [
            (r#"{"file_path":"/a","content":"x"}"#, Some(("/a", true))),
            (r#"{"old_string":"x","new_string":"y","file_path":"/a"}"#, Some(("/a", true))),
            (r#"{"notebook_path":"/a.ipynb","new_source":"x","cell_id":"1"}"#, Some(("/a.ipynb", true))),
            (r#"{"file_path":"/a","offset":3,"limit":5}"#, Some(("/a", false))),
            (r#"{"pattern":"x","path":"/a"}"#, Some(("/a", false))),
            (r#"{"pattern":"x","path":"/a","glob":".env"}"#, Some(("/a/.env", false))),
            (r#"{"command":"ls"}"#, None),
        ] {
            let stdin = format!("{{\"tool_input\":{input}}}");
            let HookEvent::PreToolUse(call) =
                read(stdin.as_bytes(), Some("pre-tool-use"), None).unwrap().event
            else {
                panic!("{input}");
            };
            let found = call.file.as_ref().map(|file| (file.path.as_str(), file.writes));
            assert_eq!(found, expected, "{input}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_hides_no_command() {
        assert_eq!(
            command(r#"{"tool_input":{"command":"docker restart x \ud800"}}"#),
            Some("docker restart x \u{FFFD}".into())
        );
        assert_eq!(
            command(r#"{"tool_input":{"command":"a \\ud800 \ud83d\ude00 \udc00"}}"#),
            Some("a \\ud800 \u{1F600} \u{FFFD}".into())
        );
    }

    #[test]
    fn bytes_that_are_no_text_hide_no_command() {
        let call =
            read(b"{\"tool_input\":{\"command\":\"docker restart x \xff\"}}", Some("pre-tool-use"), None)
                .unwrap();
        assert!(matches!(call.event, HookEvent::PreToolUse(ToolCall { command: Some(_), .. })));
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
    }

    #[test]
    fn a_failure_is_told_without_the_commands_output() {
        assert_eq!(failure(Some("Exit code 127\npassword=hunter2"), false), "exit code 127");
        assert_eq!(failure(Some("something else"), false), "failed");
        assert_eq!(failure(Some("Exit code 130"), true), "interrupted");
        assert_eq!(failure(None, false), "failed");
    }

    #[test]
    fn an_event_of_a_later_release_is_let_through() {
        let call = read(br#"{"hook_event_name":"PreReboot"}"#, None, None).unwrap();
        assert_eq!(call.event, HookEvent::Other("PreReboot".into()));
    }

    #[test]
    fn every_event_of_the_client_has_its_name_in_kebab_case() {
        use crate::hook::EVENTS;
        use crate::model::event::EVENT_NAMES;
        let mut names = EVENTS.map(camel_case);
        let mut known = EVENT_NAMES.map(str::to_owned);
        names.sort();
        known.sort();
        assert_eq!(names, known);
    }
}
