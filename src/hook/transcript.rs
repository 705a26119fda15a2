//! The end of a session's transcript, as the client writes it: whether its last word is an error of the API.

use std::path::Path;

use serde::Deserialize;

use crate::plain_file;

/// What is read of the end. The records after the last answer are small, and so is an error.
const TAIL_BYTES: u64 = 256 * 1024;

/// Why the model could not be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The client's word for it, e.g. `rate_limit`.
    pub error: Option<String>,
    /// What the client said about it.
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
    #[serde(default)]
    content: Vec<ContentWire>,
}

#[derive(Deserialize)]
struct ContentWire {
    #[serde(default)]
    text: String,
}

/// The error that the session ended with. `None`: it ended otherwise, or the transcript cannot be read.
pub fn last_error(path: &Path) -> Option<ApiError> {
    let bytes = plain_file::read_tail(path, TAIL_BYTES).ok()?;
    // The first line may be the end of one.
    let records =
        bytes.split(|byte| *byte == b'\n').rev().filter_map(|line| serde_json::from_slice(line).ok());
    let is_answer = |record: &RecordWire| record.r#type == "assistant" && !record.is_sidechain;
    let last = records.into_iter().find(is_answer).filter(|record| record.is_api_error_message)?;
    let content = last.message.into_iter().flat_map(|message| message.content);
    let texts: Vec<String> = content.map(|content| content.text).collect();
    Some(ApiError { error: last.error, message: texts.join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"API Error: 429"}]},"error":"rate_limit","isApiErrorMessage":true}"#;
    const ANSWERED: &str =
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash"}]}}"#;
    const AFTER: &str = r#"{"type":"cost-state","totalCostUSD":0}"#;

    fn read(lines: &[&str]) -> Option<ApiError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        last_error(file.path())
    }

    #[test]
    fn only_the_last_answer_tells_how_a_session_ended() {
        let error = ApiError { error: Some("rate_limit".into()), message: "API Error: 429".into() };
        assert_eq!(read(&[ANSWERED, FAILED, AFTER, ""]), Some(error.clone()));
        assert_eq!(read(&[FAILED, ANSWERED, AFTER]), None);
        let of_a_subagent = FAILED.replace("{\"type\"", "{\"isSidechain\":true,\"type\"");
        assert_eq!(read(&[ANSWERED, &of_a_subagent]), None);
        let long = format!("{{\"type\":\"user\",\"x\":\"{}\"}}", "x".repeat(500_000));
        assert_eq!(read(&[ANSWERED, &long, FAILED]), Some(error));
        assert_eq!(read(&["not json", "[]", ""]), None);
        assert_eq!(last_error(Path::new("/dev/zero")), None);
    }
}
