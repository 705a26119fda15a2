//! The shape of the rules about commands, files and MCP tools.

use crate::spanned::Spanned;
use serde::Deserialize;

use super::forms::OneOrMore;
use opsctl_policy::model::rights::rules::Where;
use opsctl_policy::model::rights::tier::Tier;
use opsctl_reader::terms::effect::Effect;
use opsctl_reader::terms::verb::Verb;

/// A rule about commands that are always denied: what becomes of a default rule or a class, or a rule of its own. Text is what
/// becomes of it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NeverWire {
    /// What becomes of the commands of a default rule or of a class: they are denied (`deny`), a person is asked (`ask`), or they are allowed (`allow`). Default: `deny`.
    pub answer: Option<Answer>,
    /// Hosts on which the commands of a default rule or of a class are allowed. `nas/jellyfin` allows those that run in the container, workload or guest of this service, or name nothing but it.
    pub allow_on: Vec<Spanned<String>>,
    /// Hosts, and services of hosts, where a person is asked about the commands of a default rule or of a class. Elsewhere, they are denied.
    pub ask_on: Vec<Spanned<String>>,
    /// Patterns of the commands that a rule of its own denies. A rule with the name of a default rule replaces it.
    pub argv: Option<Spanned<OneOrMore>>,
    /// Why the command is denied and what to do instead; the agent reads it. Required with `argv`.
    pub reason: Option<Spanned<String>>,
    /// Machines that the rule applies to: the agent's own (`local`), other hosts (`remote`) or `any`. Default: `any`.
    #[serde(rename = "where")]
    pub scope: Option<Where>,
    /// Tiers that the rule applies to. Default: all tiers, and sessions without a tier.
    pub tiers: Vec<Tier>,
    /// Examples that the rule must deny, checked when the file is loaded. Required with `argv`.
    pub matches: Vec<Spanned<String>>,
    /// Examples that the rule must not deny, checked when the file is loaded.
    pub differs: Vec<Spanned<String>>,
}

/// What becomes of the commands of a default rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Deny,
    Ask,
    Allow,
}

/// Files that match a glob.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathRuleWire {
    /// Glob, absolute or relative to the project; plain text sets only this key. A leading `!` makes an exception.
    pub path: String,
    /// Machines that the rule applies to: the agent's own (`local`), other hosts (`remote`) or `any`. Default: `local` in `protect`, `any` in `secret`.
    #[serde(rename = "where")]
    pub scope: Option<Where>,
}

/// What a tool of an MCP server does: an action, or an effect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRuleWire {
    /// Kind of action. `never` denies every call.
    pub action: Option<ToolActionWire>,
    /// What it does where it carries out no action: `reads`, `changes` or `unknown`, which is that of a tool that is not listed.
    pub effect: Option<Effect>,
    /// Kind of restart, for action `restart`. Default: `restart`.
    pub verb: Option<ToolVerbWire>,
    /// Argument that names the service, or a JSON pointer to it. Required for actions `restart` and `redeployment`.
    pub service: Option<Spanned<String>>,
    /// Argument that names the host, or a JSON pointer to it.
    pub host: Option<Spanned<String>>,
    /// Argument that names the recipients, or a JSON pointer to it, for action `notification`.
    pub to: Option<Spanned<String>>,
}

/// The action of an MCP tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolActionWire {
    Restart,
    Redeployment,
    PullRequest,
    Notification,
    Never,
}

/// How an MCP tool restarts: a stop opens a cycle that a start closes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolVerbWire {
    Restart,
    Stop,
    Start,
}

impl ToolActionWire {
    /// The verb of a tool with this action, and with this kind of restart.
    pub fn verb(self, restart: Option<ToolVerbWire>) -> Verb {
        match (self, restart) {
            (Self::Restart, None | Some(ToolVerbWire::Restart)) => Verb::Restart,
            (Self::Restart, Some(ToolVerbWire::Stop)) => Verb::Stop,
            (Self::Restart, Some(ToolVerbWire::Start)) => Verb::Start,
            (Self::Redeployment, _) => Verb::Deploy,
            (Self::PullRequest, _) => Verb::Create,
            (Self::Notification, _) => Verb::Send,
            (Self::Never, _) => Verb::Loosen,
        }
    }
}
