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
    /// The default rules and classes that are allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub off: Vec<Off>,
    /// Where a person is asked about a default rule or a class; elsewhere it is denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask_on: Vec<Off>,
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

/// A default rule, or all rules of a class, that are allowed, or that a person is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Off {
    /// The name of the rule or the class.
    pub name: String,
    /// The only hosts that it holds for, by all ways in which commands name them; empty for all hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The names of the only service that it holds for, first its own; empty for all services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<String>,
}

impl Off {
    /// Whether it holds on this host, as a command names it, where `is_of` states whether the command concerns a service
    /// with these names. `None`: only where it holds on all hosts.
    pub fn holds(&self, host: Option<&str>, is_of: &dyn Fn(&[String]) -> bool) -> bool {
        if !self.service.is_empty() && !is_of(&self.service) {
            return false;
        }
        let is_listed = |host: &str| {
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            self.hosts.iter().any(|listed| listed == host)
        };
        self.hosts.is_empty() || host.is_some_and(is_listed)
    }
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
