//! The limits that `hosts.yaml` states.

use std::path::PathBuf;

use super::action::ActionKind;
use super::checks::Verification;
use super::message::{Contact, Modes};
use super::rules::Rules;
pub use super::tier::Tier;
pub use super::window::Window;

/// All limits of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Stops, starts and restarts per service.
    pub restart: Budget,
    /// Redeployments per service.
    pub redeployment: Budget,
    /// What happens to an action whose service cannot be told.
    pub unresolved: Unresolved,
    /// What happens to an action when the ledger cannot be read or written.
    pub on_failure: OnFailure,
    /// Rights and defaults of tiers 1, 2 and 3, in this order.
    pub tiers: [TierPolicy; 3],
    /// What a session has to prove that acted on services.
    pub verify: Verification,
    /// Rules about commands, files and tools, beside the defaults.
    pub rules: Rules,
    /// Whom the modes may write to.
    pub modes: Modes,
    /// The people and places that may be written to, or may not.
    pub contacts: Vec<Contact>,
}

impl Default for Policy {
    /// The limits of Claude Ops: 2 restarts in 4 h, 1 redeployment in 24 h.
    fn default() -> Self {
        Self {
            restart: Budget { limit: 2, window: Window::hours(4) },
            redeployment: Budget { limit: 1, window: Window::hours(24) },
            unresolved: Unresolved::Budget,
            on_failure: OnFailure::Open,
            tiers: Tier::ALL.map(TierPolicy::default_of),
            verify: Verification::default(),
            rules: Rules::default(),
            modes: Modes::default(),
            contacts: vec![],
        }
    }
}

impl Policy {
    /// The budget of a kind of action; `None` for kinds that are not counted.
    pub const fn budget(&self, kind: ActionKind) -> Option<&Budget> {
        match kind {
            ActionKind::Restart => Some(&self.restart),
            ActionKind::Redeployment => Some(&self.redeployment),
            ActionKind::PullRequest | ActionKind::Notification | ActionKind::Forbidden => None,
        }
    }

    /// The rights of a tier.
    pub fn tier(&self, tier: Tier) -> &TierPolicy {
        let [one, two, three] = &self.tiers;
        match tier {
            Tier::Observe => one,
            Tier::Remediate => two,
            Tier::Full => three,
        }
    }
}

/// So many actions in any window of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Actions allowed per window.
    pub limit: u32,
    /// The length of the sliding window.
    pub window: Window,
}

/// The fate of an action whose service cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unresolved {
    /// It counts against a budget shared by all such actions on its host.
    Budget,
    /// It runs uncounted.
    Allow,
    /// It is denied.
    Deny,
}

/// The fate of an action when the ledger fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// It runs, and the failure is reported.
    Open,
    /// It is denied.
    Closed,
}

/// What a tier may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierPolicy {
    /// The model that runs it.
    pub model: String,
    /// The client's tools that exist in its sessions.
    pub tools: Vec<String>,
    /// The kinds of action it may take.
    pub allow: Vec<ActionKind>,
    /// Beginnings of commands that it never runs, beside those that follow from `allow`.
    pub deny: Vec<String>,
    /// How long a session may run.
    pub deadline: Window,
    /// The file of its prompt, in the place of the rendered one.
    pub prompt: Option<PathBuf>,
}

impl TierPolicy {
    /// What a tier may do where `hosts.yaml` does not say otherwise.
    pub fn default_of(tier: Tier) -> Self {
        use ActionKind::{Notification, PullRequest, Redeployment, Restart};
        let (model, allow, minutes): (_, &[ActionKind], _) = match tier {
            Tier::Observe => ("haiku", &[], 30),
            Tier::Remediate => ("sonnet", &[Restart, PullRequest, Notification], 45),
            Tier::Full => ("opus", &[Restart, Redeployment, PullRequest, Notification], 60),
        };
        let looking = ["Bash", "Read", "Grep", "Glob", "Task"];
        let changing: &[&str] = if tier == Tier::Observe { &[] } else { &["Write", "Edit", "WebFetch"] };
        Self {
            model: model.to_owned(),
            tools: looking.iter().chain(changing).map(|tool| (*tool).to_owned()).collect(),
            allow: allow.to_vec(),
            deny: vec![],
            deadline: Window::minutes(minutes),
            prompt: None,
        }
    }
}

/// Whether this can be the name of a model: an alias, a full name, that of a cloud provider, a size of
/// context (`opus`, `sonnet[1m]`, `eu.anthropic.claude-x:0`). It is an argument of the client's, so never
/// an option.
pub fn is_model(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 256
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-:@/[]".contains(c))
}
