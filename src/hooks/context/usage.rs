//! The usage of a session's context window, from the client's transcript.

use std::path::Path;

use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::link::lookup::Awaited;
use opsctl_machine::plain_file;

/// Sizes of the end of a transcript to read, in bytes, tried in order until the last answer is found. The results of tools
/// that follow it are seldom large.
const TAILS: [u64; 3] = [64 * 1024, 512 * 1024, 4 * 1024 * 1024];

/// The size of the beginning of a transcript that names the client's model, in bytes.
const HEAD: u64 = 64 * 1024;

/// The used tokens: those of the last answer and its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens.
    pub tokens: u64,
    /// The model's name in the API.
    pub model: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordWire {
    r#type: Option<String>,
    subtype: Option<String>,
    is_sidechain: Option<bool>,
    is_api_error_message: Option<bool>,
    message: Option<MessageWire>,
}

#[derive(Deserialize)]
struct MessageWire {
    model: Option<String>,
    usage: Option<UsageWire>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the API")]
struct UsageWire {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl UsageWire {
    fn tokens(&self) -> u64 {
        let input = [self.input_tokens, self.cache_read_input_tokens, self.cache_creation_input_tokens];
        input.into_iter().chain([self.output_tokens]).flatten().fold(0, u64::saturating_add)
    }
}

/// The content of a line of a transcript.
enum Said {
    /// An answer of the session's main agent.
    Answer(Usage),
    /// A compaction: earlier lines are no longer in the window.
    Compacted,
    /// Input of the agent: a prompt or the result of a tool.
    Heard,
    Nothing,
}

/// The beginning of an awaited answer in JSON, which distinguishes it from earlier ones.
fn beginning(awaited: &Awaited) -> String {
    let Awaited::Answer(words) = awaited else { return String::new() };
    let words: String = words.trim().chars().take(40).collect();
    let json = serde_json::to_string(&words).unwrap_or_default();
    json.trim_matches('"').to_owned()
}

/// The result of reading the end of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The usage; `None` if there is no answer yet, none since the last compaction, or none in the part that is read.
    pub usage: Option<Usage>,
    /// Whether it contains what was awaited.
    pub up_to_date: bool,
}

/// Reads the end of a transcript; `None` if it cannot be read.
pub fn look(record: &Path, awaited: &Awaited) -> Option<Look> {
    let mut answered = None;
    for bytes in TAILS {
        let tail = plain_file::read_tail(record, bytes).ok()?;
        let whole = (tail.len() as u64) < bytes;
        // The first line is incomplete unless the whole file was read.
        let lines: Vec<&[u8]> = tail.split(|byte| *byte == b'\n').skip(usize::from(!whole)).collect();
        let mut usage = None;
        let mut found = whole;
        for line in lines.iter().rev() {
            let said = said(line);
            if answered.is_none() && !matches!(said, Said::Nothing) {
                answered = Some(!matches!(said, Said::Heard) && has(line, beginning(awaited).as_bytes()));
            }
            match said {
                Said::Answer(answer) => usage = Some(answer),
                Said::Compacted => {}
                Said::Heard | Said::Nothing => continue,
            }
            found = true;
            break;
        }
        if found || TAILS.last() == Some(&bytes) {
            let up_to_date = match awaited {
                Awaited::Nothing => true,
                Awaited::Call(id) => has(&tail, format!("\"{id}\"").as_bytes()),
                Awaited::Answer(_) => answered == Some(true),
            };
            return Some(Look { usage, up_to_date });
        }
    }
    None
}

/// The client's name for a transcript's model, which, unlike the API's name, ends in `[1m]` if the window is 1,000,000
/// tokens.
pub fn client_name(record: &Path, model: &str) -> Option<String> {
    let (head, _) = plain_file::read_head(record, HEAD).ok()?;
    let tail = plain_file::read_tail(record, TAILS[0]).ok()?;
    let names = [head, tail].into_iter().flat_map(|part| {
        let lines = part.split(|byte| *byte == b'\n').filter(|line| has(line, b"\"modelId\""));
        let name = |line: &[u8]| {
            let record: Value = serde_json::from_slice(line).ok()?;
            record.pointer("/attachment/identity/modelId")?.as_str().map(str::to_owned)
        };
        lines.filter_map(name).collect::<Vec<_>>()
    });
    names.last().filter(|name| name.split('[').next() == Some(model))
}

fn said(line: &[u8]) -> Said {
    // Most lines are long and of other kinds, and need not be parsed.
    let kinds: [&[u8]; 3] = [b"\"assistant\"", b"\"user\"", b"\"compact_boundary\""];
    if !kinds.iter().any(|kind| has(line, kind)) {
        return Said::Nothing;
    }
    // An incomplete line, or one of another program.
    let Ok(record) = serde_json::from_slice::<RecordWire>(line) else { return Said::Nothing };
    if record.is_sidechain == Some(true) || record.is_api_error_message == Some(true) {
        return Said::Nothing;
    }
    match (record.r#type.as_deref(), record.subtype.as_deref(), record.message) {
        (Some("system"), Some("compact_boundary"), _) => Said::Compacted,
        (Some("user"), _, _) => Said::Heard,
        (Some("assistant"), _, Some(MessageWire { model, usage: Some(usage) })) if usage.tokens() > 0 => {
            Said::Answer(Usage { tokens: usage.tokens(), model: model.unwrap_or_default() })
        }
        _ => Said::Nothing,
    }
}

fn has(line: &[u8], text: &[u8]) -> bool {
    memmem::find(line, text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"type":"assistant","message":{"usage":{"input_tokens":77}}}"#;

    fn last(record: &Path) -> Option<u64> {
        look(record, &Awaited::Nothing)?.usage.map(|usage| usage.tokens)
    }

    #[test]
    fn reads_only_the_end_of_a_long_transcript() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (bytes, tokens) in [(200_000, Some(77)), (2_000_000, Some(77)), (5_000_000, None)] {
            let result = format!(r#"{{"type":"user","message":"{}"}}"#, "x".repeat(bytes));
            std::fs::write(file.path(), format!("{ANSWER}\n{result}")).unwrap();
            assert_eq!(last(file.path()), tokens, "{bytes}");
        }
        // As if it were 100 GB: what is not read costs nothing.
        file.as_file().set_len(100 * 1024 * 1024 * 1024).unwrap();
        let mut end = std::fs::File::options().append(true).open(file.path()).unwrap();
        std::io::Write::write_all(&mut end, format!("\n{ANSWER}\n").as_bytes()).unwrap();
        assert_eq!(last(file.path()), Some(77));
    }

    #[test]
    fn what_is_not_a_file_gives_no_usage() {
        for path in ["/does/not/exist", "/dev/zero", "/"] {
            assert_eq!(last(Path::new(path)), None, "{path}");
            assert_eq!(look(Path::new(path), &Awaited::Answer("x".into())), None, "{path}");
        }
    }
}
