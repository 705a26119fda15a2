//! The shape of the rules about commands, files and MCP tools.

use crate::spanned::Spanned;
use serde::Deserialize;

use super::forms::OneOrMore;
use opsctl_policy::model::rights::rules::Where;
use opsctl_policy::model::rights::tier::Tier;
use opsctl_reader::terms::effect::Effect;
use opsctl_reader::terms::verb::Verb;

/// A command that is always denied, or a default rule that is disabled.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeverWire {
    /// Name of the rule. A rule with the name of a default rule replaces it.
    pub name: Spanned<String>,
    /// Whether the default rule with this name is disabled. Default: `false`.
    #[serde(default)]
    pub off: bool,
    /// Patterns of the denied commands. Required, unless `off` is `true`.
    pub argv: Option<Spanned<OneOrMore>>,
    /// Why the command is denied and what to do instead; the agent reads it. Required, unless `off` is `true`.
    pub reason: Option<Spanned<String>>,
    /// Machines that the rule applies to: the agent's own (`local`), other hosts (`remote`) or `any`. Default: `any`.
    #[serde(rename = "where")]
    pub scope: Option<Where>,
    /// Tiers that the rule applies to. Default: all tiers, and sessions without a tier.
    #[serde(default)]
    pub tiers: Vec<Tier>,
    /// Examples that the rule must deny, checked when the file is loaded. Required, unless `off` is `true`.
    #[serde(default)]
    pub matches: Vec<Spanned<String>>,
    /// Examples that the rule must not deny, checked when the file is loaded.
    #[serde(default)]
    pub differs: Vec<Spanned<String>>,
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
