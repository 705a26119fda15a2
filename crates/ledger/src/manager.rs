//! The session manager of Claude Ops, which shares tables with opsctl: whether it uses a database, and its running session.

use rusqlite::types::Value;

use super::engine::{Connection, OptionalExtension as _, Result};
use super::migrate::{has_column, has_manager_tables, has_table};

/// Whether the session manager could not create its tables, because an earlier release of opsctl has created `events`: it
/// has recorded that no migration is applied.
pub fn is_blocked(connection: &Connection) -> Result<bool> {
    if connection.is_server() {
        return Ok(false);
    }
    Ok(has_table(connection, "goose_db_version")? && !has_manager_tables(connection)?)
}

/// The id of the newest running session of the session manager.
fn running_session(connection: &Connection) -> Result<Option<i64>> {
    if !has_column(connection, "sessions", "status")? {
        return Ok(None);
    }
    let sql = "SELECT max(id) FROM sessions WHERE status = 'running'";
    connection.query_row(sql, [], |row| row.get(0))
}

/// The `session_id` of a new row in a shared table.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionColumn {
    /// The column holds session ids of the client.
    OfClient(Value),
    /// The session manager reads the column as a number: its running session, or NULL.
    OfManager(Value),
}

impl SessionColumn {
    /// What a new row of this table holds if `session` is the client's.
    pub fn of(connection: &Connection, table: &str, session: Option<&str>) -> Result<Self> {
        Ok(if is_number(connection, table)? {
            Self::OfManager(running_session(connection)?.into())
        } else {
            Self::OfClient(session.map(str::to_owned).into())
        })
    }

    /// The value to store.
    pub const fn value(&self) -> &Value {
        match self {
            Self::OfClient(value) | Self::OfManager(value) => value,
        }
    }
}

/// Whether the session manager reads `session_id` of this table as a number. A table that opsctl has created has no type for
/// this column, and is the session manager's, too, from its first session on.
fn is_number(connection: &Connection, table: &str) -> Result<bool> {
    if connection.is_server() {
        return Ok(false);
    }
    let sql = "SELECT upper(type) FROM pragma_table_info(?1) WHERE name = 'session_id'";
    let kind: Option<String> = connection.query_row(sql, [table], |row| row.get(0)).optional()?;
    match kind.as_deref() {
        Some("") => Ok(has_table(connection, "sessions")?
            && connection.prepare("SELECT 1 FROM sessions LIMIT 1")?.exists([])?),
        kind => Ok(kind.is_some_and(|kind| kind.contains("INT"))),
    }
}
