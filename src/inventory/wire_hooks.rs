//! The shape of `hooks:` in `hosts.yaml`. The keys of a hook are the client's own, so that its documentation holds here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

/// How a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookTypeWire {
    /// A program.
    #[default]
    Command,
    /// A question to a model.
    Prompt,
    /// A question to a model with tools.
    Agent,
    /// A request to a server.
    Http,
    /// A tool of an MCP server.
    McpTool,
}

/// What a failure of the hook does to what it guards.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookFailureWire {
    Continue,
    Block,
}

/// One hook.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HookWire {
    /// Which tools, sources or agents; all unless given.
    pub matcher: Option<Spanned<String>>,
    /// How it is run; `command` unless given.
    #[serde(default)]
    pub r#type: HookTypeWire,
    /// The program, for `command`.
    pub command: Option<Spanned<String>>,
    /// Its arguments; with them no shell stands between.
    pub args: Option<Vec<String>>,
    /// What the model is asked, for `prompt` and `agent`; `$ARGUMENTS` becomes the hook's input.
    pub prompt: Option<Spanned<String>>,
    /// The model that is asked.
    pub model: Option<Spanned<String>>,
    /// The address, for `http`.
    pub url: Option<Spanned<String>>,
    /// The headers of the request.
    pub headers: Option<Map<String, Value>>,
    /// The variables that may be filled in.
    pub allowed_env_vars: Option<Vec<String>>,
    /// The MCP server, for `mcp_tool`.
    pub server: Option<Spanned<String>>,
    /// Its tool.
    pub tool: Option<Spanned<String>>,
    /// What the tool is given; `${tool_input.command}` and the like are filled in.
    pub input: Option<Map<String, Value>>,
    /// A permission rule, at the events of a tool call only.
    pub r#if: Option<Spanned<String>>,
    /// Seconds, 1 to 3600.
    pub timeout: Option<Spanned<u32>>,
    /// Shown while it runs.
    pub status_message: Option<Spanned<String>>,
    /// `true`: the client does not wait, and the answer counts for nothing.
    pub r#async: Option<bool>,
    /// `block`: what it guards does not happen when the hook fails; `continue` unless given.
    pub on_failure: Option<HookFailureWire>,
}
