//! The rules of `hosts.yaml` about commands, files and tools.

use serde::{Deserialize, Serialize};

use super::tier::Tier;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::terms::effect::Effect;
use opsctl_reader::terms::verb::Verb;

/// Rules that an installation adds to the default rules, and default rules that it disables.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// The catalogue of programs, including those of `programs`.
    #[serde(skip)]
    pub catalogue: Catalogue,
    /// Commands that are always denied. A rule with the name of a default rule replaces it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<NeverRule>,
    /// The names of disabled default rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub off: Vec<String>,
    /// Data folders, in addition to the default ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// Write-protected files, in addition to the default ones; the last matching rule decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<PathRule>,
    /// Files that must not be read, in addition to the default ones; the last matching rule decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secret: Vec<PathRule>,
    /// Actions of the tools of MCP servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolRule>,
    /// The effects of other tools of MCP servers; the effect of an unlisted tool is unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_effects: Vec<(String, Effect)>,
    /// URLs that accept messages, in addition to the default ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub webhooks: Vec<String>,
}

/// Where a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// On the machine where the agent runs.
    Local,
    /// On other machines.
    Remote,
    /// On every machine.
    #[default]
    Any,
}

impl Where {
    /// Whether the rule applies to a command on another machine (`remote`) or on this one.
    pub const fn holds(self, remote: bool) -> bool {
        match self {
            Self::Local => !remote,
            Self::Remote => remote,
            Self::Any => true,
        }
    }
}

/// A rule about commands that are always denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeverRule {
    /// Its name, which denials show.
    pub name: String,
    /// Patterns in the language of `policy::pattern`; a command that matches one of them is denied.
    pub patterns: Vec<String>,
    /// The reason, and what to do instead.
    pub reason: String,
    /// Where the rule applies.
    pub scope: Where,
    /// The tiers to which the rule applies; empty for all sessions, with or without a tier.
    pub tiers: Vec<Tier>,
}

/// A rule about files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRule {
    /// The glob; a leading `!` makes it an exception.
    pub glob: String,
    /// Where the rule applies.
    pub scope: Where,
}

/// The action of an MCP server's tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRule {
    /// The tool's name in the client, `mcp__SERVER__TOOL`.
    pub tool: String,
    /// What it does; [`Verb::Loosen`] for a disabled tool.
    pub verb: Verb,
    /// The argument with the service, as a name or a JSON pointer.
    pub service: Option<String>,
    /// The argument with the host, as a name or a JSON pointer.
    pub host: Option<String>,
    /// The argument with the recipients of a message, as a name or a JSON pointer.
    pub to: Option<String>,
}
