//! Budgets of all services of a host together.

use chrono::{DateTime, Utc};

use super::budget::{Fit, fit};
use super::keys::{BudgetKey, Reservation, Snapshot, UNLISTED, UNRESOLVED};
use crate::model::display::relative_time::timestamp;
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

    /// The actions of a kind that count at `now` against this budget of it, newest first.
    pub fn counted(
        &self,
        kind: &str,
        budget: &Budget,
        snapshot: &Snapshot,
        now: DateTime<Utc>,
    ) -> Vec<DateTime<Utc>> {
        let own = snapshot.iter().filter(|(key, _)| self.counts(key, kind));
        let mut counted: Vec<DateTime<Utc>> = own.flat_map(|(_, usage)| usage.counted(budget, now)).collect();
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
pub fn objections(
    reservations: &[Reservation],
    snapshot: &Snapshot,
    policy: &Policy,
    now: DateTime<Utc>,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for host in &policy.host_budgets {
        for (kind, budget) in host.budgets() {
            let is_own = |wanted: &&Reservation| wanted.counts && host.counts(&wanted.key, kind);
            let wanted = reservations.iter().filter(is_own).count();
            if wanted == 0 {
                continue;
            }
            let counted = host.counted(kind, budget, snapshot, now);
            let Budget { limit, window, .. } = budget;
            let when = match fit(&counted, budget, u32::try_from(wanted).unwrap_or(u32::MAX)) {
                Fit::Fits => continue,
                Fit::From(time) => format!("Next allowed at {}.", timestamp(time)),
                Fit::Never if *limit == 0 => "The limit is 0: no action is allowed.".to_owned(),
                Fit::Never => "The command alone exceeds the limit.".to_owned(),
            };
            let (used, name) = (counted.len(), &host.host);
            let more =
                if wanted > 1 { format!(", and this command contains {wanted} more") } else { String::new() };
            let text = format!(
                "Cooldown limit exceeded for the services of host {name} together: {used}/{limit} {kind}s in last {window}{more}. {when}"
            );
            reasons.push(Reason { rule: RULE, topic: Some(Topic::Budget), text });
        }
    }
    reasons
}
