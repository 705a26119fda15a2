//! A session begins: what the agent should know is printed and becomes context.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::answer::Answer;
use super::session_context::{self, HostLine, State};
use crate::inventory::Installation;
use crate::ledger::cooldown_file::CooldownFile;
use crate::ledger::{Event, Ledger, LedgerError};
use crate::policy::decide::{BudgetKey, Snapshot};
use crate::probe::icmp::{self, Reachability};
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// The time that all hosts together are given.
const PING_DEADLINE: Duration = Duration::from_secs(2);

/// The events that are shown.
const EVENTS: u32 = 10;

/// Never fails: a section without data says so.
pub fn handle(environment: &Environment, now: DateTime<Utc>) -> Answer {
    let mut notes = Vec::new();
    let installation = installation::in_force(environment, &mut notes).installation;
    let (usage, events) = read_ledger(environment, &installation, now).unwrap_or_else(|error| {
        notes.push(error.to_string());
        (None, None)
    });
    let file = match CooldownFile::read(&environment.cooldown_file()) {
        Ok(file) => Some(file),
        Err(error) => {
            notes.push(error.to_string());
            None
        }
    };
    let usage = match (usage, &file) {
        (None, None) => None,
        (usage, file) => Some(merge(usage.unwrap_or_default(), file.as_ref())),
    };
    let hosts = ping(&installation, &mut notes);
    let state = State {
        installation: &installation,
        usage: usage.as_ref(),
        events: events.as_deref(),
        hosts: &hosts,
    };
    Answer::context(session_context::render(&state, now), notes)
}

type LedgerState = (Option<Snapshot>, Option<Vec<Event>>);

fn read_ledger(
    environment: &Environment,
    installation: &Installation,
    now: DateTime<Utc>,
) -> Result<LedgerState, LedgerError> {
    let Some(ledger) = Ledger::open_existing(&environment.db_path)? else { return Ok((None, None)) };
    Ok((ledger.usage_of_all(&installation.policy, now)?, ledger.latest_events(EVENTS)?))
}

/// Every service of the file gets an entry, used or not: the file is where people look for them.
fn merge(mut usage: Snapshot, file: Option<&CooldownFile>) -> Snapshot {
    for service in file.into_iter().flat_map(CooldownFile::services) {
        for kind in ["restart", "redeployment"] {
            let key = BudgetKey { service: service.to_owned(), kind };
            let times = file.map_or(&[][..], |file| file.times(service, kind));
            usage.entry(key).or_default().merge_file(times);
        }
    }
    usage
}

fn ping(installation: &Installation, notes: &mut Vec<String>) -> Vec<HostLine> {
    let hosts = &installation.inventory.hosts;
    let addresses: Vec<&str> = hosts.iter().map(|host| host.address.as_str()).collect();
    let found = icmp::ping_all(&addresses, PING_DEADLINE).unwrap_or_else(|error| {
        notes.push(format!("hosts not checked: {error}"));
        vec![Reachability::Unknown; hosts.len()]
    });
    if found.contains(&Reachability::Unknown) {
        notes.push(
            "hosts are unknown where ICMP is not permitted; set the sysctl net.ipv4.ping_group_range=\"0 2147483647\""
                .to_owned(),
        );
    }
    let line = |(host, reachability): (&crate::model::inventory::Host, Reachability)| HostLine {
        name: host.name.clone(),
        address: host.address.clone(),
        reachability,
    };
    hosts.iter().zip(found).map(line).collect()
}
