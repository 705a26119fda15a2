//! Compares what ran with what the guard says.

use crate::generator::{Class, Snippet};
use crate::real::Tiers;

/// The most restarts of one service that the policy allows within its window.
const BUDGET: usize = 2;

/// A difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// It acted, and was allowed at tier 1 or taken for a lookup.
    Missed,
    /// An action names a service that nothing acted on.
    WrongService,
    /// Fewer actions are reported than ran.
    Fewer,
    /// It acted, and neither an action nor a complaint is reported.
    Silent,
    /// A constant command acted, and no action is reported.
    NoAction,
    /// What is within the budget was denied at tier 2.
    FalseDenial,
    /// What only reads was denied at tier 1.
    ReadDenied,
}

impl Failure {
    pub const ALL: [Self; 7] = [
        Self::Missed,
        Self::WrongService,
        Self::Fewer,
        Self::Silent,
        Self::NoAction,
        Self::FalseDenial,
        Self::ReadDenied,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Self::Missed => "acted and were allowed at tier 1 or read as lookups (0)",
            Self::WrongService => "charged to a wrong service (0)",
            Self::Fewer => "counted as fewer than ran (0)",
            Self::Silent => "acted without an action and a complaint (0)",
            Self::NoAction => "constant commands without an action (at most 5 %)",
            Self::FalseDenial => "within the budget and denied at tier 2 (at most 3 %)",
            Self::ReadDenied => "only read and denied at tier 1 (at most 20 %)",
        }
    }

    pub fn is_unsound(self) -> bool {
        matches!(self, Self::Missed | Self::WrongService | Self::Fewer | Self::Silent)
    }
}

/// The judgement of one snippet.
pub struct Judged {
    pub is_within_budget: bool,
    pub failures: Vec<Failure>,
}

/// Compares the services that a snippet acted on with the answers of the guard.
pub fn judge(snippet: &Snippet, ran: &[String], tiers: &Tiers) -> Judged {
    let mut failures = Vec::new();
    let [is_allowed_at_1, is_allowed_at_2] = tiers.is_allowed;
    if ran.is_empty() {
        if snippet.class == Class::Reading && !is_allowed_at_1 {
            failures.push(Failure::ReadDenied);
        }
        return Judged { is_within_budget: false, failures };
    }
    let is_constant = matches!(snippet.class, Class::Constant | Class::Stated);
    if is_allowed_at_1 || tiers.is_read {
        failures.push(Failure::Missed);
    }
    let named = tiers.actions.iter().filter_map(|(service, _)| service.as_ref());
    if named.clone().any(|service| !ran.contains(service)) {
        failures.push(Failure::WrongService);
    }
    let is_open = tiers.actions.iter().any(|(service, _)| service.is_none());
    let is_fewer = |service: &String| {
        let repeats = tiers.actions.iter().any(|(own, repeats)| *repeats && own.as_ref() == Some(service));
        let count = named.clone().filter(|own| *own == service).count();
        !repeats && !is_open && count < ran.iter().filter(|own| *own == service).count()
    };
    // What a complaint and a denial stand for is not counted.
    if is_allowed_at_2 && !tiers.actions.is_empty() && ran.iter().any(is_fewer) {
        failures.push(Failure::Fewer);
    }
    if tiers.actions.is_empty() {
        if !tiers.complains {
            failures.push(Failure::Silent);
        }
        if is_constant {
            failures.push(Failure::NoAction);
        }
    }
    let most = ran.iter().map(|service| ran.iter().filter(|own| *own == service).count()).max();
    let is_within_budget = is_constant && most.is_some_and(|most| most <= BUDGET);
    if is_within_budget && !is_allowed_at_2 {
        failures.push(Failure::FalseDenial);
    }
    Judged { is_within_budget, failures }
}
