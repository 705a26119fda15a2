//! The guard's verdict on a tool call.

/// The verdict on a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Allowed by opsctl. The client's own permissions still apply.
    Silent,
    /// Denied, with one reason per rule, most important first.
    Deny(Vec<Reason>),
}

/// The names of the rules.
pub const RULES: [&str; 14] = [
    "budget",
    "dry_run",
    "effect",
    "forbidden",
    "hosts",
    "mode",
    "never",
    "on_failure",
    "protect",
    "repeats",
    "secret",
    "tier",
    "unlisted",
    "unresolved",
];

/// The reason for a denial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The rule, e.g. `budget`, `tier`, `forbidden`.
    pub rule: &'static str,
    /// One or two sentences with the cause and what to do instead.
    pub text: String,
}

/// An action on one service, with service and host from the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedAction {
    /// The action as parsed from the command.
    pub action: super::action::Action,
    /// The target service; `None` if it cannot be determined.
    pub service: Option<String>,
    /// The host's name in the inventory, or as written if it is not listed; `None` for this machine.
    pub host: Option<String>,
    /// Whether `hosts.yaml` lists the service.
    pub listed: bool,
    /// Why the service cannot be determined, or which listed name is similar; one sentence.
    pub note: Option<String>,
}
