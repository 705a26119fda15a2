//! The checks that a verification would make, of all hosts and services, so that two sides can compare what they can check.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::guard::verification;
use crate::machine::client::client_process;
use opsctl_ledger::{Ledger, Location};
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_probe::health::{self, Check, Finding, Report};
use opsctl_probe::hosts::{self, PingWarning, PingedHost};
use opsctl_probe::icmp::{NOT_PERMITTED, Reachability};

/// The timeout for all hosts together.
const HOSTS_DEADLINE: Duration = Duration::from_secs(3);

/// The timeout for all services together. There is no grace, because nothing was restarted.
const DEADLINE: Duration = Duration::from_secs(15);

/// The result of a check of a host or a service. Contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The host, or the service with its check: `host nas`, `jellyfin (container jellyfin on nas)`.
    pub subject: String,
    /// Whether it is healthy, or reachable; `None`: unknown.
    pub healthy: Option<bool>,
    /// What was observed: `healthy, running`.
    pub what: String,
    /// What an operator can do so that the check can be carried out.
    pub remedy: Option<String>,
}

/// The reports of all services.
pub fn services(inventory: &Inventory) -> io::Result<Vec<Report>> {
    let subjects = inventory
        .services
        .iter()
        .map(|service| verification::subject(service.name.clone(), inventory, Duration::ZERO));
    health::verify(subjects.collect(), DEADLINE)
}

/// The hosts with their reachability.
pub fn hosts(inventory: &Inventory) -> io::Result<Vec<PingedHost>> {
    match hosts::look(&inventory.hosts, HOSTS_DEADLINE) {
        (_, Some(PingWarning::NotChecked(error))) => Err(error),
        (hosts, _) => Ok(hosts),
    }
}

/// All checks of hosts and services, made by this process at once.
pub fn survey(inventory: &Inventory) -> io::Result<Vec<Look>> {
    let (hosts, reports) = thread::scope(|scope| {
        let hosts = scope.spawn(|| hosts(inventory));
        let reports = services(inventory);
        (hosts.join().unwrap_or_else(|_| Ok(vec![])), reports)
    });
    let (hosts, reports) = (hosts?, reports?);
    let of_services = reports.iter().flat_map(|report| {
        report.findings.iter().map(|(check, finding)| of_service(&report.service, check, finding))
    });
    Ok(hosts.iter().map(of_host).chain(of_services).collect())
}

fn of_host(host: &PingedHost) -> Look {
    let healthy = match host.reachability {
        Reachability::Reachable(_) => Some(true),
        Reachability::Unreachable | Reachability::Unresolved => Some(false),
        Reachability::Unknown => None,
    };
    Look {
        subject: format!("host {}", host.name),
        healthy,
        what: host.reachability.as_str().to_owned(),
        remedy: healthy.is_none().then(|| NOT_PERMITTED.to_owned()),
    }
}

fn of_service(service: &str, check: &Check, finding: &Finding) -> Look {
    Look {
        subject: format!("{service} ({} {})", check.kind(), check.target()),
        healthy: finding.state.healthy(),
        what: format!("{}, {}", finding.state.as_str(), finding.detail),
        remedy: finding.remedy.clone(),
    }
}

/// The names of agents with sessions of different machines or containers in turn, within the last day. A container that was created
/// again has a process scope of its own, too, but its predecessor has no session afterwards.
pub fn shared_names(location: &Location, now: DateTime<Utc>) -> opsctl_ledger::Result<BTreeSet<String>> {
    let ledger = Ledger::open_existing(location)?;
    let processes = ledger.map(|ledger| ledger.processes_since(now - TimeDelta::days(1))).transpose()?;
    Ok(in_turn(&processes.unwrap_or_default()))
}

/// The agents whose processes return to a scope after one of another scope.
fn in_turn(processes: &[(String, String)]) -> BTreeSet<String> {
    let mut by_agent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (agent, process) in processes {
        by_agent.entry(agent).or_default().extend(client_process::scope_of(process));
    }
    for places in by_agent.values_mut() {
        places.dedup();
    }
    let returns = |places: &[&str]| places.iter().collect::<BTreeSet<_>>().len() < places.len();
    by_agent.into_iter().filter(|(_, places)| returns(places)).map(|(agent, _)| agent.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shared_if_two_scopes_have_sessions_in_turn() {
        for (processes, expected) in [
            (
                &["nas 7 1 boot pid:[1] 5", "nas 9 3 boot pid:[2] 6", "nas 8 4 boot pid:[1] 5"][..],
                &["nas"][..],
            ),
            // Recreated, once or often.
            (&["nas 7 1 boot pid:[1] 5", "nas 9 3 boot pid:[2] 6", "nas 8 4 boot pid:[1] 9"], &[]),
            (&["nas 7 1 boot pid:[1] 5", "nas 8 2 boot pid:[1] 5", "nas 7 1 other pid:[1] 5"], &[]),
            (&["nas 7 1 boot pid:[1] 5", "pi 9 3 boot pid:[2] 6", "nas 8 4 boot pid:[1] 5"], &[]),
            (&["nas ", "nas x", "nas 7 1 boot pid:[1] 5"], &[]),
        ] {
            let split = |row: &&str| row.split_once(' ').map(|(a, p)| (a.to_owned(), p.to_owned())).unwrap();
            let rows: Vec<_> = processes.iter().map(split).collect();
            assert_eq!(in_turn(&rows).into_iter().collect::<Vec<_>>(), expected, "{processes:?}");
        }
    }
}
