//! Migrations: numbered, append-only, applied in one transaction each.
//!
//! The version is in a table of opsctl: the file may belong to another program that stores its own version in SQLite's
//! header.

use super::engine::{Connection, Error, OptionalExtension as _, Result, Transaction};

/// In ascending order of their numbers.
const MIGRATIONS: [(u32, &str); 24] = [
    (1, include_str!("migrations/sqlite/0001_shared_tables.sql")),
    (2, include_str!("migrations/sqlite/0002_hook_actions.sql")),
    (3, include_str!("migrations/sqlite/0003_resets_and_streaks.sql")),
    (4, include_str!("migrations/sqlite/0004_telling_twice_and_clearing.sql")),
    (5, include_str!("migrations/sqlite/0005_health_marks.sql")),
    (6, include_str!("migrations/sqlite/0006_notices.sql")),
    (7, include_str!("migrations/sqlite/0007_client_runs.sql")),
    (8, include_str!("migrations/sqlite/0008_verifications.sql")),
    (9, include_str!("migrations/sqlite/0009_every_decision.sql")),
    (10, include_str!("migrations/sqlite/0010_sessions.sql")),
    (11, include_str!("migrations/sqlite/0011_reminders.sql")),
    (12, include_str!("migrations/sqlite/0012_records_missing.sql")),
    (13, include_str!("migrations/sqlite/0013_effects.sql")),
    (14, include_str!("migrations/sqlite/0014_engine_containers.sql")),
    (15, include_str!("migrations/sqlite/0015_recorded_rows.sql")),
    (MANAGER_TABLES, include_str!("migrations/sqlite/0016_session_manager.sql")),
    (17, include_str!("migrations/sqlite/0017_chains.sql")),
    (18, include_str!("migrations/sqlite/0018_tmux_pane.sql")),
    (19, include_str!("migrations/sqlite/0019_waiting_sessions.sql")),
    (20, include_str!("migrations/sqlite/0020_questions.sql")),
    (21, include_str!("migrations/sqlite/0021_spend.sql")),
    (22, include_str!("migrations/sqlite/0022_desk.sql")),
    (23, include_str!("migrations/sqlite/0023_agents.sql")),
    (24, include_str!("migrations/sqlite/0024_checks_and_deliveries.sql")),
];

/// Those of a server, in ascending order. Each number is that of the SQLite migration that leaves the same tables.
const ON_SERVER: [(u32, &str); 2] = [
    (23, include_str!("migrations/postgresql/0001_ledger.sql")),
    (24, include_str!("migrations/postgresql/0002_checks_and_deliveries.sql")),
];

/// The names of the tables that the migrations of a server create.
#[cfg(test)]
pub fn tables_on_server() -> Vec<String> {
    let lines = || ON_SERVER.into_iter().flat_map(|(_, sql)| sql.lines());
    let dropped: Vec<&str> = lines().filter_map(|line| line.strip_prefix("DROP TABLE ")).collect();
    let names = lines().filter_map(|line| line.strip_prefix("CREATE TABLE "));
    let names = names.map(|rest| rest.trim_end_matches(" ("));
    names
        .filter(|name| dropped.iter().all(|line| line.trim_end_matches(';') != *name))
        .map(str::to_owned)
        .collect()
}

/// The migration that prepares a ledger of opsctl for the session manager. A database of the session manager needs it not.
const MANAGER_TABLES: u32 = 16;

/// The tables that another program may have created.
const SHARED: [&str; 2] = ["events", "cooldown_actions"];

/// Whether all migrations are applied, as on every call but the first.
pub fn is_latest(connection: &Connection) -> Result<bool> {
    if let Connection::Server(server) = connection {
        // Tables of a server only get newer.
        if server.schema.get() < newest() {
            server.schema.set(version(connection)?);
        }
        return Ok(server.schema.get() >= newest());
    }
    Ok(version(connection)? >= newest())
}

/// The schema version of this release.
pub fn newest() -> u32 {
    MIGRATIONS.iter().map(|(number, _)| *number).max().unwrap_or(0)
}

/// Applies all missing migrations. Does not change the journal mode of a file, which another program may have chosen.
pub fn to_latest(connection: &mut Connection) -> Result<()> {
    match connection {
        Connection::File(_) => to_latest_file(connection),
        Connection::Server(_) => to_latest_server(connection),
    }
}

fn to_latest_server(connection: &Connection) -> Result<()> {
    let transaction = Transaction::begin(connection, "BEGIN")?;
    // Another agent may migrate, too.
    transaction.execute_batch(
        "SELECT pg_advisory_xact_lock(1869640547, 1);
         CREATE TABLE IF NOT EXISTS opsctl_migrations (version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL)",
    )?;
    let from = version(&transaction)?;
    for (number, sql) in ON_SERVER.into_iter().filter(|(number, _)| *number > from) {
        transaction.execute_batch(sql)?;
        transaction
            .execute("INSERT INTO opsctl_migrations (version, applied_at) VALUES (?1, now())", [number])?;
    }
    transaction.commit()
}

fn to_latest_file(connection: &Connection) -> Result<()> {
    let transaction = Transaction::begin(connection, "BEGIN IMMEDIATE")?;
    // Another process may have migrated while this one waited for the lock.
    let from = version(&transaction)?;
    let found = SHARED.map(|table| has_table(&transaction, table).map(|is_there| (table, is_there)));
    let indexes = indexes(&transaction)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS opsctl_migrations (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)",
    )?;
    for (number, sql) in MIGRATIONS.into_iter().filter(|(number, _)| *number > from) {
        if number != MANAGER_TABLES || !has_manager_tables(&transaction)? {
            transaction.execute_batch(sql)?;
        }
        transaction.execute(
            "INSERT INTO opsctl_migrations (version, applied_at) VALUES (?1, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
            [number],
        )?;
    }
    if from == 0 {
        for found in found {
            let (table, is_there) = found?;
            if is_there {
                // If its owner creates an index of the same name later, that would fail.
                drop_new_indexes(&transaction, table, &indexes)?;
            }
        }
    }
    transaction.commit()
}

fn indexes(connection: &Connection) -> Result<Vec<(String, String)>> {
    connection
        .prepare("SELECT tbl_name, name FROM sqlite_master WHERE type = 'index'")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn drop_new_indexes(connection: &Connection, table: &str, before: &[(String, String)]) -> Result<()> {
    for (_, name) in indexes(connection)?.iter().filter(|index| index.0 == table && !before.contains(index)) {
        connection.execute_batch(&format!("DROP INDEX {name}"))?;
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
        connection.query_row(sql, [], |row| row.get(0))
    };
    match latest() {
        Err(Error::Refused(_)) => {
            let exists = "SELECT to_regclass('opsctl_migrations') IS NOT NULL";
            // Another agent may have created it since: if it exists, the second answer counts.
            if connection.query_row(exists, [], |row| row.get::<bool>(0))? { latest() } else { Ok(0) }
        }
        version => version,
    }
}

/// Whether the tables of the session manager exist, or tables of the names that opsctl shares are of another program.
pub fn has_manager_tables(connection: &Connection) -> Result<bool> {
    if connection.is_server() {
        return Ok(false);
    }
    Ok(has_table(connection, "sessions")? || !has_column(connection, "events", "source")?)
}

/// Whether the database contains this table.
pub fn has_table(connection: &Connection, table: &str) -> Result<bool> {
    // A server has all tables, or none.
    let Some(file) = connection.file() else { return Ok(true) };
    // Without a statement, which costs more than most queries of a hook. Another process may have created it since.
    if file.table_exists(None, table)? {
        return Ok(true);
    }
    connection
        .query_row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", [table], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Whether the table has this column: a session manager's own `events` has no `source`.
pub fn has_column(connection: &Connection, table: &str, column: &str) -> Result<bool> {
    if connection.is_server() {
        return Ok(true);
    }
    connection
        .query_row("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", [table, column], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Whether the table has an index that begins with this column.
pub fn has_index_on(connection: &Connection, table: &str, column: &str) -> Result<bool> {
    if connection.is_server() {
        return Ok(true);
    }
    connection
        .query_row(
            "SELECT 1 FROM pragma_index_list(?1) AS list JOIN pragma_index_info(list.name) AS info
             WHERE NOT list.partial AND info.seqno = 0 AND info.name = ?2",
            [table, column],
            |_| Ok(()),
        )
        .optional()
        .map(|found| found.is_some())
}
