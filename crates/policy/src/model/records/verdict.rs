//! The guard's verdict on a tool call.

use crate::model::rights::ask::Topic;

/// The verdict on a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Allowed by opsctl. The client's own permissions still apply.
    Silent,
    /// Denied, with one reason per rule, most important first.
    Deny(Vec<Reason>),
    /// Allowed although rules object to it: the policy only watches them.
    Watched(Vec<Reason>),
    /// Not allowed until a person has approved it; with the objections that the person is asked about.
    Ask(Asked),
}

/// A question about a call, as the client gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The number of the question; `None` for one that is not stored.
    pub question: Option<i64>,
    /// Whether the client asks the person at the terminal; otherwise it ends the session until there is an answer.
    pub at_terminal: bool,
    /// The objections.
    pub reasons: Vec<Reason>,
}

/// The names of the rules.
pub use crate::lists::RULES;

/// The reason for a denial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The rule, e.g. `budget`, `tier`, `forbidden`.
    pub rule: &'static str,
    /// What a person may be asked about; `None` for an objection that no person can lift.
    pub topic: Option<Topic>,
    /// One or two sentences with the cause and what to do instead.
    pub text: String,
}

impl Reason {
    /// The reason of a rule whose objections no person can lift.
    pub const fn of(rule: &'static str, text: String) -> Self {
        Self { rule, topic: None, text }
    }
}

/// The maximum number of reasons in a text; further ones are counted.
const MOST_REASONS: usize = 12;

/// The texts of reasons, a line each.
pub fn in_lines(reasons: &[Reason]) -> String {
    let mut lines: Vec<&str> = reasons.iter().take(MOST_REASONS).map(|reason| reason.text.as_str()).collect();
    let more = reasons.len().saturating_sub(MOST_REASONS);
    let rest = format!("There are {more} more objections; `opsctl explain` lists them.");
    lines.extend((more > 0).then_some(rest.as_str()));
    lines.join("\n")
}

/// These reasons, each once.
pub fn each_once(reasons: impl IntoIterator<Item = Reason>) -> Vec<Reason> {
    let mut found: Vec<Reason> = Vec::new();
    for reason in reasons {
        if !found.contains(&reason) {
            found.push(reason);
        }
    }
    found
}

/// An action on one service, with service and host from the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedAction {
    /// The action as parsed from the command.
    pub action: opsctl_reader::terms::action::Action,
    /// The target service; `None` if it cannot be determined.
    pub service: Option<String>,
    /// The host's name in the inventory, or as written if it is not listed; `None` for this machine.
    pub host: Option<String>,
    /// Whether `hosts.yaml` lists the service.
    pub listed: bool,
    /// Why the service cannot be determined, or which listed name is similar; one sentence.
    pub note: Option<String>,
}
