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
    pub matcher: Option<Spanned<String>>,
    #[serde(default)]
    pub r#type: HookTypeWire,
    pub command: Option<Spanned<String>>,
    pub args: Option<Vec<String>>,
    pub prompt: Option<Spanned<String>>,
    pub model: Option<Spanned<String>>,
    pub url: Option<Spanned<String>>,
    pub headers: Option<Map<String, Value>>,
    pub allowed_env_vars: Option<Vec<String>>,
    pub server: Option<Spanned<String>>,
    pub tool: Option<Spanned<String>>,
    pub input: Option<Map<String, Value>>,
    pub r#if: Option<Spanned<String>>,
    pub timeout: Option<Spanned<u32>>,
    pub status_message: Option<Spanned<String>>,
    pub r#async: Option<bool>,
    pub on_failure: Option<HookFailureWire>,
}
