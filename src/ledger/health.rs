//! The health of the database itself.

use super::database::Ledger;
use super::error::LedgerError;
use super::migrate;

/// What a check-up of the database finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What SQLite found damaged, its first words.
    pub damage: Option<String>,
    /// The journal mode, such as `wal`.
    pub journal: String,
    /// The version of this program's tables.
    pub version: u32,
    /// The version that this release writes.
    pub newest: u32,
}

impl Ledger {
    /// Checks the database; `thorough` also reads every page of it, which takes seconds on one of a gigabyte.
    pub fn health(&self, thorough: bool) -> Result<Health, LedgerError> {
        let text = |pragma: &str| self.connection.query_row(pragma, [], |row| row.get::<_, String>(0));
        let health = || {
            let damage = if thorough { Some(text("PRAGMA integrity_check(1)")?) } else { None };
            Ok(Health {
                damage: damage.filter(|found| found != "ok"),
                journal: text("PRAGMA journal_mode")?,
                version: migrate::version(&self.connection)?,
                newest: migrate::newest(),
            })
        };
        health().map_err(|cause| self.error(cause))
    }
}
