//! Records a session in the ledger: its row, and events from the agent's text.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::stream::Account;
use crate::ledger::client_runs::{NewRun, RunEnd};
use crate::ledger::{Ledger, LedgerError, Source};
use crate::link::address::Address;
use crate::link::message::{EndWire, RecordCall};
use crate::model::event::NewEvent;
use crate::runtime::environment::Environment;
use crate::runtime::warning::Warning;
use crate::runtime::{guard_link, records};

/// The outcome of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The client completed the session.
    Completed,
    /// The client failed, with its message.
    Failed(String),
    /// The session exceeded its timeout.
    TimedOut,
    /// opsctl received a signal and ended the session.
    Signalled,
    /// The client could not be started, with the reason.
    NotStarted(String),
}

impl Outcome {
    /// The name in the ledger.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
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
    pub fn begin(db: &Path, run: &NewRun<'_>) -> (Self, Option<Warning>) {
        let session = run.session.to_owned();
        let begun = match Address::of_process() {
            Some(guard) => begin_at_guard(&guard, run),
            None => begin_in_ledger(db, run),
        };
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
        outcome: &Outcome,
        exit_code: Option<i32>,
        account: Option<&Account>,
        duration_ms: i64,
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        let (Some(place), Some(row)) = (&mut self.place, self.row) else { return Ok(()) };
        let end = RunEnd {
            outcome: outcome.as_str(),
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

fn begin_in_ledger(db: &Path, run: &NewRun<'_>) -> Result<(Place, i64), LedgerError> {
    let mut ledger = Ledger::open(db)?;
    let change = ledger.change()?;
    let row = change.begin_run(run)?;
    change.commit()?;
    Ok((Place::Ledger(Box::new(ledger)), row))
}

fn begin_at_guard(guard: &Address, run: &NewRun<'_>) -> Result<(Place, i64), LedgerError> {
    let environment = Environment::of_process();
    let record = RecordCall::Begin {
        session: run.session.to_owned(),
        tier: run.tier.number(),
        model: run.model.to_owned(),
        log: run.log.map(str::to_owned),
        parent: run.parent.map(str::to_owned),
    };
    let row = guard_link::record(guard, record, &environment).map_err(LedgerError::of_guard)?;
    let row = row.as_i64().ok_or_else(|| LedgerError::of_guard(guard_link::unexpected()))?;
    Ok((Place::Guard(Box::new(environment)), row))
}

fn end_at_guard(environment: &Environment, row: i64, end: &RunEnd) -> Result<(), LedgerError> {
    let Some(guard) = &environment.guard else { return Ok(()) };
    let end = EndWire {
        outcome: end.outcome.to_owned(),
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
