//! The usage of a session's context window, from the client's transcript.

use std::path::Path;

use memchr::memmem;
use serde::{Deserialize, Serialize};

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
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    is_sidechain: Option<bool>,
    #[serde(default)]
    is_api_error_message: Option<bool>,
    #[serde(default)]
    message: Option<MessageWire>,
}

#[derive(Deserialize)]
struct MessageWire {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    usage: Option<UsageWire>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct UsageWire {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_creation: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
}

impl UsageWire {
    fn tokens(&self) -> u64 {
        [self.input, self.cache_read, self.cache_creation, self.output]
            .into_iter()
            .flatten()
            .fold(0, u64::saturating_add)
    }
}

#[derive(Deserialize)]
struct IdentityRecordWire {
    attachment: AttachmentWire,
}

#[derive(Deserialize)]
struct AttachmentWire {
    identity: IdentityWire,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IdentityWire {
    model_id: String,
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
        let name = |line: &[u8]| serde_json::from_slice::<IdentityRecordWire>(line).ok();
        lines.filter_map(name).map(|record| record.attachment.identity.model_id).collect::<Vec<_>>()
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

    fn answer(tokens: u64) -> String {
        format!(
            r#"{{"type":"assistant","isSidechain":false,"message":{{"model":"claude-sonnet-4-5","content":[{{"type":"text","text":"x"}}],"usage":{{"input_tokens":5,"cache_creation_input_tokens":{},"cache_read_input_tokens":0,"output_tokens":7,"service_tier":"standard"}}}}}}"#,
            tokens - 12
        )
    }

    fn used(lines: &[&str]) -> Option<u64> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        last(file.path())
    }

    fn last(record: &Path) -> Option<u64> {
        look(record, &Awaited::Nothing)?.usage.map(|usage| usage.tokens)
    }

    #[test]
    fn reads_the_last_answer_of_the_main_agent() {
        let (one, two) = (&answer(100), &answer(2_000));
        let of_a_subagent = &answer(9_999).replace("\"isSidechain\":false", "\"isSidechain\":true");
        let error = &answer(9_999).replace("\"isSidechain\"", "\"isApiErrorMessage\":true,\"isSidechain\"");
        let synthetic = r#"{"type":"assistant","message":{"model":"<synthetic>","usage":{"input_tokens":0,"output_tokens":0}}}"#;
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"\"type\":\"assistant\",\"usage\":{\"input_tokens\":1}"}]}}"#;
        assert_eq!(used(&[one, two, ""]), Some(2_000));
        assert_eq!(used(&[two, one, of_a_subagent, error, synthetic, result]), Some(100));
    }

    #[test]
    fn after_a_compaction_usage_is_unknown_until_the_next_answer() {
        let boundary = r#"{"type":"system","subtype":"compact_boundary","isSidechain":false}"#;
        assert_eq!(used(&[&answer(100), boundary, "{}"]), None);
        assert_eq!(used(&[&answer(190_000), boundary, &answer(20_000)]), Some(20_000));
        let mention = r#"{"type":"user","message":{"content":"a \"compact_boundary\" of the assistant"}}"#;
        assert_eq!(used(&[&answer(100), mention]), Some(100));
    }

    #[test]
    fn invalid_lines_are_ignored() {
        let good = &answer(100);
        for odd in [
            "",
            "\n\n",
            "not json",
            "[]",
            "null",
            r#"{"type":"assistant"}"#,
            r#"{"type":"assistant","message":7}"#,
            r#"{"type":"assistant","message":{"usage":{"input_tokens":-1}}}"#,
            r#"{"type":"assistant","message":{"usage":{"input_tokens":"many"}}}"#,
            r#"{"type":7,"message":{"usage":"assistant"}}"#,
            &good[..good.len() - 10],
            "\u{0}\u{0}",
        ] {
            assert_eq!(used(&[odd]), None, "{odd}");
            assert_eq!(used(&[good, odd]), Some(100), "{odd}");
        }
        let most = format!(
            r#"{{"type":"assistant","message":{{"usage":{{"input_tokens":{0},"output_tokens":{0}}}}}}}"#,
            u64::MAX
        );
        assert_eq!(used(&[&most]), Some(u64::MAX));
        assert_eq!(last(Path::new("/does/not/exist")), None);
        assert_eq!(last(Path::new("/dev/zero")), None);
        assert_eq!(last(Path::new("/")), None);
    }

    #[test]
    fn reads_only_the_end_of_a_long_transcript() {
        let result = |bytes: usize| format!(r#"{{"type":"user","message":"{}"}}"#, "x".repeat(bytes));
        assert_eq!(used(&[&answer(100), &result(200_000)]), Some(100));
        assert_eq!(used(&[&answer(100), &result(2_000_000)]), Some(100));
        assert_eq!(used(&[&answer(100), &result(5_000_000)]), None);
        // As if it were 100 GB: what is not read costs nothing.
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(100 * 1024 * 1024 * 1024).unwrap();
        let mut end = std::fs::File::options().append(true).open(file.path()).unwrap();
        std::io::Write::write_all(&mut end, format!("\n{}\n", answer(77)).as_bytes()).unwrap();
        assert_eq!(last(file.path()), Some(77));
    }

    #[test]
    fn recognises_a_transcript_that_is_not_up_to_date() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let up_to_date = |lines: &[&str], awaited| {
            std::fs::write(file.path(), lines.join("\n")).unwrap();
            look(file.path(), &awaited).unwrap().up_to_date
        };
        let (prompt, answer) = (r#"{"type":"user","message":{"content":"begin"}}"#, &answer(100));
        let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_2"}],"usage":{"input_tokens":1}}}"#;
        let aside = r#"{"type":"attachment","attachment":{"type":"hook_success","stdout":"\"user\""}}"#;
        assert!(!up_to_date(&[prompt, answer, aside], Awaited::Call("toolu_2".into())));
        assert!(up_to_date(&[prompt, answer, call, aside], Awaited::Call("toolu_2".into())));
        assert!(up_to_date(&[prompt, answer, aside], Awaited::Answer(" x\n".into())));
        assert!(up_to_date(&[prompt, answer, aside], Awaited::Answer(String::new())));
        assert!(!up_to_date(&[prompt, answer, aside], Awaited::Answer("another \"x\"".into())));
        assert!(!up_to_date(&[prompt, answer, prompt, aside], Awaited::Answer("x".into())));
        assert!(!up_to_date(&[""], Awaited::Answer("x".into())) && up_to_date(&[""], Awaited::Nothing));
        assert_eq!(look(Path::new("/does/not/exist"), &Awaited::Answer("x".into())), None);
    }

    #[test]
    fn reads_the_clients_name_for_the_model() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let identity = |name: &str| {
            format!(
                r#"{{"type":"attachment","attachment":{{"type":"model","identity":{{"modelId":"{name}"}}}}}}"#
            )
        };
        let named = |lines: &[String], model: &str| {
            std::fs::write(file.path(), lines.join("\n")).unwrap();
            client_name(file.path(), model)
        };
        let (large, small) = (identity("claude-sonnet-4-5[1m]"), identity("claude-sonnet-4-5"));
        let large_name = Some("claude-sonnet-4-5[1m]".to_owned());
        assert_eq!(named(&[large.clone(), answer(50)], "claude-sonnet-4-5"), large_name);
        assert_eq!(named(&[large.clone(), small], "claude-sonnet-4-5"), Some("claude-sonnet-4-5".to_owned()));
        // It is another model's now.
        assert_eq!(named(&[large], "claude-haiku-4-5"), None);
        assert_eq!(named(&["{\"modelId\":7}".to_owned()], "claude-haiku-4-5"), None);
    }
}
