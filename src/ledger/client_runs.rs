//! The `client_runs` table: every session that was started, how it came out and what it cost.

use chrono::{DateTime, Utc};
use rusqlite::params;

use super::{Change, LedgerError, time};
use crate::model::policy::Tier;

/// A session that is about to start.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// Its id, which hooks and events have, too.
    pub session: &'a str,
    /// The tier that it runs at.
    pub tier: Tier,
    /// The model that it was started with.
    pub model: &'a str,
    /// Its log; `None` where none can be written.
    pub log: Option<&'a str>,
    /// When.
    pub at: DateTime<Utc>,
}

/// How a session came out.
#[derive(Debug)]
pub struct RunEnd {
    /// `completed`, `failed`, `timeout`, `signalled` or `not_started`.
    pub outcome: &'static str,
    /// The client's exit code; `None` when a signal ended it.
    pub exit_code: Option<i32>,
    /// In US dollars, as the client estimates it.
    pub cost_usd: Option<f64>,
    /// Turns of the model.
    pub turns: Option<i64>,
    /// Tokens read, those from a cache included.
    pub input_tokens: Option<i64>,
    /// Tokens written.
    pub output_tokens: Option<i64>,
    /// How long it took.
    pub duration_ms: i64,
    /// When.
    pub at: DateTime<Utc>,
}

impl Change<'_> {
    /// Adds the row of a session that is about to start, and gives its number.
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
