//! Resets of budgets, consecutive healthy checks, and pruning.

use chrono::{DateTime, Utc};

use super::database::{Change, Ledger};
use super::decisions::Which;
use super::engine;
use super::engine::{OptionalExtension as _, Row, params};
use super::error::LedgerError;
use super::events::WhichEvents;
use super::{migrate, time};

/// The number of consecutive healthy checks that clear a service's counters (SPEC-0007 of Claude Ops).
pub const HEALTHY_CHECKS: u32 = 2;

/// The state of a streak of healthy checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streak {
    /// The number of consecutive healthy checks, below [`HEALTHY_CHECKS`].
    Of(u32),
    /// The counters are cleared, and the streak starts at 0.
    Cleared,
}

/// The last health check of a service that was recorded with [`Change::note_health`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCheck {
    /// The service.
    pub service: String,
    /// Whether it was healthy.
    pub healthy: bool,
    /// When it was checked.
    pub at: DateTime<Utc>,
}

/// A healthy check that clears the counters sets the streak to 0, too.
const LAST_CHECKS: &str = "SELECT service, last_checked_at, consecutive_healthy > 0 OR EXISTS (
         SELECT 1 FROM budget_resets AS cleared WHERE cleared.service = streak.service AND at = last_checked_at)
     FROM service_health_streak AS streak";

impl Ledger {
    /// The last recorded health check of each service.
    pub fn last_checks(&self) -> Result<Vec<LastCheck>, LedgerError> {
        let look = || -> engine::Result<Vec<LastCheck>> {
            if !migrate::is_latest(&self.connection)? {
                return Ok(vec![]);
            }
            let mut statement = self.connection.prepare(LAST_CHECKS)?;
            let mut rows = statement.query([])?;
            let mut checks = Vec::new();
            while let Some(row) = rows.next()? {
                // Columns of other writers may have any type; rows that cannot be read are ignored.
                checks.extend(last_check(&row));
            }
            Ok(checks)
        };
        look().map_err(|cause| self.error(cause))
    }
}

impl Ledger {
    /// Whether an action, an event, a decision or a health check of this name is recorded.
    pub fn knows_service(&self, name: &str) -> Result<bool, LedgerError> {
        let which = Which { service: Some(name), ..Which::default() };
        let events = WhichEvents { service: Some(name), ..WhichEvents::default() };
        if !self.decisions(which, 1)?.is_empty()
            || self.events(events, 1)?.is_some_and(|found| !found.is_empty())
        {
            return Ok(true);
        }
        let look = || -> engine::Result<bool> {
            for table in ["hook_actions", "cooldown_actions", "service_health_streak"] {
                let sql = format!("SELECT 1 FROM {table} WHERE service = ?1 LIMIT 1");
                if migrate::has_table(&self.connection, table)?
                    && self.connection.prepare(&sql)?.exists([name])?
                {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        look().map_err(|cause| self.error(cause))
    }
}

fn last_check(row: &Row<'_>) -> Option<LastCheck> {
    let at = time::read(&row.get::<String>(1).ok()?)?;
    Some(LastCheck { service: row.get(0).ok()?, healthy: row.get(2).ok()?, at })
}

impl Change<'_> {
    /// Clears the counters of a service and releases its lease. Recorded actions stay.
    pub fn reset(&self, service: &str, now: DateTime<Utc>) -> Result<(), LedgerError> {
        self.clear(service, "reset", now)
            .and_then(|()| self.release_lease_of(service))
            .and_then(|()| self.set_streak(service, 0, now))
            .map_err(|e| self.error(e))
    }

    /// Clears the counters of a service and what is known of its health, and releases its lease. Recorded actions and events
    /// stay.
    pub fn forget(&self, service: &str, now: DateTime<Utc>) -> Result<(), LedgerError> {
        let forget = || {
            self.clear(service, "reset", now)?;
            self.release_lease_of(service)?;
            self.mark_session(service, None)?;
            self.transaction.execute("DELETE FROM service_health_streak WHERE service = ?1", [service])
        };
        forget().map(|_| ()).map_err(|e| self.error(e))
    }

    /// Records a health check of a service. Consecutive healthy checks of one session count once; a check without a
    /// session always counts. `in_file` is the number of consecutive healthy checks that `cooldown.json` states; it counts
    /// while the ledger has none for this service.
    pub fn note_health(
        &self,
        service: &str,
        healthy: bool,
        in_file: u32,
        session: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Streak, LedgerError> {
        self.try_note_health(service, healthy, in_file, session, now).map_err(|e| self.error(e))
    }

    fn try_note_health(
        &self,
        service: &str,
        healthy: bool,
        in_file: u32,
        session: Option<&str>,
        now: DateTime<Utc>,
    ) -> engine::Result<Streak> {
        let before = self.streak(service)?.unwrap_or(in_file);
        if healthy && before > 0 && session.is_some() && self.last_session(service)?.as_deref() == session {
            return Ok(Streak::Of(before));
        }
        self.mark_session(service, session.filter(|_| healthy))?;
        let streak = if healthy { before.saturating_add(1) } else { 0 };
        if streak < HEALTHY_CHECKS {
            self.set_streak(service, streak, now)?;
            return Ok(Streak::Of(streak));
        }
        self.clear(service, "healthy", now)?;
        self.set_streak(service, 0, now)?;
        Ok(Streak::Cleared)
    }

    fn streak(&self, service: &str) -> engine::Result<Option<u32>> {
        let sql = "SELECT consecutive_healthy FROM service_health_streak WHERE service = ?1";
        self.transaction.query_row(sql, [service], |row| row.get(0)).optional()
    }

    fn last_session(&self, service: &str) -> engine::Result<Option<String>> {
        let sql = "SELECT session_id FROM health_marks WHERE service = ?1";
        self.transaction.query_row(sql, [service], |row| row.get(0)).optional()
    }

    fn mark_session(&self, service: &str, session: Option<&str>) -> engine::Result<()> {
        match session {
            Some(session) => self.transaction.execute(
                "INSERT INTO health_marks (service, session_id) VALUES (?1, ?2)
                 ON CONFLICT (service) DO UPDATE SET session_id = ?2",
                [service, session],
            ),
            None => self.transaction.execute("DELETE FROM health_marks WHERE service = ?1", [service]),
        }
        .map(|_| ())
    }

    fn clear(&self, service: &str, why: &str, now: DateTime<Utc>) -> engine::Result<()> {
        self.transaction.run(
            "INSERT INTO budget_resets (service, at, why, last_action, agent)
                 VALUES (?1, ?2, ?3, (SELECT coalesce(max(id), 0) FROM cooldown_actions), ?4)",
            params![service, time::write(now), why, self.agent()],
        )?;
        // An open reservation counts again when it is settled.
        self.transaction.run(
            "UPDATE hook_actions SET cleared = TRUE WHERE service = ?1 AND state = 'reserved'",
            [service],
        )
    }

    fn set_streak(&self, service: &str, streak: u32, now: DateTime<Utc>) -> engine::Result<()> {
        self.transaction.run(
            "INSERT INTO service_health_streak (service, consecutive_healthy, last_checked_at)
                 VALUES (?1, ?2, ?3)
                 ON CONFLICT (service) DO UPDATE SET consecutive_healthy = ?2, last_checked_at = ?3",
            params![service, streak, time::write(now)],
        )
    }

    /// Deletes rows older than `cutoff`, rounded down by up to three days. Returns how many rows were deleted.
    pub fn prune(&self, cutoff: DateTime<Utc>) -> Result<usize, LedgerError> {
        let cutoff = time::floor(cutoff);
        let mut deleted = 0;
        self.keep_counts(&cutoff).map_err(|e| self.error(e))?;
        for (table, column, which) in [
            ("events", "created_at", ""),
            ("cooldown_actions", "timestamp", ""),
            // A reservation that expired so long ago never ran.
            ("hook_actions", "expires_at", ""),
            ("hook_settled", "settled_at", ""),
            ("hook_decisions", "at", ""),
            ("hook_times", "at", ""),
            ("notices", "created_at", ""),
            ("verifications", "at", ""),
            ("session_reminders", "changed_at", ""),
            ("client_runs", "started_at", ""),
            ("questions", "asked_at", ""),
            ("grants", "expires_at", ""),
            ("api_requests", "at", ""),
            // The last reset of a service determines which of its rows no longer count.
            ("budget_resets", "at", " AND id NOT IN (SELECT max(id) FROM budget_resets GROUP BY service)"),
        ] {
            deleted += self
                .transaction
                .execute(&format!("DELETE FROM {table} WHERE {column} < ?1{which}"), [&cutoff])
                .map_err(|e| self.error(e))?;
        }
        for orphans in [
            "DELETE FROM recorded_actions WHERE action_id NOT IN (SELECT id FROM cooldown_actions)",
            "DELETE FROM recorded_events WHERE event_id NOT IN (SELECT id FROM events)",
            "DELETE FROM question_answers WHERE question_id NOT IN (SELECT id FROM questions)",
            "DELETE FROM grant_uses WHERE grant_id NOT IN (SELECT id FROM grants)",
        ] {
            self.transaction.execute(orphans, []).map_err(|e| self.error(e))?;
        }
        deleted += self.prune_sessions(&cutoff).map_err(|e| self.error(e))?;
        Ok(deleted)
    }
}
