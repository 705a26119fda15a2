//! The names of services and hosts that the ledger contains, for suggestions.

use chrono::{DateTime, Utc};

use crate::engine::Result;
use crate::file::database::Ledger;

/// A name, with how often and when it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenName {
    /// The name.
    pub name: String,
    /// The host that was written with the name of a service last.
    pub host: Option<String>,
    /// The number of rows.
    pub times: u64,
    /// The time of the last row.
    pub last: Option<DateTime<Utc>>,
}

/// A row that a hook settles is in both tables of actions.
const SERVICES: &str =
    "SELECT service, NULL, count(*), max(timestamp) FROM cooldown_actions GROUP BY service";
const OF_EVENTS: &str =
    "SELECT service, NULL, count(*), max(created_at) FROM events WHERE service IS NOT NULL GROUP BY service";
const OF_HOOKS: &str =
    "SELECT service, host, count(*), max(reserved_at) FROM hook_actions GROUP BY service, host";
const HOSTS: &str =
    "SELECT host, NULL, count(*), max(reserved_at) FROM hook_actions WHERE host IS NOT NULL GROUP BY host";

impl Ledger {
    /// The names of services in all tables of actions and in events.
    pub fn seen_services(&self) -> Result<Vec<SeenName>> {
        let mut found = self.seen(OF_HOOKS)?;
        for seen in [self.seen(SERVICES)?, self.seen(OF_EVENTS)?].into_iter().flatten() {
            if found.iter().all(|known| known.name != seen.name) {
                found.push(seen);
            }
        }
        Ok(found)
    }

    /// The hosts of actions.
    pub fn seen_hosts(&self) -> Result<Vec<SeenName>> {
        self.seen(HOSTS)
    }

    fn seen(&self, sql: &str) -> Result<Vec<SeenName>> {
        let found = self.query(sql, &[], |row| {
            // Columns of other writers may have any type; rows that cannot be read are ignored.
            let Ok(name) = row.get(0) else { return Ok(None) };
            let (host, times, last) = (row.get(1)?, row.get::<u32>(2)?.into(), row.time(3).unwrap_or(None));
            Ok(Some(SeenName { name, host, times, last }))
        })?;
        Ok(found.into_iter().flatten().collect())
    }
}
