//! The mark of the ledger: its creation time and last rows, in a file of the state folder. A ledger that falls behind its
//! mark has lost rows: it was emptied, replaced, truncated or restored, or its write-ahead log is gone.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::database::{Change, Ledger};
use super::migrate;
use crate::engine::{Connection, Result, Row};
use crate::location::Location;
use crate::time;
use opsctl_machine::plain_file;
use opsctl_machine::plain_file::Content;

/// The maximum size of the file in bytes.
const MAX_BYTES: u64 = 16 * 1024;

const LAST_ROWS: &str = "SELECT (SELECT min(applied_at) FROM opsctl_migrations),
     (SELECT max(id) FROM cooldown_actions), (SELECT max(id) FROM hook_actions)";

/// What a ledger held when an action was last reserved or recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// The path or the URL of the ledger.
    ledger: String,
    /// When opsctl created its tables.
    created: String,
    /// The id of the last row of `cooldown_actions`; 0 if there is none.
    actions: i64,
    /// The id of the last row of `hook_actions`; 0 if there is none.
    reservations: i64,
    /// When a loss was last reported and accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lost_at: Option<String>,
}

/// Rows that a ledger has lost. The text names the ledger, what is missing, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the ledger {ledger} {difference} (restore it, or remove {} to accept it as it is)", mark.display())]
pub struct LedgerLoss {
    ledger: String,
    mark: PathBuf,
    difference: Difference,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Difference {
    #[error("does not exist or is empty, and has held actions")]
    Missing,
    #[error("was created at {found}, and replaces one of {marked}")]
    Replaced { found: String, marked: String },
    #[error("has lost rows: `{table}` ends at row {found}, and has ended at row {marked}")]
    RowsGone { table: &'static str, found: i64, marked: i64 },
}

impl Mark {
    fn file(state_dir: &Path) -> PathBuf {
        state_dir.join("ledger-mark.json")
    }

    /// The mark of this ledger; `None` if the file cannot be read, or is of another ledger.
    fn read(state_dir: &Path, ledger: &Location) -> Option<Self> {
        let Ok(Content::Bytes(text)) = plain_file::read(&Self::file(state_dir), MAX_BYTES) else {
            return None;
        };
        let mark: Self = serde_json::from_slice(&text).ok()?;
        (mark.ledger == absolute(ledger)).then_some(mark)
    }

    /// Replaces the file atomically. If that fails, the older mark detects less and is not wrong.
    fn write(&self, state_dir: &Path) {
        let unfinished = state_dir.join(".ledger-mark.json.new");
        let Ok(text) = serde_json::to_vec(self) else { return };
        let written = std::fs::write(&unfinished, text)
            .and_then(|()| std::fs::rename(&unfinished, Self::file(state_dir)));
        if written.is_err() {
            let _ = std::fs::remove_file(unfinished);
        }
    }

    fn of(connection: &Connection, ledger: &Location) -> Result<Self> {
        // opsctl creates its tables together.
        let (created, actions, reservations) = if migrate::has_table(connection, "opsctl_migrations")? {
            connection.query_row(LAST_ROWS, &[], Self::last_rows)?
        } else {
            Default::default()
        };
        Ok(Self { ledger: absolute(ledger), created, actions, reservations, lost_at: None })
    }

    fn last_rows(row: &Row<'_>) -> Result<(String, i64, i64)> {
        let last = |column| row.get::<Option<i64>>(column).map(Option::unwrap_or_default);
        Ok((row.get::<Option<String>>(0)?.unwrap_or_default(), last(1)?, last(2)?))
    }

    /// What is missing in a ledger of this mark, compared with the `marked` one.
    fn difference(&self, marked: &Self) -> Option<Difference> {
        if self.created != marked.created {
            let (found, marked) = (self.created.clone(), marked.created.clone());
            return Some(Difference::Replaced { found, marked });
        }
        let tables = [
            ("cooldown_actions", self.actions, marked.actions),
            ("hook_actions", self.reservations, marked.reservations),
        ];
        let (table, found, marked) = tables.into_iter().find(|(_, found, marked)| found < marked)?;
        Some(Difference::RowsGone { table, found, marked })
    }
}

fn absolute(ledger: &Location) -> String {
    let Some(path) = ledger.file() else { return ledger.to_string() };
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn loss(ledger: &Location, state_dir: &Path, difference: Difference) -> LedgerLoss {
    LedgerLoss { ledger: ledger.to_string(), mark: Mark::file(state_dir), difference }
}

impl Ledger {
    /// What the ledger has lost since its last mark. Reads only.
    pub fn loss_at(location: &Location, state_dir: &Path) -> Result<Option<LedgerLoss>> {
        let Some(marked) = Mark::read(state_dir, location) else { return Ok(None) };
        let difference = match Self::open_existing(location)? {
            None => Some(Difference::Missing),
            Some(ledger) => {
                let found = Mark::of(&ledger.connection, location)?;
                found.difference(&marked)
            }
        };
        Ok(difference.map(|difference| loss(location, state_dir, difference)))
    }

    /// When a loss of the ledger was last reported and accepted.
    pub fn lost_at(location: &Location, state_dir: &Path) -> Option<DateTime<Utc>> {
        time::read(&Mark::read(state_dir, location)?.lost_at?)
    }
}

impl Change<'_> {
    /// What the ledger has lost since its last mark. To be called before a row is added.
    pub fn loss(&self, state_dir: &Path) -> Result<Option<LedgerLoss>> {
        let Some(marked) = Mark::read(state_dir, self.location) else { return Ok(None) };
        let found = Mark::of(&self.transaction, self.location)?;
        Ok(found.difference(&marked).map(|difference| loss(self.location, state_dir, difference)))
    }

    /// Commits the transaction and marks what the ledger holds then. `lost_at` is the time of a loss that is accepted.
    pub fn commit_and_mark(self, state_dir: &Path, lost_at: Option<DateTime<Utc>>) -> Result<()> {
        let (ledger, location) = (absolute(self.location), self.location);
        let lost_at = lost_at.map(time::write).or_else(|| Mark::read(state_dir, location)?.lost_at);
        self.commit_by(|transaction| {
            let mut found = Default::default();
            transaction.commit_with(LAST_ROWS, |row| Mark::last_rows(row).map(|row| found = row))?;
            let (created, actions, reservations) = found;
            Mark { ledger, created, actions, reservations, lost_at }.write(state_dir);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_rows_and_another_creation_time_are_a_loss() {
        let mark = |created: &str, actions, reservations| Mark {
            ledger: "/state/x.db".into(),
            created: created.into(),
            actions,
            reservations,
            lost_at: None,
        };
        let marked = mark("2026-03-21T14:00:00Z", 3, 5);
        for (created, actions, reservations, loss) in [
            ("2026-03-21T14:00:00Z", 3, 5, None),
            ("2026-03-21T14:00:00Z", 3, 9, None),
            ("2026-03-21T14:00:00Z", 2, 5, Some("has lost rows: `cooldown_actions` ends at row 2")),
            ("2026-03-21T14:00:00Z", 3, 4, Some("has lost rows: `hook_actions` ends at row 4")),
            ("2026-03-21T15:00:00Z", 9, 9, Some("was created at 2026-03-21T15")),
            ("", 9, 9, Some("was created at")),
        ] {
            let found = mark(created, actions, reservations).difference(&marked);
            let found = found.map(|difference| difference.to_string());
            assert_eq!(found.is_some(), loss.is_some());
            assert!(found.is_none_or(|found| found.starts_with(loss.unwrap())), "{loss:?}");
        }
    }
}
