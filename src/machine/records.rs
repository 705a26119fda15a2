//! Records of opsctl's own verbs: in the ledger, or through the guard that has it, which records what its peers state in the
//! same way.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::verifier::{self, Said};
use super::environment::Environment;
use super::guard_link;
use super::unreported::{self, Unreported};
use crate::machine::link::message::RecordCall;
use opsctl_ledger::records::decisions::Which;
use opsctl_ledger::sessions::client_runs::WaitingRun;
use opsctl_ledger::{Ledger, LedgerError, Location, Open, Result, Source};
use opsctl_policy::model::records::event::NewEvent;
use opsctl_policy::model::rights::policy::Tier;

/// The most decisions of a session that are read for what can be undone.
const MOST_BEFORE: u32 = 200;

/// The states before what a session has done, and the commands that return to them. A ledger that cannot be read states none.
pub fn before(environment: &Environment, session: &str, now: DateTime<Utc>) -> Vec<String> {
    let lines = record(environment, RecordCall::Before(session.to_owned()), now).unwrap_or_default();
    serde_json::from_value(lines).unwrap_or_default()
}

/// Records through the guard, if there is one, otherwise in the ledger. Returns the value of the record; null for none.
pub fn record(environment: &Environment, call: RecordCall, now: DateTime<Utc>) -> Result<Value> {
    match &environment.guard {
        Some(guard) => guard_link::record(guard, call, environment).map_err(LedgerError::of_guard),
        None => perform(environment, call, None, now),
    }
}

/// Records in the ledger. `peer` is the user id of the peer that states the record, which the caller has checked; `None` for
/// opsctl itself.
pub fn perform(
    environment: &Environment,
    call: RecordCall,
    peer: Option<u32>,
    now: DateTime<Utc>,
) -> Result<Value> {
    let location = &environment.ledger;
    let existing = || Ledger::open_existing(location);
    match call {
        RecordCall::Begin(run) => {
            return Ok(json!(Ledger::write(location, |change| change.begin_run(&run, peer, now))?));
        }
        RecordCall::Resume { row } => {
            Ledger::write(location, |change| change.resume_run(row, now))?;
        }
        RecordCall::End { row, end, refused } => {
            let unreported = Ledger::write(location, |change| {
                let mut unreported = Unreported::default();
                change.end_run(row, &end, now)?;
                if let Some(session) = change.session_of_run(row)? {
                    change.release_calls(&session, &refused)?;
                    let open = Open::OfSession(&session);
                    unreported.settle(change, open, unreported::SESSION_ENDED, environment, now)?;
                }
                Ok(unreported)
            })?;
            // A notice that is not delivered now waits for the next flush.
            let _ = unreported.publish(environment);
        }
        RecordCall::Event { once, of_agent, session, event } => {
            let source = match peer {
                _ if of_agent => Source::Agent,
                Some(_) => Source::Peer,
                None => Source::Runner,
            };
            let session = session.as_deref();
            Ledger::write(location, |change| {
                let is_left_out = once && change.is_recent_event(session, &event.message)?;
                if is_left_out { Ok(()) } else { change.add_event_from(source, session, &event, now) }
            })?;
        }
        RecordCall::Reported(session) => Ledger::write(location, |change| change.note_report(&session, now))?,
        RecordCall::Before(session) => {
            let which = Which { session: Some(&session), verdict: Some("allow"), ..Which::default() };
            let decisions = Ledger::read_at(location, |ledger| ledger.decisions(which, MOST_BEFORE))?;
            let lines = decisions.iter().rev().filter_map(|decision| decision.undo.as_deref());
            return Ok(json!(lines.flat_map(str::lines).collect::<Vec<_>>()));
        }
        RecordCall::VerifierDue { row } => {
            let session = session_of(location, row)?;
            let due = session.map(|session| verifier::is_due(environment, &session)).transpose()?;
            return Ok(json!(due.unwrap_or(false)));
        }
        RecordCall::Verified { row, tier, objection } => {
            let Some(session) = session_of(location, row)? else { return Ok(Value::Null) };
            let said =
                Said { session: &session, tier: Tier::from_number(tier), objection: objection.as_deref() };
            return Ok(json!(verifier::settle(environment, &said, now)?));
        }
        RecordCall::LatestRun { tier, stated } => {
            let tier = Tier::from_number(tier).unwrap_or(Tier::Observe);
            let latest = existing()?.map(|ledger| ledger.latest_run(tier, stated.as_deref())).transpose()?;
            return Ok(json!(latest));
        }
        RecordCall::Waiting { session } => {
            let runs =
                existing()?.map(|ledger| waiting(&ledger, session.as_deref(), peer, now)).transpose()?;
            return Ok(json!(runs));
        }
    }
    Ok(Value::Null)
}

/// The sessions that wait for a person: of `peer`, if there is one.
fn waiting(
    ledger: &Ledger,
    session: Option<&str>,
    peer: Option<u32>,
    now: DateTime<Utc>,
) -> Result<Vec<WaitingRun>> {
    let runs = match session {
        Some(session) => ledger.waiting_run(session)?.into_iter().collect(),
        None => ledger.answered_runs(ledger.now(now)?)?,
    };
    let Some(peer) = peer else { return Ok(runs) };
    let own = runs.into_iter().map(|run| Ok(ledger.is_run_of(run.row, peer)?.then_some(run)));
    own.filter_map(Result::transpose).collect()
}

/// A value that a record returns; nothing for null.
fn read<T: DeserializeOwned + Default>(value: Value) -> Result<T> {
    let value: Result<Option<T>, _> = serde_json::from_value(value);
    value.map(Option::unwrap_or_default).map_err(|_| LedgerError::of_guard(guard_link::unexpected()))
}

/// Records an event of the agent, or of opsctl's own verbs.
pub fn add_event(
    environment: &Environment,
    source: Source,
    session: Option<&str>,
    event: &NewEvent,
    now: DateTime<Utc>,
) -> Result<()> {
    let (of_agent, session) = (source == Source::Agent, session.map(str::to_owned));
    record(environment, RecordCall::Event { once: false, of_agent, session, event: event.clone() }, now)
        .map(drop)
}

/// Records an event of opsctl's own verbs without a session, unless it is among the latest.
pub fn add_event_once(environment: &Environment, event: &NewEvent, now: DateTime<Utc>) -> Result<()> {
    let call = RecordCall::Event { once: true, of_agent: false, session: None, event: event.clone() };
    record(environment, call, now).map(drop)
}

/// The session with this id, if it waits for a person; without an id, all whose question has been answered or has expired.
pub fn waiting_runs(
    environment: &Environment,
    session: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Vec<WaitingRun>> {
    read(record(environment, RecordCall::Waiting { session: session.map(str::to_owned) }, now)?)
}

/// Records that a session has reported.
pub fn note_report(environment: &Environment, session: &str, now: DateTime<Utc>) -> Result<()> {
    record(environment, RecordCall::Reported(session.to_owned()), now).map(drop)
}

/// The id of the session with the stated id, otherwise of the latest of this tier.
pub fn latest_run(
    environment: &Environment,
    tier: Tier,
    stated: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let call = RecordCall::LatestRun { tier: tier.number(), stated: stated.map(str::to_owned) };
    read(record(environment, call, now)?)
}

/// The id of the session of a row.
fn session_of(location: &Location, row: i64) -> Result<Option<String>> {
    Ledger::open_existing(location)?.map_or(Ok(None), |ledger| ledger.session_of_run(row))
}

/// Whether the verifier of a model is due for the session of a row.
pub fn is_verifier_due(environment: &Environment, row: i64, now: DateTime<Utc>) -> Result<bool> {
    read(record(environment, RecordCall::VerifierDue { row }, now)?)
}

/// Records what the verifier of a model found. Returns the prompt if the session goes on.
pub fn verified(
    environment: &Environment,
    row: i64,
    tier: Tier,
    objection: Option<String>,
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let call = RecordCall::Verified { row, tier: tier.number(), objection };
    read(record(environment, call, now)?)
}
