//! The shape of `hooks`. The keys of a hook are those of the client's settings, so that its documentation applies.

use crate::spanned::Spanned;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::values::{HookUrl, Model, NotEmpty, Text};

/// The maximum timeout of a hook, in seconds.
const MAX_TIMEOUT: u32 = 3600;

/// How a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookTypeWire {
    /// A program.
    #[default]
    Command,
    /// A prompt for a model.
    Prompt,
    /// A prompt for a model with tools.
    Agent,
    /// An HTTP request.
    Http,
    /// A tool of an MCP server.
    McpTool,
}

/// What happens to the event of a hook that fails.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookFailureWire {
    Continue,
    Block,
}

/// A hook. Its keys are those of the client's settings.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HookWire {
    /// Tools, sources or agents that the hook applies to. Default: all.
    pub matcher: Option<Text<NotEmpty>>,
    /// How the hook runs. Default: `command`.
    #[serde(default)]
    pub r#type: HookTypeWire,
    /// Program, for type `command`.
    pub command: Option<Text<NotEmpty>>,
    /// Arguments of the program, for type `command`. With this key, the program runs without a shell.
    pub args: Option<Vec<String>>,
    /// Prompt, for types `prompt` and `agent`. `$ARGUMENTS` expands to the input of the hook.
    pub prompt: Option<Text<NotEmpty>>,
    /// Model, for types `prompt` and `agent`.
    pub model: Option<Text<Model>>,
    /// URL, for type `http`.
    pub url: Option<Text<HookUrl>>,
    /// Headers of the request, for type `http`. `$NAME` expands to a variable of `allowedEnvVars`.
    pub headers: Option<Map<String, Value>>,
    /// Environment variables that may be used in `headers`, for type `http`.
    pub allowed_env_vars: Option<Vec<String>>,
    /// MCP server, for type `mcp_tool`.
    pub server: Option<Text<NotEmpty>>,
    /// Tool of the MCP server, for type `mcp_tool`.
    pub tool: Option<Text<NotEmpty>>,
    /// Input of the tool, for type `mcp_tool`. Placeholders such as `${tool_input.command}` are expanded.
    pub input: Option<Map<String, Value>>,
    /// Permission rule that a tool call must match, for events of a tool call.
    pub r#if: Option<Spanned<Text<NotEmpty>>>,
    /// Timeout in seconds, 1 to 3600.
    #[serde(default, deserialize_with = "seconds")]
    pub timeout: Option<u32>,
    /// Text that the client shows while the hook runs.
    pub status_message: Option<Text<NotEmpty>>,
    /// Whether the client runs the program in the background, for type `command`. Context that it answers arrives with a later request; other answers are ignored. Default: `false`.
    pub r#async: Option<bool>,
    /// When the hook fails, the client continues (`continue`) or blocks (`block`), for types `command`, `http` and `mcp_tool`. Default: `continue`.
    pub on_failure: Option<HookFailureWire>,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match Option::<u32>::deserialize(deserializer)? {
        Some(seconds) if !(1..=MAX_TIMEOUT).contains(&seconds) => Err(D::Error::custom(format!(
            "is not a valid hook timeout; write seconds from 1 to {MAX_TIMEOUT}"
        ))),
        seconds => Ok(seconds),
    }
}
