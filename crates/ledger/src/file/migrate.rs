//! Migrations: numbered, append-only, applied in one transaction each.
//!
//! The version is in a table of opsctl: the file may belong to another program that stores its own version in SQLite's
//! header.

use std::ops::RangeInclusive;

use crate::engine::{Connection, Error, Result, Transaction, params};

/// A migration of both engines.
struct Migration {
    number: u32,
    file: &'static str,
    server: &'static str,
}

/// In ascending order of their numbers.
const MIGRATIONS: [Migration; 1] = [Migration {
    number: 1,
    file: include_str!("../migrations/sqlite.sql"),
    server: include_str!("../migrations/postgresql.sql"),
}];

/// What a file that opsctl has created contains for the session manager.
const SESSION_MANAGER: &str = include_str!("../migrations/session_manager.sql");

/// The tables that another program may have created.
const SHARED: [&str; 3] = ["events", "cooldown_actions", "service_health_streak"];

/// Lets agents migrate the same server one after the other. The turn ends with the transaction.
const TURN: &str = "SELECT pg_advisory_xact_lock(1869640547, 1)";

/// The versions that development versions wrote before the first release. A later migration takes its number out of them.
const UNRELEASED: RangeInclusive<u32> = 2..=24;

/// The names of the tables that the migrations of a server create.
#[cfg(test)]
pub fn tables_on_server() -> Vec<String> {
    let lines = MIGRATIONS.into_iter().flat_map(|migration| migration.server.lines());
    let names = lines.filter_map(|line| line.strip_prefix("CREATE TABLE "));
    names.map(|rest| rest.trim_end_matches(" (").to_owned()).collect()
}

/// The schema version of this release.
pub fn newest() -> u32 {
    MIGRATIONS.last().map_or(0, |migration| migration.number)
}

/// Whether all migrations are applied. An error for the tables of a development version.
pub fn is_latest(connection: &Connection) -> Result<bool> {
    let version = version(connection)?;
    if version > newest() && UNRELEASED.contains(&version) {
        return Err(connection.failure(Error::Unreleased(version)));
    }
    Ok(version >= newest())
}

/// Applies all missing migrations. Does not change the journal mode of a file, which another program may have chosen.
pub fn to_latest(connection: &Connection) -> Result<()> {
    let is_server = connection.is_server();
    let transaction = Transaction::begin(connection, if is_server { "BEGIN" } else { "BEGIN IMMEDIATE" })?;
    let (kind, now) = if is_server {
        // Another agent may migrate, too.
        transaction.execute_batch(TURN)?;
        ("TIMESTAMPTZ", "now()")
    } else {
        ("TEXT", "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')")
    };
    transaction.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS opsctl_migrations (version INTEGER PRIMARY KEY, applied_at {kind} NOT NULL)"
    ))?;
    // Another process may have migrated while this one waited for the lock.
    let from = version(&transaction)?;
    let mut is_shared = false;
    for table in SHARED.into_iter().chain(["sessions"]) {
        is_shared |= has_table(&transaction, table)?;
    }
    for migration in MIGRATIONS.into_iter().filter(|migration| migration.number > from) {
        transaction.execute_batch(if is_server { migration.server } else { migration.file })?;
        let applied = format!("INSERT INTO opsctl_migrations (version, applied_at) VALUES (?1, {now})");
        transaction.execute(&applied, params![migration.number])?;
    }
    if from == 0 && !is_shared {
        transaction.execute_batch(SESSION_MANAGER)?;
    }
    transaction.commit()
}

/// Gives a connection for reading empty temporary tables in the place of those that the file does not have, because only another
/// program has written to it.
pub fn lend_tables(connection: &Connection) -> Result<()> {
    let mut missing = vec![];
    for table in SHARED {
        missing.push((table, !has_table(connection, table)?));
    }
    let tables = MIGRATIONS.map(|migration| migration.file).join("\n");
    let temporary = tables.replace("IF NOT EXISTS ", "").replace("CREATE TABLE", "CREATE TEMP TABLE");
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
    connection.execute_batch(&temporary.replace("CREATE VIEW", "CREATE TEMP VIEW"))?;
    for (table, _) in missing.into_iter().filter(|(_, is_missing)| !is_missing) {
        connection.execute_batch(&format!("DROP TABLE temp.{table}"))?;
    }
    Ok(())
}

/// The schema version of the database; 0 before the first migration.
pub fn version(connection: &Connection) -> Result<u32> {
    if !has_table(connection, "opsctl_migrations")? {
        return Ok(0);
    }
    let latest = || {
        let sql = "SELECT coalesce(max(version), 0) FROM opsctl_migrations";
        connection.query_row(sql, &[], |row| row.get(0))
    };
    match latest() {
        Err(error) if matches!(error.engine(), Some(Error::Refused(_))) => {
            let exists = "SELECT to_regclass('opsctl_migrations') IS NOT NULL";
            if !connection.query_row(exists, &[], |row| row.get::<bool>(0))? {
                return Ok(0);
            }
            // Another agent has created it since. For a moment after the commit, connections of the server that have asked
            // before (a pooler shares them) do not know the table; when the turn of that agent ends, they do.
            connection.execute_batch(TURN)?;
            latest()
        }
        version => version,
    }
}

/// Whether the database contains this table.
pub fn has_table(connection: &Connection, table: &str) -> Result<bool> {
    // A server has all tables, or none.
    let Some(file) = connection.file() else { return Ok(true) };
    // Without a statement, which costs more than most queries of a hook. Another process may have created it since.
    if file.table_exists(None, table).map_err(|cause| connection.failure(cause))? {
        return Ok(true);
    }
    connection.exists("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", params![table])
}

/// Whether the table has this column: a session manager's own `events` has no `source`.
pub fn has_column(connection: &Connection, table: &str, column: &str) -> Result<bool> {
    Ok(connection.is_server()
        || connection
            .exists("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", params![table, column])?)
}

/// Whether the table has an index that begins with this column.
pub fn has_index_on(connection: &Connection, table: &str, column: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM pragma_index_list(?1) AS list JOIN pragma_index_info(list.name) AS info
         WHERE NOT list.partial AND info.seqno = 0 AND info.name = ?2";
    Ok(connection.is_server() || connection.exists(sql, params![table, column])?)
}
