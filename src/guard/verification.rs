//! Whether the services that a session acted on are healthy.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use opsctl_inventory::Installation;
use opsctl_ledger::cooldown::cooldown_edit::Edit;
use opsctl_ledger::records::history::ActionRecord;
use opsctl_ledger::{Acted, Change, Checker, Result, SessionActions, Streak};
use opsctl_policy::decide::{BudgetKey, Budgets, Snapshot};
use opsctl_policy::model::installation::inventory::{Host, Inventory};
use opsctl_policy::model::rights::policy::Window;
use opsctl_policy::texts::notices::Repair;
use opsctl_policy::texts::report::past_of;
use opsctl_probe::health::{self, Report, State, Subject};

/// The services that a session acted on, and those that need them, each with the rest of its grace period, which starts at
/// the last action.
pub fn of_session(
    remedies: &SessionActions,
    installation: &Installation,
    grace: Window,
    now: DateTime<Utc>,
) -> Vec<Subject> {
    let inventory = &installation.inventory;
    // By their names in the inventory: an action recorded under a container's name belongs to its service.
    let mut services: BTreeMap<String, Acted> = BTreeMap::new();
    for (service, acted) in &remedies.services {
        let new = Acted { last: acted.last, hosts: vec![] };
        let merged = services.entry(inventory.service_named(service)).or_insert(new);
        for host in &acted.hosts {
            merged.add(acted.last, host.clone());
        }
    }
    let left = |at: DateTime<Utc>| (grace.delta() - (now - at).abs()).to_std().unwrap_or_default();
    let mut dependents: BTreeMap<&str, DateTime<Utc>> = BTreeMap::new();
    for (name, acted) in &services {
        for dependent in inventory.dependents(&[name]) {
            let last = dependents.entry(&dependent.name).or_insert(acted.last);
            *last = acted.last.max(*last);
        }
    }
    dependents.retain(|name, _| !services.contains_key(*name));
    let dependents: Vec<Subject> = dependents
        .into_iter()
        .map(|(name, at)| Subject { is_dependent: true, ..subject(name.to_owned(), inventory, left(at)) })
        .collect();
    let acted_on = services.into_iter().map(|(name, acted)| {
        let grace = left(acted.last);
        match stated_by_action(&name, &acted.hosts, inventory) {
            Some(host) => subject_on(Some(host), name, inventory, grace),
            None => subject(name, inventory, grace),
        }
    });
    acted_on.chain(dependents).collect()
}

/// Why a service with the name of one of other hosts is not checked.
fn unlisted_there(service: &str, inventory: &Inventory) -> Option<String> {
    let (name, host) = service.rsplit_once('@')?;
    let is_listed = !inventory.services_named(name).is_empty() && inventory.host(host).is_some();
    is_listed.then(|| format!("hosts.yaml lists `{name}` for other hosts than {host}"))
}

/// The host of the last action on a service that states no host of its own; `None` if it states one, or if that is not known.
fn stated_by_action<'a>(
    service: &str,
    hosts: &[Option<String>],
    inventory: &'a Inventory,
) -> Option<&'a Host> {
    inventory.services.iter().find(|listed| listed.name == service && listed.host.is_none())?;
    inventory.host(hosts.last()?.as_deref()?)
}

/// A service with all checks that the inventory defines for it.
pub fn subject(service: String, inventory: &Inventory, grace: Duration) -> Subject {
    let listed = inventory.services.iter().find(|listed| listed.name == service);
    let host = listed.and_then(|listed| inventory.host(listed.host.as_deref()?));
    subject_on(host, service, inventory, grace)
}

fn subject_on(host: Option<&Host>, service: String, inventory: &Inventory, grace: Duration) -> Subject {
    let listed = inventory.services.iter().find(|listed| listed.name == service);
    let checks = listed.map(|listed| health::plan_on(host, listed, inventory)).unwrap_or_default();
    let unasked = unlisted_there(&service, inventory);
    Subject { service, checks, grace, is_dependent: false, unasked }
}

/// The failed checks of a service, a line each.
pub fn failures(report: &Report) -> Vec<String> {
    lines(report, |state| state.healthy() == Some(false))
}

/// Why a service, or a part of it, was not checked, and what to do about it, a line each.
pub fn unchecked(report: &Report) -> Vec<String> {
    let unasked = report.unasked.iter().cloned();
    unasked.chain(lines(report, |state| state.healthy().is_none())).collect()
}

fn lines(report: &Report, is_meant: fn(State) -> bool) -> Vec<String> {
    let meant = report.findings.iter().filter(|(_, finding)| is_meant(finding.state));
    meant
        .map(|(check, finding)| format!("{} {}: {}", check.kind(), check.target(), finding.in_words()))
        .collect()
}

/// Records the checks of services that opsctl has just made. Returns the changes of `cooldown.json` that follow.
pub fn note_checks<'a>(
    change: &Change<'_>,
    reports: &'a [Report],
    session: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Vec<(&'a str, Edit)>> {
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
        let kind = if action.kind == "redeployment" { "redeployment" } else { "restart" };
        let verb = action.verb.as_deref().unwrap_or(kind);
        let done = past_of(verb).unwrap_or("redeployed").to_owned();
        let listed = inventory.services.iter().find(|listed| listed.name == *service);
        let key = BudgetKey { service: service.clone(), kind };
        Some(Repair {
            done: match action.succeeded {
                Some(true) => done,
                Some(false) => format!("{verb} failed"),
                None => format!("{done}, outcome unknown"),
            },
            host: action.host.clone().or_else(|| listed?.host.clone()),
            healthy: report.healthy(),
            unchecked: unchecked(report),
            after: now - action.at,
            used: Budgets { policy, usage, now }.counted(&key).len(),
            limit: key.budget(policy).limit,
            service: service.clone(),
        })
    };
    reports.iter().filter_map(repair).collect()
}

/// The result of a report as text.
pub fn verdict(report: &Report) -> String {
    let unasked = || report.unasked.as_deref().unwrap_or("hosts.yaml configures no check for it");
    match report.healthy() {
        Some(true) => "healthy".to_owned(),
        Some(false) => "not healthy".to_owned(),
        None if report.findings.is_empty() => format!("not checked, {}", unasked()),
        None => "not checked, its state is unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_inventory::load;

    fn time(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn session(services: &[(&str, &str, &[Option<&str>])]) -> SessionActions {
        let acted = |(name, last, hosts): &(&str, &str, &[Option<&str>])| {
            let hosts = hosts.iter().map(|host| host.map(str::to_owned)).collect();
            ((*name).to_owned(), Acted { last: time(last), hosts })
        };
        SessionActions { services: services.iter().map(acted).collect(), actions: services.len() }
    }

    #[test]
    fn grace_runs_from_the_last_action_and_parts_belong_to_their_service() {
        let yaml = "services: {adguard: {containers: [dns]}, jellyfin: {}}";
        let installation = load::parse(yaml).unwrap();
        let remedies = session(&[
            ("adguard", "2026-03-21T14:00:00Z", &[None]),
            ("dns", "2026-03-21T14:00:50Z", &[None]),
            ("jellyfin", "2026-03-21T13:00:00Z", &[None]),
        ]);
        let subjects =
            of_session(&remedies, &installation, Window::HALF_A_MINUTE, time("2026-03-21T14:01:00Z"));
        let grace: Vec<(&str, u64)> =
            subjects.iter().map(|subject| (subject.service.as_str(), subject.grace.as_secs())).collect();
        assert_eq!(grace, [("adguard", 20), ("jellyfin", 0)]);
    }

    #[test]
    fn a_service_is_checked_on_the_host_where_the_session_acted_on_it() {
        let yaml = "
hosts: {nas: {address: 192.0.2.1, ssh: nas}, media: {address: 192.0.2.2, ssh: media}}
services: {free: {}, tied: {host: nas}, cluster: {host: nas, workloads: [a/deployment/b]}}";
        let installation = load::parse(yaml).unwrap();
        for (service, hosts, expected) in [
            ("free", &[None][..], "container free"),
            ("free", &[Some("media")], "container free on media"),
            ("free", &[Some("elsewhere")], "container free"),
            ("tied", &[None], "container tied on nas"),
            ("tied", &[Some("nas")], "container tied on nas"),
            ("tied", &[Some("alias-of-nas")], "container tied on nas"),
            ("tied", &[Some("media")], "container tied on nas"),
            ("tied@media", &[Some("media")], "hosts.yaml lists `tied` for other hosts than media"),
            ("tied", &[Some("media"), Some("nas")], "container tied on nas"),
            ("cluster", &[Some("media")], "workload a/deployment/b on nas"),
        ] {
            let now = "2026-03-21T14:00:00Z";
            let found = of_session(
                &session(&[(service, now, hosts)]),
                &installation,
                Window::HALF_A_MINUTE,
                time(now),
            );
            let checks = found[0].checks.iter().map(|check| format!("{} {}", check.kind(), check.target()));
            let shown: Vec<String> = found[0].unasked.iter().cloned().chain(checks).collect();
            assert_eq!(shown, [expected], "{service} {hosts:?}");
        }
    }

    #[test]
    fn what_needs_a_restarted_service_is_checked_too() {
        let yaml = "services: {vpn: {}, torrent: {needs: vpn}, feed: {needs: [torrent]}, other: {}}";
        let installation = load::parse(yaml).unwrap();
        let names = |acted: &[&str]| -> Vec<(String, bool)> {
            let now = "2026-03-21T14:00:00Z";
            let acted: Vec<_> = acted.iter().map(|name| (*name, now, &[None][..])).collect();
            let found = of_session(&session(&acted), &installation, Window::HALF_A_MINUTE, time(now));
            found.into_iter().map(|subject| (subject.service, subject.is_dependent)).collect()
        };
        let own = |name: &str| (name.to_owned(), false);
        let dependent = |name: &str| (name.to_owned(), true);
        assert_eq!(names(&["vpn"]), [own("vpn"), dependent("feed"), dependent("torrent")]);
        assert_eq!(names(&["vpn", "feed"]), [own("feed"), own("vpn"), dependent("torrent")]);
        assert_eq!(names(&["other"]), [own("other")]);
    }
}
