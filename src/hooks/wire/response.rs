//! What a tool has answered, which each tool defines. It is read in a second pass, after a tool has run only.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::lenient::Text;
use super::surrogates;

/// What a tool has answered.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolResponse {
    /// The client's name of the tool.
    #[serde(rename = "tool_name")]
    name: Text,
    /// The answer, in the form of the tool; null if it failed.
    #[serde(rename = "tool_response")]
    pub output: Value,
    /// The error of a tool that failed, with the output of a command.
    error: Text,
}

impl ToolResponse {
    /// Reads it from the whole hook input. Input that cannot be read has no answer.
    pub fn read(stdin: &[u8]) -> Self {
        surrogates::parse(&String::from_utf8_lossy(stdin)).unwrap_or_default()
    }

    /// The client's name of the tool; empty if it is missing.
    pub fn name(&self) -> &str {
        self.name.0.as_deref().unwrap_or_default()
    }

    /// The error of a tool that failed.
    pub fn error(&self) -> Option<&str> {
        self.error.0.as_deref()
    }
}

/// The input of a hook without the secrets of the output, to be kept in a file; empty if it cannot be read.
pub fn without_secrets(stdin: &[u8]) -> Vec<u8> {
    let read = surrogates::parse::<Map<String, Value>>(&String::from_utf8_lossy(stdin));
    let mut input = read.unwrap_or_default();
    for (_, value) in input.iter_mut().filter(|(key, _)| ["tool_response", "error"].contains(&key.as_str())) {
        opsctl_redact::json(value);
    }
    Value::Object(input).to_string().into_bytes()
}
