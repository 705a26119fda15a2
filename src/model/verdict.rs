//! What the guard says about a command.

/// The answer to one tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No objection. This is not approval: the client's own permissions still apply.
    Silent,
    /// The command must not run; one reason per rule that objects, the most important first.
    Deny(Vec<Reason>),
}

/// Why a command is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The rule that objects, e.g. `budget`, `tier`, `forbidden`.
    pub rule: &'static str,
    /// One or two sentences that name the thing and what to do instead.
    pub text: String,
}

/// An action whose target has been looked up in the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedAction {
    /// As it was read from the command.
    pub action: super::action::Action,
    /// The service it belongs to; `None` when it cannot be told.
    pub service: Option<String>,
    /// The host's name in the inventory, or as written when it is not listed; `None` is here.
    pub host: Option<String>,
}
