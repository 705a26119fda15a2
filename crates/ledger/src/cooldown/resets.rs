//! Resets of budgets.

use chrono::{DateTime, Utc};

use crate::engine::{Result, Row, params};
use crate::file::database::{Change, Ledger};
use crate::records::decisions::Which;
use crate::time;

impl Ledger {
    /// The services whose counters were cleared, and when, oldest first.
    pub fn resets(&self) -> Result<Vec<(String, DateTime<Utc>)>> {
        let read = |row: &Row<'_>| Ok((row.get::<String>(0)?, time::read(&row.get::<String>(1)?)));
        let all =
            self.query("SELECT service, at FROM budget_resets ORDER BY id LIMIT 100000", params![], read)?;
        Ok(all.into_iter().filter_map(|(service, at)| Some((service, at?))).collect())
    }

    /// Whether an action, an event, a decision or a health check of this name is recorded.
    pub fn knows_service(&self, name: &str) -> Result<bool> {
        let which = Which { service: Some(name), ..Which::default() };
        if !self.decisions(which, 1)?.is_empty() || !self.events(which, 1)?.is_empty() {
            return Ok(true);
        }
        for table in ["hook_actions", "cooldown_actions", "service_checks"] {
            let sql = format!("SELECT 1 FROM {table} WHERE service = ?1 LIMIT 1");
            if self.exists(&sql, params![name])? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Change<'_> {
    /// Clears the counters of a service and releases its lease. Recorded actions stay.
    pub fn reset(&self, service: &str, now: DateTime<Utc>) -> Result<()> {
        self.clear(service, "reset", now)
            .and_then(|()| self.release_lease_of(service))
            .and_then(|()| self.set_streak(service, 0, now))
    }

    /// Clears the counters of a service and what is known of its health, and releases its lease. Recorded actions and events
    /// stay.
    pub fn forget(&self, service: &str, now: DateTime<Utc>) -> Result<()> {
        self.clear(service, "reset", now)?;
        self.release_lease_of(service)?;
        for table in ["service_checks", "service_health_streak"] {
            self.run(&format!("DELETE FROM {table} WHERE service = ?1"), params![service])?;
        }
        Ok(())
    }

    pub(crate) fn clear(&self, service: &str, why: &str, now: DateTime<Utc>) -> Result<()> {
        // An open reservation counts again when it is settled.
        self.run(
            "INSERT INTO budget_resets (service, at, why, last_action, last_reservation, last_check, agent)
                 VALUES (?1, ?2, ?3, (SELECT coalesce(max(id), 0) FROM cooldown_actions),
                     (SELECT coalesce(max(id), 0) FROM hook_actions), (SELECT coalesce(max(id), 0) FROM service_checks), ?4)",
            params![service, time::write(now), why, self.agent()],
        )
    }
}
