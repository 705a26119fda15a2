//! Budgets by service and kind of action, and what actions take from them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::budget::Usage;
use crate::model::rights::policy::{Budget, Policy};
use opsctl_reader::terms::action::{ActionKind, Verb};

/// The service name in the ledger of actions whose target service cannot be determined; `@HOST` follows for a remote
/// one.
pub const UNRESOLVED: &str = "unresolved";

/// The service name in the ledger of names that the inventory does not list, where these share a budget; `@HOST` follows
/// for a remote one. Where each has its own, its usage has an entry for each name that has used a budget.
pub const UNLISTED: &str = "unlisted";

/// A budget: a service and a kind of action.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "(String, String)")]
pub struct BudgetKey {
    /// The service, or [`UNRESOLVED`] and its host.
    pub service: String,
    /// `restart` or `redeployment`, by name so that keys sort as the ledger does.
    pub kind: &'static str,
}

impl BudgetKey {
    /// Its limit.
    pub fn budget<'a>(&self, policy: &'a Policy) -> &'a Budget {
        if self.kind == ActionKind::Redeployment.as_str() { &policy.redeployment } else { &policy.restart }
    }
}

impl From<BudgetKey> for (String, String) {
    fn from(key: BudgetKey) -> Self {
        (key.service, key.kind.to_owned())
    }
}

impl<'de> Deserialize<'de> for BudgetKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (service, kind) = <(String, String)>::deserialize(deserializer)?;
        let kinds = [ActionKind::Restart, ActionKind::Redeployment].map(ActionKind::as_str);
        let known = kinds.into_iter().find(|known| *known == kind);
        Ok(Self { service, kind: known.ok_or_else(|| D::Error::custom("not a kind of a budget"))? })
    }
}

/// The usage of budgets that a decision is based on.
pub type Snapshot = BTreeMap<BudgetKey, Usage>;

/// The budgets of a policy, and what is used of them at a time.
#[derive(Debug, Clone, Copy)]
pub struct Budgets<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The history of each budget.
    pub usage: &'a Snapshot,
    /// The time.
    pub now: DateTime<Utc>,
}

impl Budgets<'_> {
    /// The actions that count against a budget, newest first.
    pub fn counted(self, key: &BudgetKey) -> Vec<DateTime<Utc>> {
        let usage = self.usage.get(key);
        usage.map(|usage| usage.counted(key.budget(self.policy), self.now)).unwrap_or_default()
    }
}

/// What an action takes from a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// The budget.
    pub key: BudgetKey,
    /// The operation.
    pub verb: Verb,
    /// The host; `None` for this machine.
    pub host: Option<String>,
}

/// A part of a budget that is taken before the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The budget.
    pub key: BudgetKey,
    /// The operation.
    pub verb: Verb,
    /// The host; `None` for this machine.
    pub host: Option<String>,
    /// False for the start that closes a stop: it is recorded, not counted.
    pub counts: bool,
}
