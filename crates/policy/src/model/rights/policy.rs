//! The policy section of `hosts.yaml`.

use std::path::PathBuf;

use chrono::NaiveTime;
use serde::{Deserialize, Serialize};

use super::ask::Ask;
use super::monitor::Monitor;
use super::public_key::PublicKey;
use super::rules::Rules;
use super::spend::SpendPolicy;
pub use super::tier::Tier;
pub use super::window::Window;
use crate::lists::PROJECT_DOWN;
use crate::model::installation::checks::Verification;
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;
use opsctl_reader::terms::message::{Contact, Modes};

/// How many names that `hosts.yaml` does not list may have a budget of their own at a time: a session that invents names shall
/// not invent budgets without end.
pub const MOST_UNLISTED: usize = 1000;

/// The policy of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The budget for stops, starts and restarts per service.
    pub restart: Budget,
    /// The budget for redeployments per service.
    pub redeployment: Budget,
    /// The budgets of hosts, in addition to those of their services.
    pub host_budgets: Vec<HostBudget>,
    /// How actions are handled whose target service cannot be determined.
    pub unresolved: Unresolved,
    /// How names are handled that `hosts.yaml` does not list.
    pub unlisted: Unlisted,
    /// With [`Unlisted::Own`], this many names may have used a budget in the longest window: those of `hosts.yaml`, and
    /// [`MOST_UNLISTED`] others.
    pub most_names: usize,
    /// Which engines are asked what a container ID names.
    pub resolve: Resolve,
    /// Hosts that commands may change.
    pub hosts: HostsAllowed,
    /// How actions are handled if the ledger cannot be read or written.
    pub on_failure: OnFailure,
    /// Whether secrets in the output of tools are replaced before the model reads them.
    pub redact_output: bool,
    /// The tier of sessions for which nothing else states one.
    pub tier: Option<Tier>,
    /// The rights of tiers 1, 2 and 3, in this order.
    pub tiers: [TierPolicy; 3],
    /// The verification before a session ends.
    pub verify: Verification,
    /// Rules about commands, files and tools, in addition to the defaults.
    #[serde(skip)]
    pub rules: Rules,
    /// The recipients that each mode may write to.
    pub modes: Modes,
    /// The contacts.
    pub contacts: Vec<Contact>,
    /// The local time of day of the daily digest; `None`: there is none.
    pub digest: Option<NaiveTime>,
    /// What persons are asked about instead of denying it.
    pub ask: Vec<Ask>,
    /// The public key of the answers of persons; without it, no answer is accepted.
    pub approval_key: Option<PublicKey>,
    /// The spending limits.
    pub spend: SpendPolicy,
    /// How long an agent that acts on a service excludes all others from it; `None`: agents do not exclude each other.
    pub exclusive: Option<Window>,
    /// What is only watched.
    pub monitor: Monitor,
    /// How long logs of sessions and copies of hand-overs are kept.
    pub keep: Window,
    /// Their maximum size together, in MiB.
    pub keep_mib: u32,
}

impl Default for Policy {
    /// The limits of Claude Ops: 2 restarts in 4 h, 1 redeployment in 24 h.
    fn default() -> Self {
        Self {
            restart: Budget { limit: 2, window: Window::hours(4), per: Per::Service },
            redeployment: Budget { limit: 1, window: Window::hours(24), per: Per::Service },
            host_budgets: vec![],
            unresolved: Unresolved::Budget,
            unlisted: Unlisted::Own,
            most_names: MOST_UNLISTED,
            resolve: Resolve::default(),
            hosts: HostsAllowed::Inventory,
            on_failure: OnFailure::Open,
            redact_output: true,
            tier: None,
            tiers: Tier::ALL.map(TierPolicy::default_of),
            verify: Verification::default(),
            rules: Rules::default(),
            modes: Modes::default(),
            contacts: vec![],
            digest: None,
            ask: vec![],
            approval_key: None,
            spend: SpendPolicy::default(),
            exclusive: None,
            monitor: Monitor::default(),
            keep: Window::hours(90 * 24),
            keep_mib: 1024,
        }
    }
}

impl Policy {
    /// The budget for a kind of action; `None` for kinds without one.
    pub const fn budget(&self, kind: ActionKind) -> Option<&Budget> {
        match kind {
            ActionKind::Restart => Some(&self.restart),
            ActionKind::Redeployment => Some(&self.redeployment),
            ActionKind::PullRequest | ActionKind::Notification | ActionKind::Forbidden => None,
        }
    }

    /// The longest window of a budget.
    pub fn longest_window(&self) -> Window {
        let restart = self.window_of(ActionKind::Restart.as_str());
        restart.max(self.window_of(ActionKind::Redeployment.as_str()))
    }

    /// The longest window of a budget for this kind of action, of services or hosts.
    pub fn window_of(&self, kind: &str) -> Window {
        let is_restart = kind == ActionKind::Restart.as_str();
        let own = if is_restart { &self.restart } else { &self.redeployment };
        let of_host = |host: &HostBudget| if is_restart { host.restart } else { host.redeployment };
        let windows = self.host_budgets.iter().filter_map(of_host).map(|budget| budget.window);
        windows.fold(own.window, Window::max)
    }

    /// The highest limit of a budget, of services or hosts.
    pub fn highest_limit(&self) -> u32 {
        let of_hosts = self.host_budgets.iter().flat_map(|host| [host.restart, host.redeployment]).flatten();
        of_hosts.map(|budget| budget.limit).fold(self.restart.limit.max(self.redeployment.limit), u32::max)
    }

    /// The rights of a tier.
    pub fn tier(&self, tier: Tier) -> &TierPolicy {
        tier.of(&self.tiers)
    }
}

/// At most this many actions within one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The number of actions that are allowed per window.
    pub limit: u32,
    /// The length of the sliding window.
    pub window: Window,
    /// Whose actions count.
    pub per: Per,
}

/// The budgets of all services of a host together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostBudget {
    /// The host.
    pub host: String,
    /// Its services.
    pub services: Vec<String>,
    /// The budget for stops, starts and restarts.
    pub restart: Option<Budget>,
    /// The budget for redeployments.
    pub redeployment: Option<Budget>,
}

/// Whose actions count against a budget, where several agents share a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Those of all agents.
    #[default]
    Service,
    /// Those of the agent that acts, and those whose agent is unknown.
    Agent,
}

/// How actions are handled whose target service cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unresolved {
    /// They count against a budget that all such actions on a host share.
    Budget,
    /// They are allowed and not counted.
    Allow,
    /// They are denied.
    Deny,
}

/// How actions are handled on a name that the inventory does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unlisted {
    /// Each name has a budget of its own.
    Own,
    /// They count against a budget that all such names on a host share.
    Shared,
    /// They are denied.
    Deny,
}

/// The engines that are asked what a container ID names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolve {
    /// Those of this machine.
    pub local: bool,
    /// Those of the hosts of the inventory, through ssh.
    pub ssh: bool,
}

impl Default for Resolve {
    fn default() -> Self {
        Self { local: true, ssh: false }
    }
}

/// Hosts that commands of a session with a tier may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostsAllowed {
    /// Those that the inventory lists; every host if it lists none.
    #[default]
    Inventory,
    /// Every host.
    Any,
}

/// How actions are handled if the ledger or the hook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Fails open: they are allowed, and the failure is reported.
    Open,
    /// Fails closed: they are denied.
    Closed,
}

/// The rights of a tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierPolicy {
    /// The model of its sessions.
    pub model: String,
    /// The client's tools that are enabled in its sessions.
    pub tools: Vec<String>,
    /// The kinds of action that are allowed.
    pub allow: Vec<ActionKind>,
    /// The effects that are allowed for commands that carry out no action.
    pub effects: Vec<Effect>,
    /// Prefixes of denied commands, in addition to those that follow from `allow`.
    pub deny: Vec<String>,
    /// The maximum duration of a session.
    pub deadline: Window,
    /// A prompt file that replaces the rendered prompt.
    pub prompt: Option<PathBuf>,
    /// Whether its sessions end with a structured result, which may contain a hand-over.
    pub structured_result: bool,
    /// Whether its sessions are only watched: the client denies nothing for opsctl.
    #[serde(default)]
    pub is_watched: bool,
}

impl TierPolicy {
    /// The default effects of a tier with an inventory: what is not understood does not run.
    pub fn understood_effects(tier: Tier) -> Vec<Effect> {
        Self::default_effects(tier).into_iter().filter(|effect| *effect != Effect::Unknown).collect()
    }

    /// The default effects of a tier without an inventory: tier 1 only reads.
    pub fn default_effects(tier: Tier) -> Vec<Effect> {
        match tier {
            Tier::Observe => vec![Effect::Reads],
            Tier::Remediate | Tier::Full => vec![Effect::Reads, Effect::Changes, Effect::Unknown],
        }
    }

    /// Prefixes of commands that a tier never runs by default: tier 2 restarts a project, and does not take it down.
    pub fn default_deny(tier: Tier) -> Vec<String> {
        let denied: &[&str] = if tier == Tier::Remediate { &PROJECT_DOWN } else { &[] };
        denied.iter().map(|prefix| (*prefix).to_owned()).collect()
    }

    /// The default rights of a tier.
    pub fn default_of(tier: Tier) -> Self {
        use ActionKind::{Notification, PullRequest, Redeployment, Restart};
        let (model, allow, minutes): (_, &[ActionKind], _) = match tier {
            Tier::Observe => ("haiku", &[], 30),
            Tier::Remediate => ("sonnet", &[Restart, PullRequest, Notification], 45),
            Tier::Full => ("opus", &[Restart, Redeployment, PullRequest, Notification], 60),
        };
        let looking = ["Bash", "Read", "Grep", "Glob", "Task", "WebFetch", "WebSearch"];
        let changing: &[&str] = if tier == Tier::Observe { &[] } else { &["Write", "Edit"] };
        Self {
            model: model.to_owned(),
            tools: looking.iter().chain(changing).map(|tool| (*tool).to_owned()).collect(),
            allow: allow.to_vec(),
            effects: Self::default_effects(tier),
            deny: Self::default_deny(tier),
            deadline: Window::minutes(minutes),
            prompt: None,
            structured_result: false,
            is_watched: false,
        }
    }
}

/// Whether this is a valid model name: an alias, a full name, or a name of a cloud provider, with an optional context
/// size (`opus`, `sonnet[1m]`, `eu.anthropic.claude-x:0`). It becomes an argument of the client, so it must not look like
/// an option.
pub fn is_model(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 256
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-:@/[]".contains(c))
}
