//! Records a session in the ledger: its row, and events from the agent's text.

mod running;

use std::path::Path;

use chrono::{DateTime, Utc};

use self::running::{Held, Running};
use super::output::stream::Account;
use crate::machine::client::refusals;
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
    running: Option<Running>,
    held: Option<Held>,
}

impl Record {
    /// Opens the row of a session that is about to start. `transcripts` is the folder of the client's transcripts.
    pub fn begin(
        environment: &Environment,
        run: NewRun,
        transcripts: &Path,
        at: DateTime<Utc>,
    ) -> (Self, Option<Warning>) {
        let (session, tier) = (run.session.clone(), run.tier);
        let row = records::record(environment, RecordCall::Begin(run), at);
        let row =
            row.and_then(|row| row.as_i64().ok_or_else(|| LedgerError::of_guard(guard_link::unexpected())));
        let (record, warning) = Self::of(environment, &session, row);
        (record.held(tier, transcripts), warning)
    }

    /// Opens the row of a session that waited, and is about to be resumed.
    pub fn resume(
        environment: &Environment,
        run: &WaitingRun,
        transcripts: &Path,
        at: DateTime<Utc>,
    ) -> (Self, Option<Warning>) {
        let resumed = records::record(environment, RecordCall::Resume { row: run.row }, at);
        let (record, warning) = Self::of(environment, &run.session, resumed.map(|_| run.row));
        (record.held(run.tier, transcripts), warning)
    }

    /// Holds the file by which the end of this process is noticed.
    fn held(mut self, tier: u8, transcripts: &Path) -> Self {
        self.running = self.row.map(|row| Running {
            row,
            session: self.session.clone(),
            tier,
            transcripts: transcripts.to_owned(),
        });
        // In a state folder that cannot be written, the deadline tells that a session was cut off.
        let hold = |running: &Running| running.hold(&self.environment.state_dir).ok();
        self.held = self.running.as_ref().and_then(hold);
        self
    }

    /// Records the end of sessions whose process was killed, or lost its power supply: what they had been allowed counts, unless
    /// the client refused it. Returns a line for each.
    pub fn end_cut_off(environment: &Environment, now: DateTime<Utc>) -> Vec<String> {
        let left = running::left(&environment.state_dir).into_iter();
        let end = |(running, held): (Running, Held)| {
            let Running { row, session, tier, .. } = &running;
            let line = format!(
                "Session of tier {tier} was cut off: its process was killed, or the machine went down"
            );
            let (mut record, _) = Self::of(environment, session, Ok(*row));
            (record.running, record.held) = (Some(running.clone()), Some(held));
            let ended = record.end_as("cut_off", RunEnd::default(), now).and_then(|()| {
                let event = NewEvent { level: Level::Warning, service: None, message: line.clone() };
                record.event(Source::Runner, &event, now)
            });
            ended.err().map_or(line, |error| error.to_string())
        };
        left.map(end).collect()
    }

    /// Ends a session that waited and cannot be resumed, with a critical event.
    pub fn give_up(environment: &Environment, run: &WaitingRun, why: &str, now: DateTime<Utc>) -> Result<()> {
        let (mut record, _) = Self::of(environment, &run.session, Ok(run.row));
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
        let (environment, session) = (environment.clone(), session.to_owned());
        (Self { environment, row, session, running: None, held: None }, warning)
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The number of the session's row, if it is recorded.
    pub const fn row(&self) -> Option<i64> {
        self.row
    }

    /// Records an event.
    pub fn event(&self, source: Source, event: &NewEvent, now: DateTime<Utc>) -> Result<()> {
        if self.row.is_none() {
            return Ok(());
        }
        records::add_event(&self.environment, source, Some(&self.session), event, now)
    }

    /// Completes the row, and settles what the session has left.
    pub fn end(
        &mut self,
        outcome: &SessionOutcome,
        exit_code: Option<i32>,
        account: Option<&Account>,
        duration_ms: i64,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let waiting = match outcome {
            SessionOutcome::Waiting(waiting) => Some(waiting.clone()),
            _ => None,
        };
        let end = RunEnd {
            waiting,
            exit_code,
            cost_usd: account.and_then(|account| account.cost_usd),
            turns: account.and_then(|account| account.turns),
            input_tokens: account.and_then(|account| account.input_tokens),
            output_tokens: account.and_then(|account| account.output_tokens),
            duration_ms,
            ..RunEnd::default()
        };
        self.end_as(outcome.as_str(), end, now)
    }

    fn end_as(&mut self, outcome: &str, end: RunEnd, now: DateTime<Utc>) -> Result<()> {
        let Some(row) = self.row else { return Ok(()) };
        let refused =
            self.running.as_ref().map(|running| refusals::of_session(&running.transcripts, &self.session));
        let end = RunEnd { outcome: outcome.to_owned(), ..end };
        let call = RecordCall::End { row, end, refused: refused.unwrap_or_default() };
        records::record(&self.environment, call, now)?;
        if let Some(held) = self.held.take() {
            held.end();
        }
        Ok(())
    }
}
