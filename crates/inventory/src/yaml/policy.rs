//! The shape of `policy`: budgets, tiers, and the keys of the rules.

use crate::spanned::Spanned;
use chrono::NaiveTime;
use serde::{Deserialize, Deserializer};

use super::forms::{Entries, NumberOrMap, OneOrMore, TextOrMap, TierOrNone};
use super::rules::{NeverWire, PathRuleWire, ToolRuleWire};
use super::spend::SpendWire;
use super::values::{DataFolder, Model, Prompt, Text, Tool};
use opsctl_policy::model::installation::checks::Verification;
use opsctl_policy::model::rights::gate::Gate;
use opsctl_policy::model::rights::policy::{
    HostsAllowed, OnFailure, Per, Tier, Unlisted, Unresolved, Window,
};
use opsctl_policy::model::rights::public_key::PublicKey;
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;
use opsctl_reader::terms::message::Modes;

/// Budgets, tiers and rules. A missing key keeps its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyWire {
    /// Budget of stops, starts and restarts, per service. Default: 2 in `4h`.
    pub restart: Option<BudgetWire>,
    /// Budget of redeployments with playbooks and charts, per service. Default: 1 in `24h`.
    pub redeployment: Option<BudgetWire>,
    /// How long an agent excludes all others from a service after each of its actions on it, where several agents share a ledger; see [fleet.md](fleet.md#one-agent-at-a-time). Default: agents do not exclude each other.
    pub exclusive: Option<Window>,
    /// An action whose target service cannot be determined is counted against a separate budget (`budget`), allowed (`allow`) or denied (`deny`). Default: `budget`.
    pub unresolved: Option<Unresolved>,
    /// A name that no service lists has a budget of its own (`own`), shares one with all such names on its host (`shared`), or is denied (`deny`). Default: `own`.
    pub unlisted: Option<Unlisted>,
    /// Container engines that are asked which container an ID names: those of this machine (`local`) and those of `hosts`, through their `ssh` destination (`ssh`). An ID that is not resolved follows `unresolved`. Default: `[local]`.
    pub resolve: Option<Vec<ResolveWire>>,
    /// Hosts that commands of a session with a tier may change: those of `hosts` (`inventory`) or all (`any`). Reading is allowed on every host. Default: `inventory`, and `any` where `hosts` lists none.
    pub hosts: Option<HostsAllowed>,
    /// While the ledger, the database of past actions, cannot be used, an action is allowed and reported (`open`) or denied (`closed`), as is every tool call that opsctl cannot read, or for which it is missing or crashes. Gates deny an action while others have locked the ledger. Default: `open`, with a warning of `opsctl doctor`.
    pub on_failure: Option<OnFailure>,
    /// Whether secrets in the output of tools are replaced with `[redacted]` before the model reads them; see [policy.md](policy.md#secrets-in-the-output-of-tools). Default: `true`.
    pub redact_output: Option<bool>,
    /// Tier of sessions for which nothing else states one. `CLAUDEOPS_TIER` and `opsctl render --tier` override it. Default: none, so budgets and rules apply, but the limits of no tier.
    pub tier: Option<TierOrNone>,
    /// Rights of the tiers `1`, `2` and `3`.
    pub tiers: Option<Entries<TierWire>>,
    /// Verification of services before a session ends; see [verify.md](verify.md).
    pub verify: Verification,
    /// Commands that are always denied, by the name of a class, of a default rule, or of a rule of its own; see [policy.md](policy.md).
    pub never: Option<Entries<TextOrMap<NeverWire>>>,
    /// Data folders that no command may remove, with everything below them, in addition to the defaults. Globs are allowed.
    pub data: Option<Vec<Text<DataFolder>>>,
    /// Globs of files that the agent must not write, in addition to the defaults.
    pub protect: Option<Vec<Spanned<TextOrMap<PathRuleWire>>>>,
    /// Globs of files that the agent must not read, in addition to the defaults.
    pub secret: Option<Vec<Spanned<TextOrMap<PathRuleWire>>>>,
    /// Actions of MCP tools, by tool name (`mcp__SERVER__TOOL`). They count against budgets.
    pub tools: Option<Entries<ToolRuleWire>>,
    /// Recipients that sessions may write to, by session mode.
    pub modes: Modes,
    /// URL prefixes of webhooks that deliver messages, in addition to those of common chat services and of `contacts`.
    pub webhooks: Option<Vec<Spanned<String>>>,
    /// Time of day of the daily digest, from `00:00` to `23:59` in the container's local time (`TZ`); see [notifications.md](notifications.md#the-daily-digest). Default: no digest.
    #[serde(deserialize_with = "time_of_day")]
    pub digest: Option<NaiveTime>,
    /// What a person is asked about instead of denying it: `budget` (a used-up budget), `exclusive` (a service that another agent is remediating), `tier` (a tier that is too low), `changes` and `unknown` (effects that the tier does not allow), and names of always-denied commands; see [questions.md](questions.md). A call is asked about only if everything that it is denied for is listed. Needs `approval_key`. Default: nothing.
    pub ask: Option<Vec<Spanned<TextOrMap<AskWire>>>>,
    /// Public key of the answers to questions, as `opsctl key` prints it: `ed25519:` and 32 bytes in base64. Without it, no answer and no grant is accepted.
    pub approval_key: Option<PublicKey>,
    /// With `monitor`, nothing is denied: what would be is recorded as `would deny`, and counts; see [monitor.md](monitor.md). Default: `enforce`.
    pub mode: Option<PolicyMode>,
    /// What is only watched with `mode: enforce`.
    pub monitor: Option<MonitorWire>,
    /// How long rows of a ledger in a file are kept, at least for the longest window of a budget, and logs of sessions and copies of hand-overs in the results folder. Default: `90d`.
    pub keep: Option<Window>,
    /// The maximum size of these logs and copies together, in MiB; the oldest are removed first. Default: 1024.
    pub keep_mib: Option<u32>,
    /// Limits on spending for requests to the model: a map, or the maximum within any 24 hours, in US dollars. Default: no limit.
    pub spend: Option<NumberOrMap<SpendWire>>,
}

/// A time of day, such as `08:00`.
fn time_of_day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NaiveTime>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let problem = "is not a time of day; write one such as `08:00` or `21:30`";
    NaiveTime::parse_from_str(&text, "%H:%M").map(Some).map_err(|_| serde::de::Error::custom(problem))
}

/// Whether denials are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyMode {
    Enforce,
    Monitor,
}

/// What is only watched: a denial is recorded as `would deny`, and the call runs. A call with several objections runs only if all are watched.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MonitorWire {
    /// Names of rules (`budget`, `tier`, `effect`, `secret`, …), of classes and of always-denied commands; `changes` and `unknown` are effects that a tier does not allow.
    pub rules: Vec<Spanned<String>>,
    /// Budgets: `restart`, `redeployment`.
    pub budgets: Vec<ActionKind>,
    /// Sessions of these tiers.
    pub tiers: Vec<Tier>,
    /// Calls that concern only these hosts.
    pub hosts: Vec<Spanned<String>>,
    /// Requests to these gates: `ssh`, `engine`, `kubernetes`, `host`; see [gates.md](gates.md).
    pub gates: Vec<Gate>,
}

/// Container engines that are asked which container an ID names.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolveWire {
    Local,
    Ssh,
}

/// A kind of denial that a person is asked about. Plain text sets only `about`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskWire {
    /// What is asked: `budget`, `exclusive`, `tier`, `changes`, `unknown`, or the name of a rule about always-denied commands.
    pub about: Spanned<String>,
    /// Tags of the notification targets that get the question, in addition to `question` and the service.
    pub contact: Option<Spanned<OneOrMore>>,
    /// How long the question stays open. Without an answer, the call is denied then. Default: `30m`.
    pub timeout: Option<Window>,
    /// Maximum number of questions of one session within `window`. Default: 4.
    pub limit: Option<u32>,
    /// Maximum number of questions of all sessions within `window`. Default: 12.
    pub total: Option<u32>,
    /// Window of `limit` and `total`. Default: `1h`.
    pub window: Option<Window>,
}

/// A limit on actions within a sliding window. A missing key keeps its default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetWire {
    /// Maximum number of actions within one window. `0` denies every action.
    pub limit: Option<u32>,
    /// Length of the sliding window.
    pub window: Option<Window>,
    /// Where several agents share a ledger, the budget of a service counts the actions of all agents (`service`), or each agent has a budget of its own for it (`agent`); see [fleet.md](fleet.md#a-budget-for-each-agent). Default: `service`.
    pub per: Option<Per>,
}

/// A limit on the actions on all services of a host together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostBudgetWire {
    /// Maximum number of actions within one window; an action on several services counts for each. `0` denies every action.
    pub limit: u32,
    /// Length of the sliding window. Default: that of the budget of a service in `policy`.
    pub window: Option<Window>,
}

/// Rights of a tier. A missing key keeps its default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierWire {
    /// Model of the session. Defaults of tiers 1, 2 and 3: `haiku`, `sonnet`, `opus`.
    pub model: Option<Text<Model>>,
    /// Tools of the client that are available; tools of MCP servers as `mcp__SERVER` or `mcp__SERVER__TOOL`.
    pub tools: Option<Vec<Text<Tool>>>,
    /// Kinds of action that are allowed.
    pub allow: Option<Vec<ActionKind>>,
    /// What commands may do where they carry out no action: `reads`, `changes` (known to change something), `unknown` (not proved to read). Default: `[reads]` at tier 1, `[reads, changes]` at tiers 2 and 3.
    pub effects: Option<Vec<Effect>>,
    /// Command prefixes that are denied, in addition to those that follow from `allow` and, at tier 2, to `docker compose down` under all its names.
    #[serde(default)]
    pub deny: Vec<Spanned<String>>,
    /// Maximum duration of a session. Defaults of tiers 1, 2 and 3: `30m`, `45m`, `1h`.
    pub deadline: Option<Window>,
    /// Prompt file that replaces the rendered one.
    pub prompt: Option<Text<Prompt>>,
    /// Whether a session of `opsctl session` ends with a structured result (`--json-schema` of the client), which may contain a hand-over. Only for a tier with effects `[reads]` and without `allow`. Default: `false`.
    pub structured_result: Option<Spanned<bool>>,
}
