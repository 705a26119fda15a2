//! Records of opsctl's own verbs: in the ledger, or through the guard that has it.

use chrono::{DateTime, Utc};

use super::environment::Environment;
use super::guard_link;
use crate::ledger::client_runs::{Waiting, WaitingRun};
use crate::ledger::{Ledger, LedgerError, Source};
use crate::link::address::Address;
use crate::link::message::{RecordCall, WaitingRunWire, WaitingWire};
use crate::model::event::NewEvent;
use crate::model::policy::Tier;

/// Records an event.
pub fn add_event(
    environment: &Environment,
    source: Source,
    session: Option<&str>,
    event: &NewEvent,
    now: DateTime<Utc>,
) -> Result<(), LedgerError> {
    if let Some(guard) = &environment.guard {
        return send_event(guard, environment, (source, false), session, event);
    }
    let mut ledger = Ledger::open(&environment.ledger)?;
    let change = ledger.change()?;
    change.add_event_from(source, session, event, now)?;
    change.commit()
}

/// Records an event of opsctl's own verbs without a session, unless it is among the latest.
pub fn add_event_once(
    environment: &Environment,
    event: &NewEvent,
    now: DateTime<Utc>,
) -> Result<(), LedgerError> {
    if let Some(guard) = &environment.guard {
        return send_event(guard, environment, (Source::Runner, true), None, event);
    }
    let mut ledger = Ledger::open(&environment.ledger)?;
    let change = ledger.change()?;
    if !change.is_recent_event(None, &event.message)? {
        change.add_event_from(Source::Runner, None, event, now)?;
    }
    change.commit()
}

fn send_event(
    guard: &Address,
    environment: &Environment,
    (source, once): (Source, bool),
    session: Option<&str>,
    event: &NewEvent,
) -> Result<(), LedgerError> {
    let record = RecordCall::Event {
        once,
        of_agent: source == Source::Agent,
        session: session.map(str::to_owned),
        level: event.level.as_str().to_owned(),
        service: event.service.clone(),
        message: event.message.clone(),
    };
    guard_link::record(guard, record, environment).map(drop).map_err(LedgerError::of_guard)
}

/// The session with this id, if it waits for a person; without an id, all whose question has been answered or has expired.
pub fn waiting_runs(
    environment: &Environment,
    session: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Vec<WaitingRun>, LedgerError> {
    if let Some(guard) = &environment.guard {
        let record = RecordCall::Waiting { session: session.map(str::to_owned) };
        let found = guard_link::record(guard, record, environment).map_err(LedgerError::of_guard)?;
        let runs: Result<Vec<WaitingRunWire>, _> = serde_json::from_value(found);
        let runs = runs.map_err(|_| LedgerError::of_guard(guard_link::unexpected()))?;
        return Ok(runs.into_iter().map(WaitingRun::from).collect());
    }
    let Some(ledger) = Ledger::open_existing(&environment.ledger)? else { return Ok(vec![]) };
    match session {
        Some(session) => Ok(ledger.waiting_run(session)?.into_iter().collect()),
        None => ledger.answered_runs(ledger.now(now)?),
    }
}

impl From<WaitingRun> for WaitingRunWire {
    fn from(run: WaitingRun) -> Self {
        let WaitingRun { row, session, tier, parent, waiting: Waiting { call, transcript } } = run;
        Self { row, session, tier, parent, waiting: WaitingWire { call, transcript } }
    }
}

impl From<WaitingRunWire> for WaitingRun {
    fn from(run: WaitingRunWire) -> Self {
        let WaitingRunWire { row, session, tier, parent, waiting } = run;
        Self { row, session, tier, parent, waiting: waiting.into() }
    }
}

impl From<WaitingWire> for Waiting {
    fn from(WaitingWire { call, transcript }: WaitingWire) -> Self {
        Self { call, transcript }
    }
}

/// Records that a session has reported.
pub fn note_report(environment: &Environment, session: &str, now: DateTime<Utc>) -> Result<(), LedgerError> {
    if let Some(guard) = &environment.guard {
        let record = RecordCall::Reported(session.to_owned());
        return guard_link::record(guard, record, environment).map(drop).map_err(LedgerError::of_guard);
    }
    let mut ledger = Ledger::open(&environment.ledger)?.for_the_record();
    let change = ledger.change()?;
    change.note_report(session, now)?;
    change.commit()
}

/// The id of the session with the stated id, otherwise of the latest of this tier.
pub fn latest_run(
    environment: &Environment,
    tier: Tier,
    stated: Option<&str>,
) -> Result<Option<String>, LedgerError> {
    if let Some(guard) = &environment.guard {
        let record = RecordCall::LatestRun { tier: tier.number(), stated: stated.map(str::to_owned) };
        let found = guard_link::record(guard, record, environment).map_err(LedgerError::of_guard)?;
        return Ok(found.as_str().map(str::to_owned));
    }
    Ledger::open_existing(&environment.ledger)
        .and_then(|ledger| ledger.map_or(Ok(None), |ledger| ledger.latest_run(tier, stated)))
}
