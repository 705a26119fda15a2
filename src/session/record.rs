//! Records a session in the ledger: its row, and events from the agent's text.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::stream::Account;
use crate::ledger::client_runs::{NewRun, RunEnd, Waiting, WaitingRun};
use crate::ledger::{Ledger, LedgerError, Source};
use crate::model::event::{Level, NewEvent};
use crate::runtime::warning::Warning;

/// The outcome of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
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

impl Outcome {
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

/// A session being recorded. A ledger that cannot be used gives one warning; the session goes on.
pub struct Record {
    ledger: Option<Ledger>,
    row: Option<i64>,
    session: String,
}

impl Record {
    /// Opens the row of a session that is about to start.
    pub fn begin(db: &Path, run: &NewRun<'_>) -> (Self, Option<Warning>) {
        let begun = Ledger::open(db).and_then(|mut ledger| {
            let change = ledger.change()?;
            let row = change.begin_run(run)?;
            change.commit()?;
            Ok((ledger, row))
        });
        Self::of(run.session, begun)
    }

    /// Opens the row of a session that waited, and is about to be resumed.
    pub fn resume(db: &Path, run: &WaitingRun, at: DateTime<Utc>) -> (Self, Option<Warning>) {
        let begun = Ledger::open(db).and_then(|mut ledger| {
            let change = ledger.change()?;
            change.resume_run(run.row, at)?;
            change.commit()?;
            Ok((ledger, run.row))
        });
        Self::of(&run.session, begun)
    }

    /// Ends a session that waited and cannot be resumed, with a critical event.
    pub fn give_up(db: &Path, run: &WaitingRun, why: &str, now: DateTime<Utc>) -> Result<(), LedgerError> {
        let (mut record, _) = Self::of(&run.session, Ledger::open(db).map(|ledger| (ledger, run.row)));
        record.end(&Outcome::Failed(why.to_owned()), None, None, 0, now)?;
        let message = format!("Session of tier {} cannot go on: {why}", run.tier);
        let event = NewEvent { level: Level::Critical, service: None, message };
        record.event(Source::Runner, &event, now)
    }

    fn of(session: &str, begun: Result<(Ledger, i64), LedgerError>) -> (Self, Option<Warning>) {
        let session = session.to_owned();
        match begun {
            Ok((ledger, row)) => (Self { ledger: Some(ledger), row: Some(row), session }, None),
            Err(error) => {
                (Self { ledger: None, row: None, session }, Some(Warning::UnrecordedSession(error)))
            }
        }
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Records an event.
    pub fn event(&mut self, source: Source, event: &NewEvent, now: DateTime<Utc>) -> Result<(), LedgerError> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let change = ledger.change()?;
        change.add_event_from(source, Some(&self.session), event, now)?;
        change.commit()
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
        let (Some(ledger), Some(row)) = (&mut self.ledger, self.row) else { return Ok(()) };
        let change = ledger.change()?;
        change.end_run(
            row,
            &RunEnd {
                outcome: outcome.as_str(),
                waiting: match outcome {
                    Outcome::Waiting(waiting) => Some(waiting),
                    _ => None,
                },
                exit_code,
                cost_usd: account.and_then(|account| account.cost_usd),
                turns: account.and_then(|account| account.turns),
                input_tokens: account.and_then(|account| account.input_tokens),
                output_tokens: account.and_then(|account| account.output_tokens),
                duration_ms,
                at: now,
            },
        )?;
        change.commit()
    }
}
