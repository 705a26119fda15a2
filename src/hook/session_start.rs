//! A session begins: what the agent should know is printed and becomes context.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};

use super::answer::Answer;
use super::context_warning;
use super::registry::{self, Known};
use super::session_context::{self, Composed, HostLine, State};
use crate::context::text::{Reading, Shown};
use crate::context::{self, Reader};
use crate::guard::{budgets, failures};
use crate::inventory::Installation;
use crate::ledger::notices::Problem;
use crate::ledger::{Event, Ledger, LedgerError};
use crate::model::event::{Beginning, HookCall};
use crate::model::policy::Tier;
use crate::model::session::Sign;
use crate::probe::icmp::{self, NOT_PERMITTED, Reachability};
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// The time that all hosts together are given.
const PING_DEADLINE: Duration = Duration::from_secs(2);

/// The events that are shown.
const EVENTS: u32 = 10;

/// Never fails: a section without data says so.
pub fn handle(
    call: &HookCall,
    beginning: &Beginning,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let mut notes = Vec::new();
    // Its conversation has been emptied, and fills again.
    if matches!(beginning.source.as_deref(), Some("clear" | "compact")) {
        notes.extend(context_warning::forget(call, environment, now));
    }
    let told = compose(Reader::default(), environment, now, &mut notes);
    // Last, so that the ledger that this may create is not taken for a history.
    let known = Known { tier: told.tier, model: beginning.model.as_deref() };
    if let Err(error) = registry::note(call, Some(&Sign::Begins(beginning)), known, environment, now) {
        notes.extend(Some(error.to_string()).filter(|note| !notes.contains(note)));
    }
    Answer::context(told.text, notes)
}

/// What a session is told at its start.
pub struct Told {
    /// The whole text.
    pub text: String,
    /// The files among it.
    pub reading: Reading,
    /// How much of each file.
    pub shares: Vec<Shown>,
    /// The tier, where one is named.
    pub tier: Option<Tier>,
}

/// Puts everything together, for this session where `reader` names no other.
pub fn compose(
    reader: Reader<'_>,
    environment: &Environment,
    now: DateTime<Utc>,
    notes: &mut Vec<String>,
) -> Told {
    let compiled = installation::in_force(environment, notes);
    let installation = &compiled.installation;
    let snapshot = budgets::snapshot(environment, installation, now, notes);
    let budgets = snapshot.map(|snapshot| budgets::in_order(installation, &snapshot, now));
    let events = latest_events(environment).unwrap_or_else(|error| {
        // The budgets come from the same ledger: one line about it is enough.
        notes.extend(Some(error.to_string()).filter(|note| !notes.contains(note)));
        None
    });
    let hosts = ping(installation, notes);
    let problems = problems(environment, now);
    let state =
        State { budgets: budgets.as_deref(), problems: &problems, events: events.as_deref(), hosts: &hosts };
    let reader = Reader {
        tier: reader.tier.or(environment.tier).or(compiled.tier),
        role: reader.role.or(environment.role.as_deref()),
    };
    let reading = context::gather(reader, &compiled, environment);
    let Composed { text, files_room } = session_context::with_files(&state, &reading);
    let shares = reading.shares(files_room);
    Told { text, reading, shares, tier: reader.tier }
}

/// What a person has been called for within the last day, and what nobody has heard of. A ledger that cannot be read has
/// been complained about already.
fn problems(environment: &Environment, now: DateTime<Utc>) -> Vec<String> {
    let mut problems = Vec::new();
    let kept = failures::kept(environment);
    if kept > 0 {
        problems
            .push(format!("The guard has failed {kept} times, and the ledger cannot be used: tell a person"));
    }
    if let Ok(Some(ledger)) = Ledger::open_existing(&environment.db_path) {
        for Problem { title, at } in ledger.problems(now).unwrap_or_default() {
            let at = at.map_or_else(
                || "unknown time".to_owned(),
                |at| at.to_rfc3339_opts(SecondsFormat::Secs, true),
            );
            problems.push(format!("{at} | {title}"));
        }
        match ledger.undelivered_notices(now) {
            Ok(0) | Err(_) => {}
            Ok(count) => problems
                .push(format!("Notifications that no operator has heard: {count}; `opsctl notify` says why")),
        }
    }
    problems
}

fn latest_events(environment: &Environment) -> Result<Option<Vec<Event>>, LedgerError> {
    match Ledger::open_existing(&environment.db_path)? {
        Some(ledger) => ledger.latest_events(EVENTS),
        None => Ok(None),
    }
}

fn ping(installation: &Installation, notes: &mut Vec<String>) -> Vec<HostLine> {
    let hosts = &installation.inventory.hosts;
    let addresses: Vec<&str> = hosts.iter().map(|host| host.address.as_str()).collect();
    let found = icmp::ping_all(&addresses, PING_DEADLINE).unwrap_or_else(|error| {
        notes.push(format!("hosts not checked: {error}"));
        vec![Reachability::Unknown; hosts.len()]
    });
    if found.contains(&Reachability::Unknown) {
        notes.push(NOT_PERMITTED.to_owned());
    }
    let line = |(host, reachability): (&crate::model::inventory::Host, Reachability)| HostLine {
        name: host.name.clone(),
        address: host.address.clone(),
        reachability,
    };
    hosts.iter().zip(found).map(line).collect()
}
