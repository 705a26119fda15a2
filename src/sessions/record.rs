//! Records a session in the ledger: its row, and events from the agent's text.

use chrono::{DateTime, Utc};

use super::stream::Account;
use crate::machine::environment::Environment;
use crate::machine::link::message::RecordCall;
use crate::machine::warning::Warning;
use crate::machine::{guard_link, records};
use opsctl_ledger::sessions::client_runs::{NewRun, RunEnd, Waiting, WaitingRun};
use opsctl_ledger::{LedgerError, Result, Source};
use opsctl_policy::model::records::event::{Level, NewEvent};

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

/// A session being recorded. A ledger that cannot be used gives one warning; the session goes on.
pub struct Record {
    environment: Environment,
    row: Option<i64>,
    session: String,
}

impl Record {
    /// Opens the row of a session that is about to start.
    pub fn begin(environment: &Environment, run: NewRun, at: DateTime<Utc>) -> (Self, Option<Warning>) {
        let session = run.session.clone();
        let row = records::record(environment, RecordCall::Begin(run), at);
        let row =
            row.and_then(|row| row.as_i64().ok_or_else(|| LedgerError::of_guard(guard_link::unexpected())));
        Self::of(environment, &session, row)
    }

    /// Opens the row of a session that waited, and is about to be resumed.
    pub fn resume(environment: &Environment, run: &WaitingRun, at: DateTime<Utc>) -> (Self, Option<Warning>) {
        let resumed = records::record(environment, RecordCall::Resume { row: run.row }, at);
        Self::of(environment, &run.session, resumed.map(|_| run.row))
    }

    /// Ends a session that waited and cannot be resumed, with a critical event.
    pub fn give_up(environment: &Environment, run: &WaitingRun, why: &str, now: DateTime<Utc>) -> Result<()> {
        let (record, _) = Self::of(environment, &run.session, Ok(run.row));
        record.end(&SessionOutcome::Failed(why.to_owned()), None, None, 0, now)?;
        let message = format!("Session of tier {} cannot go on: {why}", run.tier);
        let event = NewEvent { level: Level::Critical, service: None, message };
        record.event(Source::Runner, &event, now)
    }

    fn of(environment: &Environment, session: &str, row: Result<i64>) -> (Self, Option<Warning>) {
        let (row, warning) = match row {
            Ok(row) => (Some(row), None),
            Err(error) => (None, Some(Warning::UnrecordedSession(error))),
        };
        (Self { environment: environment.clone(), row, session: session.to_owned() }, warning)
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Records an event.
    pub fn event(&self, source: Source, event: &NewEvent, now: DateTime<Utc>) -> Result<()> {
        if self.row.is_none() {
            return Ok(());
        }
        records::add_event(&self.environment, source, Some(&self.session), event, now)
    }

    /// Completes the row.
    pub fn end(
        &self,
        outcome: &SessionOutcome,
        exit_code: Option<i32>,
        account: Option<&Account>,
        duration_ms: i64,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let Some(row) = self.row else { return Ok(()) };
        let waiting = match outcome {
            SessionOutcome::Waiting(waiting) => Some(waiting.clone()),
            _ => None,
        };
        let end = RunEnd {
            outcome: outcome.as_str().to_owned(),
            waiting,
            exit_code,
            cost_usd: account.and_then(|account| account.cost_usd),
            turns: account.and_then(|account| account.turns),
            input_tokens: account.and_then(|account| account.input_tokens),
            output_tokens: account.and_then(|account| account.output_tokens),
            duration_ms,
        };
        records::record(&self.environment, RecordCall::End { row, end }, now).map(drop)
    }
}
