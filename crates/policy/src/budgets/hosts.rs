//! Budgets of all services of a host together.

use chrono::{DateTime, Utc};

use super::budget::{fit, wanted_in_words};
use super::keys::{BudgetKey, Budgets, Reservation, UNLISTED, UNRESOLVED};
use crate::model::records::verdict::Reason;
use crate::model::rights::ask::Topic;
use crate::model::rights::policy::{Budget, HostBudget, Policy};
use opsctl_reader::terms::action::ActionKind;

/// The rule that denies actions by the budget of a host. Grants, which are of a service, do not lift it.
pub const RULE: &str = "host_budget";

impl HostBudget {
    /// Its budgets with the kinds of action.
    pub fn budgets(&self) -> impl Iterator<Item = (&'static str, &Budget)> {
        let restart = self.restart.as_ref().map(|budget| (ActionKind::Restart.as_str(), budget));
        let redeployment =
            self.redeployment.as_ref().map(|budget| (ActionKind::Redeployment.as_str(), budget));
        [restart, redeployment].into_iter().flatten()
    }

    /// The names under which actions on it are counted: its services, and targets there that are not listed or cannot be determined.
    fn names(&self) -> impl Iterator<Item = String> {
        let others = [UNLISTED, UNRESOLVED].map(|name| format!("{name}@{}", self.host));
        self.services.iter().cloned().chain(others)
    }

    /// Whether it counts actions of this budget: of one of its services, or of a target that is named on it.
    pub fn counts(&self, key: &BudgetKey, kind: &str) -> bool {
        let is_there = |name: &str| name.rsplit_once('@').is_some_and(|(_, host)| host == self.host);
        key.kind == kind && (self.services.contains(&key.service) || is_there(&key.service))
    }

    /// The actions of a kind that count against this budget of it, newest first.
    pub fn counted(&self, kind: &str, budget: &Budget, budgets: Budgets<'_>) -> Vec<DateTime<Utc>> {
        let own = budgets.usage.iter().filter(|(key, _)| self.counts(key, kind));
        let mut counted: Vec<_> = own.flat_map(|(_, usage)| usage.counted(budget, budgets.now)).collect();
        counted.sort_unstable_by(|a, b| b.cmp(a));
        counted
    }
}

/// The keys that the budgets of the hosts of these keys count, too.
pub fn keys_beside(keys: &[BudgetKey], policy: &Policy) -> Vec<BudgetKey> {
    let mut beside = Vec::new();
    for host in &policy.host_budgets {
        for (kind, _) in host.budgets() {
            if keys.iter().any(|key| host.counts(key, kind)) {
                beside.extend(host.names().map(|service| BudgetKey { service, kind }));
            }
        }
    }
    beside
}

/// The denials of used-up budgets of hosts.
pub fn objections(reservations: &[Reservation], budgets: Budgets<'_>) -> Vec<Reason> {
    let objection = |host: &HostBudget, kind, budget: &Budget| {
        let is_own = |wanted: &&Reservation| wanted.counts && host.counts(&wanted.key, kind);
        let wanted = u32::try_from(reservations.iter().filter(is_own).count()).unwrap_or(u32::MAX);
        let counted = host.counted(kind, budget, budgets);
        let Budget { limit, window, .. } = budget;
        let when = fit(&counted, budget, wanted).denial(*limit).filter(|_| wanted > 0)?;
        let (used, name, more) = (counted.len(), &host.host, wanted_in_words(wanted));
        let text = format!(
            "Cooldown limit exceeded for the services of host {name} together: {used}/{limit} {kind}s in last {window}{more}. {when}"
        );
        Some(Reason { rule: RULE, topic: Some(Topic::Budget), text })
    };
    let of_host =
        |host| HostBudget::budgets(host).filter_map(move |(kind, budget)| objection(host, kind, budget));
    budgets.policy.host_budgets.iter().flat_map(of_host).collect()
}
