//! Migrations: numbered, append-only, applied in one transaction each.
//!
//! The version is kept in a table of our own, since the file may belong to another program that keeps its
//! version in SQLite's header or in its own table.

use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior};

/// In ascending order of their numbers.
const MIGRATIONS: [(u32, &str); 3] = [
    (1, include_str!("migrations/0001_shared_tables.sql")),
    (2, include_str!("migrations/0002_hook_actions.sql")),
    (3, include_str!("migrations/0003_resets_and_streaks.sql")),
];

/// Whether nothing is left to do: on every call but the first this is all that happens.
pub fn is_latest(connection: &Connection) -> rusqlite::Result<bool> {
    let newest = MIGRATIONS.iter().map(|(number, _)| *number).max().unwrap_or(0);
    Ok(version(connection)? >= newest)
}

/// Brings the database to the latest version.
pub fn to_latest(connection: &mut Connection) -> rusqlite::Result<()> {
    if is_new(connection)? {
        // Readers then never wait for a writer. A database of another program keeps its own mode, and
        // the mode itself may be refused by the file system: it is an improvement, not a condition.
        connection.pragma_update(None, "journal_mode", "WAL").or_else(|error| {
            match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Ok(()),
                _ => Err(error),
            }
        })?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated while this one waited for the lock.
    let from = version(&transaction)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS opsctl_migrations (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)",
    )?;
    for (number, sql) in MIGRATIONS.into_iter().filter(|(number, _)| *number > from) {
        transaction.execute_batch(sql)?;
        transaction.execute(
            "INSERT INTO opsctl_migrations (version, applied_at) VALUES (?1, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
            [number],
        )?;
    }
    transaction.commit()
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    if !has_table(connection, "opsctl_migrations")? {
        return Ok(0);
    }
    connection.query_row("SELECT coalesce(max(version), 0) FROM opsctl_migrations", [], |row| row.get(0))
}

fn is_new(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .query_row("SELECT 1 FROM sqlite_master LIMIT 1", [], |_| Ok(()))
        .optional()
        .map(|found| found.is_none())
}

/// Whether the database holds this table.
pub fn has_table(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    connection
        .query_row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", [table], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Whether the table has this column: a session manager's own `events` has no `source`.
pub fn has_column(connection: &Connection, table: &str, column: &str) -> rusqlite::Result<bool> {
    connection
        .query_row("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", [table, column], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}
