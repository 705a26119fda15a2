//! The `session_reminders` table: the notes that a session has received, so that it receives each once.

use chrono::{DateTime, Utc};

use crate::engine::{OptionalExtension as _, Result, ToSql, params};
use crate::file::database::{Change, Ledger};
use crate::file::migrate;
use crate::records::events::Source;
use crate::time;

/// The number of latest events that are searched for a session's report.
const LATEST: u32 = 5_000;

const REPORTED: &str = "SELECT 1 FROM session_reminders WHERE session_id = ?1 AND reported_at IS NOT NULL";

const HAS_EVENT_OF_ITS_OWN: &str =
    "SELECT 1 FROM (SELECT session_id, source FROM events ORDER BY id DESC LIMIT ?3) AS latest
     WHERE session_id = ?1 AND source = ?2";

/// For events in a table of the session manager.
const HAS_RECORDED_EVENT: &str =
    "SELECT 1 FROM (SELECT session_id, source FROM recorded_events ORDER BY event_id DESC LIMIT ?3) AS latest
     WHERE session_id = ?1 AND source = ?2";

impl Ledger {
    /// Whether the client keeps no transcript of the session.
    pub fn has_no_record(&self, session: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM session_reminders WHERE session_id = ?1 AND record_missing";
        self.exists(sql, params![session])
    }

    /// The context level, in per cent, that the session was last warned about; 0 for none.
    pub fn context_level(&self, session: &str) -> Result<u8> {
        let sql = "SELECT context_level FROM session_reminders WHERE session_id = ?1";
        Ok(self.query_row(sql, params![session], |row| row.get(0)).optional()?.unwrap_or(0))
    }
}

impl Change<'_> {
    /// Records a warning about a context level. `false` if the session was already warned about it or a higher one.
    pub fn raise_context_level(&self, session: &str, level: u8, now: DateTime<Utc>) -> Result<bool> {
        self.remind(session, "context_level", &level, "WHERE session_reminders.context_level < ?2", now)
    }

    /// Resets the context level after the context was cleared or compacted, so that every level warns again.
    pub fn forget_context_level(&self, session: &str, now: DateTime<Utc>) -> Result<()> {
        let sql = "UPDATE session_reminders SET context_level = 0, changed_at = ?2 WHERE session_id = ?1";
        self.run(sql, params![session, time::write(now)])
    }

    /// Records that the client keeps no transcript of the session.
    pub fn note_no_record(&self, session: &str, now: DateTime<Utc>) -> Result<()> {
        self.remind(session, "record_missing", &true, "", now).map(|_| ())
    }

    /// Records that a session is asked to report. `false` if it was asked before.
    pub fn ask_for_report(&self, session: &str, now: DateTime<Utc>) -> Result<bool> {
        let first = "WHERE session_reminders.report_asked_at IS NULL";
        self.remind(session, "report_asked_at", &time::write(now), first, now)
    }

    /// Records that a session has reported: it sent a notification or wrote a hand-over.
    pub fn note_report(&self, session: &str, now: DateTime<Utc>) -> Result<()> {
        self.remind(session, "reported_at", &time::write(now), "", now).map(|_| ())
    }

    /// Whether a session has reported: with a notification, a hand-over or an event of its own.
    pub fn has_reported(&self, session: &str) -> Result<bool> {
        let has_event = |sql: &str| self.exists(sql, params![session, Source::Agent.as_str(), LATEST]);
        Ok(self.exists(REPORTED, params![session])?
            || has_event(HAS_RECORDED_EVENT)?
            || migrate::has_column(&self.transaction, "events", "source")?
                && has_event(HAS_EVENT_OF_ITS_OWN)?)
    }

    /// Sets a column of a session's row, if `only` lets it. Whether it did.
    fn remind(
        &self,
        session: &str,
        column: &str,
        value: &dyn ToSql,
        only: &str,
        now: DateTime<Utc>,
    ) -> Result<bool> {
        let sql = format!(
            "INSERT INTO session_reminders (session_id, {column}, changed_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (session_id) DO UPDATE SET {column} = ?2, changed_at = ?3 {only}"
        );
        self.execute(&sql, params![session, value, time::write(now)]).map(|rows| rows > 0)
    }
}
