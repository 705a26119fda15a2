//! The end of a session's transcript: the model of the last answer, the last words before a call, and the API error that ended
//! the session.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::machine::agent_side::AgentSide;
use crate::machine::link::lookup::Lookup;
use opsctl_machine::plain_file;
use opsctl_policy::model::records::session::plain_id;

/// How much of the end is read, in bytes. The records after the last answer are small, and so is an error.
const TAIL_BYTES: u64 = 256 * 1024;

/// The maximum time to wait for the client to write what it has received. Idle machines take up to 220 ms, busy ones more
/// than 500 ms.
pub const WRITTEN_WITHIN: Duration = Duration::from_millis(1500);

/// The pause between two reads of a transcript.
pub const PAUSE: Duration = Duration::from_millis(5);

/// An API error, as the client records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// The client's error code, e.g. `rate_limit`.
    pub error: Option<String>,
    /// The client's message.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordWire {
    r#type: String,
    #[serde(default)]
    is_api_error_message: bool,
    #[serde(default)]
    is_sidechain: bool,
    error: Option<String>,
    message: Option<MessageWire>,
}

#[derive(Deserialize)]
struct MessageWire {
    model: Option<String>,
    #[serde(default)]
    content: Vec<ContentWire>,
}

#[derive(Deserialize)]
struct ContentWire {
    #[serde(default)]
    text: String,
}

/// The API error that ended the session; `None` if it ended otherwise or the transcript cannot be read.
pub fn last_error(path: &Path, agent: &AgentSide) -> Option<ApiError> {
    agent.find(|| Lookup::LastError(path.to_string_lossy().into_owned()), || error_at_end(path))
}

fn error_at_end(path: &Path) -> Option<ApiError> {
    let bytes = plain_file::read_tail(path, TAIL_BYTES).ok()?;
    let last = answers(&bytes).next().filter(|record| record.is_api_error_message)?;
    let content = last.message.into_iter().flat_map(|message| message.content);
    let texts: Vec<String> = content.map(|content| content.text).collect();
    Some(ApiError { error: last.error, message: texts.join(" ") })
}

/// The longest text of the agent that is quoted, in characters.
const WORDS_CHARS: usize = 1_000;

/// The last words of the session's main agent before a call, bounded and without secrets. The client writes them slightly
/// later than it calls hooks, so they are waited for.
pub fn last_words(path: &Path, call: &str, agent: &AgentSide) -> Option<String> {
    let lookup =
        || Lookup::LastWords { transcript: path.to_string_lossy().into_owned(), call: call.to_owned() };
    let words = agent.find(lookup, || words_before(path, call))?;
    Some(opsctl_redact::shortened(&words, WORDS_CHARS))
}

fn words_before(path: &Path, call: &str) -> Option<String> {
    let (began, id) = (Instant::now(), format!("\"{call}\""));
    let bytes = loop {
        let bytes = plain_file::read_tail(path, TAIL_BYTES).ok()?;
        if memmem::find(&bytes, id.as_bytes()).is_some() || began.elapsed() >= WRITTEN_WITHIN {
            break bytes;
        }
        sleep(PAUSE);
    };
    let mut texts = answers(&bytes).filter_map(|record| {
        let content = record.message?.content.into_iter().map(|content| content.text);
        let text = content.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n");
        (!text.is_empty()).then_some(text)
    });
    texts.next().map(|text| text.trim().to_owned())
}

/// The model of the session's last answer.
pub fn last_model(path: &Path, agent: &AgentSide) -> Option<String> {
    let lookup = || Lookup::LastModel(path.to_string_lossy().into_owned());
    agent.find(lookup, || model_at_end(path)).map(|model: String| plain_id(&model))
}

fn model_at_end(path: &Path) -> Option<String> {
    let bytes = plain_file::read_tail(path, TAIL_BYTES).ok()?;
    // The client's own messages have a name in angle brackets instead of a model.
    let mut models = answers(&bytes).filter_map(|record| record.message?.model);
    models.find(|model| !model.starts_with('<'))
}

/// The answers of the session's main agent in the end of a transcript, last one first. The first line may be cut off.
fn answers(bytes: &[u8]) -> impl Iterator<Item = RecordWire> + use<'_> {
    let records = bytes.split(|byte| *byte == b'\n').rev();
    let records = records.filter_map(|line| serde_json::from_slice::<RecordWire>(line).ok());
    records.filter(|record| record.r#type == "assistant" && !record.is_sidechain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::context::usage;
    use crate::machine::link::lookup::Awaited;

    #[derive(Deserialize)]
    struct Rows {
        rows: Vec<Row>,
    }

    #[derive(Deserialize)]
    struct Row {
        lines: Vec<String>,
        awaited: Option<Awaited>,
        gives: String,
    }

    #[test]
    fn transcripts_are_read_as_the_rows_state() {
        let Rows { rows } = serde_saphyr::from_str(include_str!("transcripts.yaml")).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let (path, here) = (file.path(), &AgentSide::HERE);
        for Row { lines, awaited, gives } in rows {
            std::fs::write(path, lines.join("\n")).unwrap();
            let usage = usage::look(path, &awaited.unwrap_or(Awaited::Nothing));
            let client = usage::client_name(path, "claude-sonnet-4-5");
            let (error, model) = (last_error(path, here), last_model(path, here));
            let found = format!("{usage:?}, error: {error:?}, model: {model:?}, client: {client:?}");
            assert!(found.contains(&gives), "{lines:?}: {found}");
        }
        assert_eq!(last_error(Path::new("/dev/zero"), here), None);
        assert_eq!(last_model(Path::new("/dev/null"), here), None);
    }

    #[test]
    fn an_error_is_found_after_a_long_line() {
        let error = r#"{"type":"assistant","message":{},"error":"rate_limit","isApiErrorMessage":true}"#;
        let file = tempfile::NamedTempFile::new().unwrap();
        let long = format!("{{\"type\":\"user\",\"x\":\"{}\"}}\n{error}", "x".repeat(500_000));
        std::fs::write(file.path(), long).unwrap();
        let found = last_error(file.path(), &AgentSide::HERE).and_then(|found| found.error);
        assert_eq!(found.as_deref(), Some("rate_limit"));
    }

    #[test]
    fn the_words_before_a_call_are_waited_for() {
        let text = |words: &str| {
            format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{words}"}}]}}}}"#)
        };
        let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_2"}]}}"#;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text("earlier") + "\n").unwrap();
        let words = std::thread::scope(|scope| {
            let reader = scope.spawn(|| last_words(file.path(), "toolu_2", &AgentSide::HERE));
            sleep(Duration::from_millis(100));
            std::fs::write(file.path(), [text("earlier"), text("last"), call.into()].join("\n")).unwrap();
            reader.join().unwrap()
        });
        assert_eq!(words.as_deref(), Some("last"));
        assert_eq!(last_words(file.path(), "toolu_3", &AgentSide::HERE).as_deref(), Some("last"));
        assert_eq!(last_words(Path::new("/does/not/exist"), "toolu_2", &AgentSide::HERE), None);
    }
}
