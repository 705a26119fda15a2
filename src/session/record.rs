//! Records a session in the ledger: its row, and events from the agent's text.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::stream::Account;
use crate::ledger::client_runs::{NewRun, RunEnd, Waiting, WaitingRun};
use crate::ledger::{Change, Ledger, LedgerError, Location, Source};
use crate::link::address::Address;
use crate::link::message::{EndWire, RecordCall, WaitingWire};
use crate::model::event::{Level, NewEvent};
use crate::runtime::environment::Environment;
use crate::runtime::warning::Warning;
use crate::runtime::{guard_link, records};

/// The outcome of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionOutcome {
    /// The client completed the session.
    Completed,
    /// A call waits for a person; the session ends until it is resumed.
    Waiting(Waiting),
    /// The client failed, with its message.
    Failed(String),
    /// The session exceeded its timeout.
    TimedOut,
    /// opsctl received a signal and ended the session.
    Signalled,
    /// The client could not be started, with the reason.
    NotStarted(String),
}

impl SessionOutcome {
    /// The name in the ledger.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Waiting(_) => "waiting",
            Self::Failed(_) => "failed",
            Self::TimedOut => "timeout",
            Self::Signalled => "signalled",
            Self::NotStarted(_) => "not_started",
        }
    }
}

/// Where a session is recorded.
enum Place {
    /// The ledger.
    Ledger(Box<Ledger>),
    /// The guard that has the ledger.
    Guard(Box<Environment>),
}

/// A session being recorded. A ledger that cannot be used gives one warning; the session goes on.
pub struct Record {
    place: Option<Place>,
    row: Option<i64>,
    session: String,
}

impl Record {
    /// Opens the row of a session that is about to start.
    pub fn begin(location: &Location, run: &NewRun<'_>) -> (Self, Option<Warning>) {
        let begun = match Address::of_process() {
            Some(guard) => begin_at_guard(&guard, run),
            None => begin_in_ledger(location, |change| change.begin_run(run)),
        };
        Self::of(run.session, begun)
    }

    /// Opens the row of a session that waited, and is about to be resumed.
    pub fn resume(location: &Location, run: &WaitingRun, at: DateTime<Utc>) -> (Self, Option<Warning>) {
        let begun = match Address::of_process() {
            Some(guard) => {
                record_at_guard(&guard, RecordCall::Resume { row: run.row }).map(|(place, _)| place)
            }
            None => {
                begin_in_ledger(location, |change| change.resume_run(run.row, at)).map(|(place, _)| place)
            }
        };
        Self::of(&run.session, begun.map(|place| (place, run.row)))
    }

    /// Ends a session that waited and cannot be resumed, with a critical event.
    pub fn give_up(
        location: &Location,
        run: &WaitingRun,
        why: &str,
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        let place = match Address::of_process() {
            Some(_) => Ok(Place::Guard(Box::new(Environment::of_process()))),
            None => Ledger::open(location).map(|ledger| Place::Ledger(Box::new(ledger))),
        };
        let (mut record, _) = Self::of(&run.session, place.map(|place| (place, run.row)));
        record.end(&SessionOutcome::Failed(why.to_owned()), None, None, 0, now)?;
        let message = format!("Session of tier {} cannot go on: {why}", run.tier);
        let event = NewEvent { level: Level::Critical, service: None, message };
        record.event(Source::Runner, &event, now)
    }

    fn of(session: &str, begun: Result<(Place, i64), LedgerError>) -> (Self, Option<Warning>) {
        let session = session.to_owned();
        match begun {
            Ok((place, row)) => (Self { place: Some(place), row: Some(row), session }, None),
            Err(error) => (Self { place: None, row: None, session }, Some(Warning::UnrecordedSession(error))),
        }
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Records an event.
    pub fn event(&mut self, source: Source, event: &NewEvent, now: DateTime<Utc>) -> Result<(), LedgerError> {
        match &mut self.place {
            None => Ok(()),
            Some(Place::Guard(environment)) => {
                records::add_event(environment, source, Some(&self.session), event, now)
            }
            Some(Place::Ledger(ledger)) => {
                let change = ledger.change()?;
                change.add_event_from(source, Some(&self.session), event, now)?;
                change.commit()
            }
        }
    }

    /// Completes the row.
    pub fn end(
        &mut self,
        outcome: &SessionOutcome,
        exit_code: Option<i32>,
        account: Option<&Account>,
        duration_ms: i64,
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        let (Some(place), Some(row)) = (&mut self.place, self.row) else { return Ok(()) };
        let waiting = match outcome {
            SessionOutcome::Waiting(waiting) => Some(waiting),
            _ => None,
        };
        let end = RunEnd {
            outcome: outcome.as_str(),
            waiting,
            exit_code,
            cost_usd: account.and_then(|account| account.cost_usd),
            turns: account.and_then(|account| account.turns),
            input_tokens: account.and_then(|account| account.input_tokens),
            output_tokens: account.and_then(|account| account.output_tokens),
            duration_ms,
            at: now,
        };
        match place {
            Place::Guard(environment) => end_at_guard(environment, row, &end),
            Place::Ledger(ledger) => {
                let change = ledger.change()?;
                change.end_run(row, &end)?;
                change.commit()
            }
        }
    }
}

fn begin_in_ledger<T>(
    location: &Location,
    begin: impl FnOnce(&Change<'_>) -> Result<T, LedgerError>,
) -> Result<(Place, T), LedgerError> {
    let mut ledger = Ledger::open(location)?;
    let change = ledger.change()?;
    let row = begin(&change)?;
    change.commit()?;
    Ok((Place::Ledger(Box::new(ledger)), row))
}

fn begin_at_guard(guard: &Address, run: &NewRun<'_>) -> Result<(Place, i64), LedgerError> {
    let record = RecordCall::Begin {
        session: run.session.to_owned(),
        tier: run.tier.number(),
        model: run.model.to_owned(),
        log: run.log.map(str::to_owned),
        parent: run.parent.map(str::to_owned),
    };
    let (place, row) = record_at_guard(guard, record)?;
    let row = row.as_i64().ok_or_else(|| LedgerError::of_guard(guard_link::unexpected()))?;
    Ok((place, row))
}

fn record_at_guard(guard: &Address, record: RecordCall) -> Result<(Place, Value), LedgerError> {
    let environment = Environment::of_process();
    let value = guard_link::record(guard, record, &environment).map_err(LedgerError::of_guard)?;
    Ok((Place::Guard(Box::new(environment)), value))
}

fn end_at_guard(environment: &Environment, row: i64, end: &RunEnd<'_>) -> Result<(), LedgerError> {
    let Some(guard) = &environment.guard else { return Ok(()) };
    let end = EndWire {
        outcome: end.outcome.to_owned(),
        waiting: end.waiting.map(|waiting| WaitingWire {
            call: waiting.call.clone(),
            transcript: waiting.transcript.clone(),
        }),
        exit_code: end.exit_code,
        cost_usd: end.cost_usd,
        turns: end.turns,
        input_tokens: end.input_tokens,
        output_tokens: end.output_tokens,
        duration_ms: end.duration_ms,
    };
    let record = RecordCall::End { row, end };
    guard_link::record(guard, record, environment).map(drop).map_err(LedgerError::of_guard)
}
