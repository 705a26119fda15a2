//! Why hook input cannot be used.

use thiserror::Error;

/// Why hook input cannot be used.
#[derive(Debug, Error)]
pub enum InputError {
    /// It is not a JSON object.
    #[error("invalid JSON ({0})")]
    Json(#[from] serde_json::Error),
    /// A tool call without the input of its tool.
    #[error("`tool_input` is not an object")]
    ToolInput,
    /// A tool call with a command in a form that no tool of the client has.
    #[error("`command` is not a text")]
    Command,
    /// It is the input of a client that opsctl does not know.
    #[error("this is not the hook input of Claude Code, Codex CLI or Gemini CLI")]
    OtherClient,
}
