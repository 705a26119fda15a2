//! Whether the services that a session acted on are healthy.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use opsctl_inventory::Installation;
use opsctl_ledger::cooldown::cooldown_edit::Edit;
use opsctl_ledger::records::history::ActionRecord;
use opsctl_ledger::{Change, Checker, LedgerError, SessionActions, Streak};
use opsctl_policy::decide::{BudgetKey, Snapshot};
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::rights::policy::Window;
use opsctl_policy::texts::notices::Repair;
use opsctl_policy::texts::report::past_of;
use opsctl_probe::health::{self, Report, Subject};

/// The services that a session acted on, each with the rest of its grace period, which starts at the last action.
pub fn of_session(
    remedies: &SessionActions,
    installation: &Installation,
    grace: Window,
    now: DateTime<Utc>,
) -> Vec<Subject> {
    // By their names in the inventory: an action recorded under a container's name belongs to its service.
    let mut services: BTreeMap<String, DateTime<Utc>> = BTreeMap::new();
    for (service, at) in &remedies.services {
        let last = services.entry(installation.inventory.service_named(service)).or_insert(*at);
        *last = (*last).max(*at);
    }
    let left = |at: DateTime<Utc>| (grace.delta() - (now - at).abs()).to_std().unwrap_or_default();
    services.into_iter().map(|(service, at)| subject(service, &installation.inventory, left(at))).collect()
}

/// A service with all checks that the inventory defines for it.
pub fn subject(service: String, inventory: &Inventory, grace: Duration) -> Subject {
    let listed = inventory.services.iter().find(|listed| listed.name == service);
    let checks = listed.map(|listed| health::plan(listed, inventory)).unwrap_or_default();
    Subject { service, checks, grace }
}

/// The failed checks of a service, a line each.
pub fn failures(report: &Report) -> Vec<String> {
    let failed = report.findings.iter().filter(|(_, finding)| finding.state.healthy() == Some(false));
    failed
        .map(|(check, finding)| {
            format!("{} {}: {}, {}", check.kind(), check.target(), finding.state.as_str(), finding.detail)
        })
        .collect()
}

/// Records the checks of services that opsctl has just made. Returns the changes of `cooldown.json` that follow.
pub fn note_checks<'a>(
    change: &Change<'_>,
    reports: &'a [Report],
    session: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Vec<(&'a str, Edit)>, LedgerError> {
    let mut edits = Vec::new();
    for report in reports {
        let Some(healthy) = report.healthy() else { continue };
        let service = report.service.as_str();
        let streak = change.note_check(service, healthy, Checker::Opsctl, session, now)?;
        edits.extend(edits_of(streak).into_iter().map(|edit| (service, edit)));
    }
    Ok(edits)
}

/// The changes of a service's entry in `cooldown.json` after a check.
pub fn edits_of(streak: Streak) -> Vec<Edit> {
    match streak {
        Streak::Of(count) => vec![Edit::Streak(count)],
        Streak::Cleared => vec![Edit::Clear, Edit::Streak(0)],
    }
}

/// The repairs of a session after `since`, the last one of each service, with the results of their verification.
/// `actions` are those of the session, newest first.
pub fn repairs(
    actions: &[ActionRecord],
    since: Option<DateTime<Utc>>,
    reports: &[Report],
    usage: &Snapshot,
    installation: &Installation,
    now: DateTime<Utc>,
) -> Vec<Repair> {
    let Installation { inventory, policy, .. } = installation;
    let repair = |report: &Report| {
        let service = &report.service;
        let action = actions.iter().find(|action| inventory.service_named(&action.service) == *service)?;
        if since.is_some_and(|since| action.at <= since) {
            return None;
        }
        let (kind, budget) = match action.kind.as_str() {
            "redeployment" => ("redeployment", &policy.redeployment),
            _ => ("restart", &policy.restart),
        };
        let verb = action.verb.as_deref().unwrap_or(kind);
        let done = past_of(verb).unwrap_or("redeployed").to_owned();
        let listed = inventory.services.iter().find(|listed| listed.name == *service);
        let key = BudgetKey { service: service.clone(), kind };
        Some(Repair {
            done: if action.succeeded { done } else { format!("{verb} failed") },
            host: action.host.clone().or_else(|| listed?.host.clone()),
            healthy: report.healthy(),
            after: now - action.at,
            used: usage.get(&key).map_or(0, |usage| usage.counted(budget, now).len()),
            limit: budget.limit,
            service: service.clone(),
        })
    };
    reports.iter().filter_map(repair).collect()
}

/// The result of a report as text.
pub fn verdict(report: &Report) -> &'static str {
    match report.healthy() {
        Some(true) => "healthy",
        Some(false) => "not healthy",
        None if report.findings.is_empty() => "not checked, hosts.yaml configures no check for it",
        None => "not checked, it cannot be checked from this machine",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_inventory::load;

    fn time(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn grace_runs_from_the_last_action_and_parts_belong_to_their_service() {
        let yaml = "services: {adguard: {containers: [dns]}, jellyfin: {}}";
        let installation = load::parse(yaml).unwrap();
        let remedies = SessionActions {
            services: [
                ("adguard".to_owned(), time("2026-03-21T14:00:00Z")),
                ("dns".to_owned(), time("2026-03-21T14:00:50Z")),
                ("jellyfin".to_owned(), time("2026-03-21T13:00:00Z")),
            ]
            .into(),
            actions: 3,
        };
        let subjects =
            of_session(&remedies, &installation, Window::HALF_A_MINUTE, time("2026-03-21T14:01:00Z"));
        let grace: Vec<(&str, u64)> =
            subjects.iter().map(|subject| (subject.service.as_str(), subject.grace.as_secs())).collect();
        assert_eq!(grace, [("adguard", 20), ("jellyfin", 0)]);
    }
}
