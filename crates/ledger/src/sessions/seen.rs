//! The names of services and hosts that the ledger contains, for suggestions.

use std::collections::BTreeSet;

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

/// How many of the latest rows of each table are read.
const READ: u32 = 20_000;

/// The names in the latest rows of a table: the columns of the name, the host and the time. A row that a hook settles is in both
/// tables of actions.
fn latest(table: &str, name: &str, host: &str, at: &str) -> String {
    format!(
        "SELECT name, host, count(*), max(at) FROM
             (SELECT {name} AS name, {host} AS host, {at} AS at FROM {table} ORDER BY id DESC LIMIT {READ}) AS latest
         WHERE name IS NOT NULL GROUP BY name, host"
    )
}

impl Ledger {
    /// The names of services in the latest actions and events.
    pub fn seen_services(&self) -> Result<Vec<SeenName>> {
        let mut found = self.seen(&latest("hook_actions", "service", "host", "reserved_at"))?;
        let mut known: BTreeSet<String> = found.iter().map(|seen| seen.name.clone()).collect();
        for (table, at) in [("cooldown_actions", "timestamp"), ("events", "created_at")] {
            let seen = self.seen(&latest(table, "service", "NULL", at))?;
            found.extend(seen.into_iter().filter(|seen| known.insert(seen.name.clone())));
        }
        Ok(found)
    }

    /// The hosts of the latest actions.
    pub fn seen_hosts(&self) -> Result<Vec<SeenName>> {
        self.seen(&latest("hook_actions", "host", "NULL", "reserved_at"))
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
