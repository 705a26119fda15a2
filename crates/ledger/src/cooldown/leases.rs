//! Leases: which agent remediates a service now, where `policy.exclusive` lets only one of them do it at a time.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::engine::{Result, Row, params};
use crate::file::database::{Change, Ledger};
use crate::time;
use opsctl_policy::budgets::budget::Holder;
use opsctl_policy::decide::Reservation;

pub(crate) const OF_OTHERS: &str =
    "SELECT agent, expires_at FROM leases WHERE service = ?1 AND agent <> ?2 AND expires_at > ?3";

/// A lease of another agent stays: a person may have approved one call during it. A lease that two sessions of an agent have
/// taken belongs to neither of them, and ends when it expires.
const TAKE: &str = "INSERT INTO leases (service, agent, session_id, expires_at) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (service) DO UPDATE SET
         agent = excluded.agent, expires_at = excluded.expires_at,
         session_id = CASE WHEN leases.expires_at <= ?5 OR leases.session_id = excluded.session_id
             THEN excluded.session_id END
     WHERE leases.agent = excluded.agent OR leases.expires_at <= ?5";

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lease {
    /// The service.
    pub service: String,
    /// The agent that remediates it.
    pub agent: String,
    /// The session whose end releases it; `None`: it ends when it expires.
    pub session: Option<String>,
    /// When it expires.
    pub until: DateTime<Utc>,
}

/// Goes from name to name in the indexes of agents.
const AGENTS: &str = "WITH RECURSIVE
         of_sessions(agent) AS (SELECT min(agent) FROM hook_sessions UNION ALL
             SELECT (SELECT min(agent) FROM hook_sessions WHERE agent > of_sessions.agent) FROM of_sessions WHERE of_sessions.agent IS NOT NULL),
         of_runs(agent) AS (SELECT min(agent) FROM client_runs UNION ALL
             SELECT (SELECT min(agent) FROM client_runs WHERE agent > of_runs.agent) FROM of_runs WHERE of_runs.agent IS NOT NULL)
     SELECT agent FROM of_sessions WHERE agent IS NOT NULL UNION SELECT agent FROM of_runs WHERE agent IS NOT NULL
     UNION SELECT agent FROM leases ORDER BY agent";

impl Change<'_> {
    /// Takes or renews the leases of the services of these reservations for the agent that changes the ledger.
    pub fn take_leases(
        &self,
        session: Option<&str>,
        reservations: &[Reservation],
        length: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let mut services: Vec<&str> =
            reservations.iter().map(|reservation| reservation.key.service.as_str()).collect();
        services.sort_unstable();
        services.dedup();
        let (agent, until, now) = (self.agent(), time::write(now + length), time::write(now));
        for service in services {
            self.run(TAKE, params![service, agent, session, until, now])?;
        }
        Ok(())
    }

    /// Releases the leases of a session that has ended.
    pub fn release_leases(&self, session: &str) -> Result<()> {
        self.run("DELETE FROM leases WHERE session_id = ?1", params![session])
    }

    /// Releases the lease of a service.
    pub(crate) fn release_lease_of(&self, service: &str) -> Result<()> {
        self.run("DELETE FROM leases WHERE service = ?1", params![service])
    }
}

impl Ledger {
    /// The names of the agents that have had sessions or have leases, sorted.
    pub fn agents(&self) -> Result<Vec<String>> {
        self.query(AGENTS, &[], |row| row.get(0))
    }

    /// The leases at `now`, by service.
    pub fn leases(&self, now: DateTime<Utc>) -> Result<Vec<Lease>> {
        let sql = "SELECT service, agent, session_id, expires_at FROM leases WHERE expires_at > ?1 ORDER BY service";
        let found = self.query(sql, params![time::write(now)], |row| {
            let (service, agent, session) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(row.time(3)?.map(|until| Lease { service, agent, session, until }))
        })?;
        Ok(found.into_iter().flatten().collect())
    }
}

/// The other agent that has the lease of a service, from a row of [`OF_OTHERS`].
pub(crate) fn holder(row: &Row<'_>) -> Result<Option<Holder>> {
    let agent = row.get(0)?;
    Ok(row.time(1)?.map(|until| Holder { agent, until }))
}
