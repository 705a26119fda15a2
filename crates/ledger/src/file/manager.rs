//! The session manager of Claude Ops, which shares tables with opsctl: its running session.

use rusqlite::types::Value;

use super::migrate::has_column;
use crate::engine::{Connection, OptionalExtension as _, Result, params};

/// The `session_id` of a new row in a shared table, if `session` is the client's.
pub fn session_column(connection: &Connection, table: &str, session: Option<&str>) -> Result<Value> {
    Ok(if is_number(connection, table)? {
        running_session(connection)?.into()
    } else {
        session.map(str::to_owned).into()
    })
}

/// The id of the newest running session of the session manager.
fn running_session(connection: &Connection) -> Result<Option<i64>> {
    if !has_column(connection, "sessions", "status")? {
        return Ok(None);
    }
    let sql = "SELECT max(id) FROM sessions WHERE status = 'running'";
    connection.query_row(sql, &[], |row| row.get(0))
}

/// Whether `session_id` of this table is the number of a session of the session manager, which cannot read a text there. Only a
/// table of yet another program has a text.
fn is_number(connection: &Connection, table: &str) -> Result<bool> {
    if connection.is_server() {
        return Ok(false);
    }
    let sql = "SELECT upper(type) FROM pragma_table_info(?1) WHERE name = 'session_id'";
    let kind: Option<String> = connection.query_row(sql, params![table], |row| row.get(0)).optional()?;
    Ok(kind.is_some_and(|kind| kind.is_empty() || kind.contains("INT")))
}
