//! The names of services and hosts that the ledger contains, for suggestions.

use chrono::{DateTime, Utc};

use super::database::Ledger;
use super::engine;
use super::error::LedgerError;
use super::{migrate, time};

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
    pub fn seen_services(&self) -> Result<Vec<SeenName>, LedgerError> {
        let mut found = self.seen("hook_actions", OF_HOOKS)?;
        for (table, sql) in [("cooldown_actions", SERVICES), ("events", OF_EVENTS)] {
            for seen in self.seen(table, sql)? {
                if found.iter().all(|known| known.name != seen.name) {
                    found.push(seen);
                }
            }
        }
        Ok(found)
    }

    /// The hosts of actions.
    pub fn seen_hosts(&self) -> Result<Vec<SeenName>, LedgerError> {
        self.seen("hook_actions", HOSTS)
    }

    fn seen(&self, table: &str, sql: &str) -> Result<Vec<SeenName>, LedgerError> {
        let look = || -> engine::Result<Vec<SeenName>> {
            if !migrate::has_table(&self.connection, table)? {
                return Ok(vec![]);
            }
            let mut statement = self.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                // Columns of other writers may have any type; rows that cannot be read are ignored.
                let Ok(name) = row.get::<String>(0) else { continue };
                let last: Option<String> = row.get(3).unwrap_or(None);
                found.push(SeenName {
                    name,
                    host: row.get(1)?,
                    times: row.get::<u32>(2)?.into(),
                    last: last.as_deref().and_then(time::read),
                });
            }
            Ok(found)
        };
        look().map_err(|cause| self.error(cause))
    }
}
