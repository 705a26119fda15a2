//! The `client_runs` table: the sessions that `opsctl session` started, with outcome and cost.

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Row, params};

use super::database::{Change, Ledger};
use super::error::LedgerError;
use super::history::Period;
use super::{migrate, time};
use crate::model::policy::{Policy, Tier};

/// A session that is about to start.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// Its id, also used by hooks and events.
    pub session: &'a str,
    /// The tier that it runs at.
    pub tier: Tier,
    /// The model that it was started with.
    pub model: &'a str,
    /// The path of its log; `None` if no log can be written.
    pub log: Option<&'a str>,
    /// The start time.
    pub at: DateTime<Utc>,
}

/// The end of a session.
#[derive(Debug)]
pub struct RunEnd {
    /// `completed`, `failed`, `timeout`, `signalled` or `not_started`.
    pub outcome: &'static str,
    /// The client's exit code; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The cost in US dollars, as estimated by the client.
    pub cost_usd: Option<f64>,
    /// The number of turns of the model.
    pub turns: Option<i64>,
    /// Input tokens, including those read from a cache.
    pub input_tokens: Option<i64>,
    /// Output tokens.
    pub output_tokens: Option<i64>,
    /// Its duration in milliseconds.
    pub duration_ms: i64,
    /// The end time.
    pub at: DateTime<Utc>,
}

/// A stored session.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its id, also used by hooks and events.
    pub session: String,
    /// The tier that it ran at.
    pub tier: u8,
    /// The model that it was started with.
    pub model: String,
    /// The start time; `None` if it cannot be parsed.
    pub started_at: Option<DateTime<Utc>>,
    /// `running`, or an outcome of [`RunEnd`].
    pub outcome: String,
    /// The cost in US dollars, as estimated by the client.
    pub cost_usd: Option<f64>,
    /// The number of turns of the model.
    pub turns: Option<i64>,
    /// Its duration in milliseconds.
    pub duration_ms: Option<i64>,
}

/// The time that a session has, after its deadline, to end and to be recorded.
const TO_END: TimeDelta = TimeDelta::minutes(5);

impl Run {
    /// Whether it is still `running` after its deadline: opsctl died before it recorded the end.
    pub fn is_cut_off(&self, policy: &Policy, now: DateTime<Utc>) -> bool {
        let Some(tier) = Tier::from_number(self.tier).filter(|_| self.outcome == "running") else {
            return false;
        };
        self.started_at.is_some_and(|at| now - at > policy.tier(tier).deadline.delta() + TO_END)
    }
}

const LATEST: &str = "SELECT session_id, tier, model, started_at, outcome, cost_usd, turns, duration_ms
     FROM client_runs WHERE ?1 IS NULL OR started_at >= ?1 ORDER BY id DESC LIMIT ?2";

impl Change<'_> {
    /// Adds the row of a session that is about to start. Returns the row's id.
    pub fn begin_run(&self, run: &NewRun<'_>) -> Result<i64, LedgerError> {
        let NewRun { session, tier, model, log, at } = run;
        self.transaction
            .execute(
                "INSERT INTO client_runs (session_id, tier, model, log_path, started_at, outcome)
                 VALUES (?1, ?2, ?3, ?4, ?5, 'running')",
                params![session, tier.number(), model, log, time::write(*at)],
            )
            .map(|_| self.transaction.last_insert_rowid())
            .map_err(|e| self.error(e))
    }

    /// Completes the row of a session that has ended.
    pub fn end_run(&self, row: i64, end: &RunEnd) -> Result<(), LedgerError> {
        self.transaction
            .execute(
                "UPDATE client_runs SET outcome = ?2, exit_code = ?3, cost_usd = ?4, turns = ?5,
                     input_tokens = ?6, output_tokens = ?7, duration_ms = ?8, ended_at = ?9 WHERE id = ?1",
                params![
                    row,
                    end.outcome,
                    end.exit_code,
                    end.cost_usd,
                    end.turns,
                    end.input_tokens,
                    end.output_tokens,
                    end.duration_ms,
                    time::write(end.at)
                ],
            )
            .map(|_| ())
            .map_err(|e| self.error(e))
    }
}

impl Ledger {
    /// The latest sessions, at most `most`, that started at or after `since`; newest first.
    pub fn runs(&self, since: Option<DateTime<Utc>>, most: u32) -> Result<Period<Run>, LedgerError> {
        let look = || {
            if !migrate::has_table(&self.connection, "client_runs")? {
                return Ok(vec![]);
            }
            let wanted = params![since.map(time::write), i64::from(most) + 1];
            self.connection.prepare(LATEST)?.query_map(wanted, run)?.collect()
        };
        look().map(|rows| Period::of(rows, most)).map_err(|cause| self.error(cause))
    }
}

fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        session: row.get(0)?,
        tier: row.get(1)?,
        model: row.get(2)?,
        started_at: time::read(&row.get::<_, String>(3)?),
        outcome: row.get(4)?,
        cost_usd: row.get(5)?,
        turns: row.get(6)?,
        duration_ms: row.get(7)?,
    })
}
