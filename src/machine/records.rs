//! Records of opsctl's own verbs: in the ledger, or through the guard that has it, which records what its peers state in the
//! same way.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::environment::Environment;
use super::guard_link;
use crate::machine::link::message::RecordCall;
use opsctl_ledger::sessions::client_runs::WaitingRun;
use opsctl_ledger::{Change, Ledger, LedgerError, Source};
use opsctl_policy::model::records::event::NewEvent;
use opsctl_policy::model::rights::policy::Tier;

/// Records through the guard, if there is one, otherwise in the ledger. Returns the value of the record; null for none.
pub fn record(environment: &Environment, call: RecordCall, now: DateTime<Utc>) -> Result<Value, LedgerError> {
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
) -> Result<Value, LedgerError> {
    if let RecordCall::Waiting { .. } | RecordCall::LatestRun { .. } = call {
        let ledger = Ledger::open_existing(&environment.ledger)?;
        return ledger.map_or(Ok(Value::Null), |ledger| look_up(&ledger, call, peer, now));
    }
    Ledger::write(&environment.ledger, |change| write(change, call, peer, now))
}

/// Writes a record. Returns its value; null for none.
fn write(
    change: &Change<'_>,
    call: RecordCall,
    peer: Option<u32>,
    now: DateTime<Utc>,
) -> Result<Value, LedgerError> {
    match call {
        RecordCall::Begin(run) => return Ok(json!(change.begin_run(&run, peer, now)?)),
        RecordCall::Resume { row } => {
            change.resume_run(row, now)?;
        }
        RecordCall::End { row, end } => change.end_run(row, &end, now)?,
        RecordCall::Event { once, of_agent, session, event } => {
            let source = match peer {
                _ if of_agent => Source::Agent,
                Some(_) => Source::Peer,
                None => Source::Runner,
            };
            let session = session.as_deref();
            if !(once && change.is_recent_event(session, &event.message)?) {
                change.add_event_from(source, session, &event, now)?;
            }
        }
        RecordCall::Reported(session) => change.note_report(&session, now)?,
        RecordCall::LatestRun { .. } | RecordCall::Waiting { .. } => {}
    }
    Ok(Value::Null)
}

/// The answer to a record that changes nothing.
fn look_up(
    ledger: &Ledger,
    call: RecordCall,
    peer: Option<u32>,
    now: DateTime<Utc>,
) -> Result<Value, LedgerError> {
    match call {
        RecordCall::LatestRun { tier, stated } => {
            let tier = Tier::from_number(tier).unwrap_or(Tier::Observe);
            Ok(json!(ledger.latest_run(tier, stated.as_deref())?))
        }
        RecordCall::Waiting { session } => {
            let mut runs = match session {
                Some(session) => ledger.waiting_run(&session)?.into_iter().collect(),
                None => ledger.answered_runs(ledger.now(now)?)?,
            };
            if let Some(peer) = peer {
                let mut own = Vec::new();
                for run in runs {
                    if ledger.is_run_of(run.row, peer)? {
                        own.push(run);
                    }
                }
                runs = own;
            }
            Ok(json!(runs))
        }
        _ => Ok(Value::Null),
    }
}

/// A value that a record returns; nothing for null.
fn read<T: DeserializeOwned + Default>(value: Value) -> Result<T, LedgerError> {
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
) -> Result<(), LedgerError> {
    send_event(environment, (source, false), session, event, now)
}

/// Records an event of opsctl's own verbs without a session, unless it is among the latest.
pub fn add_event_once(
    environment: &Environment,
    event: &NewEvent,
    now: DateTime<Utc>,
) -> Result<(), LedgerError> {
    send_event(environment, (Source::Runner, true), None, event, now)
}

fn send_event(
    environment: &Environment,
    (source, once): (Source, bool),
    session: Option<&str>,
    event: &NewEvent,
    now: DateTime<Utc>,
) -> Result<(), LedgerError> {
    let call = RecordCall::Event {
        once,
        of_agent: source == Source::Agent,
        session: session.map(str::to_owned),
        event: event.clone(),
    };
    record(environment, call, now).map(drop)
}

/// The session with this id, if it waits for a person; without an id, all whose question has been answered or has expired.
pub fn waiting_runs(
    environment: &Environment,
    session: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Vec<WaitingRun>, LedgerError> {
    read(record(environment, RecordCall::Waiting { session: session.map(str::to_owned) }, now)?)
}

/// Records that a session has reported.
pub fn note_report(environment: &Environment, session: &str, now: DateTime<Utc>) -> Result<(), LedgerError> {
    record(environment, RecordCall::Reported(session.to_owned()), now).map(drop)
}

/// The id of the session with the stated id, otherwise of the latest of this tier.
pub fn latest_run(
    environment: &Environment,
    tier: Tier,
    stated: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Option<String>, LedgerError> {
    let call = RecordCall::LatestRun { tier: tier.number(), stated: stated.map(str::to_owned) };
    read(record(environment, call, now)?)
}
