//! Checks of the database file.

use super::database::Ledger;
use super::error::LedgerError;
use super::{engine, manager, migrate};

/// The result of a check of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The first error that SQLite's integrity check reports.
    pub damage: Option<String>,
    /// The journal mode, such as `wal`.
    pub journal: String,
    /// The schema version of the file.
    pub version: u32,
    /// The schema version of this release.
    pub newest: u32,
    /// Whether the session manager cannot create its tables beside those of an earlier release of opsctl.
    pub blocks_manager: bool,
}

impl Ledger {
    /// Checks the database. `thorough` also reads every page, which takes seconds for a gigabyte.
    pub fn health(&self, thorough: bool) -> Result<Health, LedgerError> {
        let text = |pragma: &str| self.connection.query_row(pragma, [], |row| row.get::<String>(0));
        let health = || -> engine::Result<Health> {
            let damage = if thorough { Some(text("PRAGMA integrity_check(1)")?) } else { None };
            Ok(Health {
                damage: damage.filter(|found| found != "ok"),
                journal: text("PRAGMA journal_mode")?,
                version: migrate::version(&self.connection)?,
                newest: migrate::newest(),
                blocks_manager: manager::is_blocked(&self.connection)?,
            })
        };
        health().map_err(|cause| self.error(cause))
    }
}
