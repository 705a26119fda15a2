//! Copies a ledger from a file to a server, or back. Ids stay, so that resets and marks refer to their rows. A second copy
//! adds only what is new. The tables of the session manager stay where they are.

use std::collections::BTreeMap;

use rusqlite::types::Value;

use super::database::{Change, Ledger};
use super::rights;
use crate::engine::{Connection, LedgerError, Result, ToSql, params};
use crate::location::Location;
use crate::time;

/// The rows of one statement.
const BATCH: usize = 300;

/// How many skipped rows are named.
const NAMED: usize = 5;

/// What was copied of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Copied {
    /// The table.
    pub table: &'static str,
    /// Rows that were added.
    pub new: usize,
    /// Rows that were there, and have changed since, such as a session.
    pub changed: usize,
    /// Rows that were there.
    pub same: usize,
    /// Rows that cannot be read, such as those with an invalid time.
    pub skipped: usize,
    /// The first of them.
    pub named: Vec<String>,
}

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// A ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The target has another history.
    #[error(
        "{target} has another row {key} in `{table}`: it does not continue the history of {source_}; nothing is copied, copy into an empty ledger"
    )]
    Differs {
        /// The ledger that is copied.
        source_: String,
        /// The ledger that has the row.
        target: String,
        /// The table.
        table: &'static str,
        /// The primary key of the row.
        key: String,
    },
}

/// A column, with the type that the server has for it.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    kind: String,
    is_nullable: bool,
    is_key: bool,
}

/// A table on both sides.
struct Table {
    name: &'static str,
    columns: Vec<Column>,
}

impl Table {
    /// The table as the server has it, without columns that the file does not have.
    fn of(name: &'static str, server: &Connection, file: &Connection) -> Result<Self> {
        let sql = format!(
            "SELECT attname::text, format_type(atttypid, NULL), NOT attnotnull, coalesce(attnum = ANY (indkey), FALSE)
             FROM pg_attribute LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary
             WHERE attrelid = '{name}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        );
        let mut columns = server.query(&sql, &[], |row| {
            Ok(Column { name: row.get(0)?, kind: row.get(1)?, is_nullable: row.get(2)?, is_key: row.get(3)? })
        })?;
        let known: Vec<String> =
            file.query("SELECT name FROM pragma_table_info(?1)", params![name], |row| row.get(0))?;
        columns.retain(|column| known.contains(&column.name));
        Ok(Self { name, columns })
    }

    fn names(&self) -> String {
        self.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn keys(&self) -> Vec<(usize, &Column)> {
        self.columns.iter().enumerate().filter(|(_, column)| column.is_key).collect()
    }

    fn key_names(&self) -> String {
        self.keys().iter().map(|(_, column)| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn key_of(&self, row: &[Value]) -> Vec<Value> {
        self.keys().iter().filter_map(|(at, _)| row.get(*at).cloned()).collect()
    }

    /// The next rows after those of this key, in the order of their keys.
    fn page(&self, from: &Connection, after: Option<&[Value]>) -> Result<Vec<Vec<Value>>> {
        let keys = self.key_names();
        let placeholders = Self::placeholders(from, self.keys().iter().map(|(_, column)| *column), 1);
        let which = after.map(|_| format!("WHERE ({keys}) > ({placeholders})")).unwrap_or_default();
        let sql = format!("SELECT {} FROM {} {which} ORDER BY {keys} LIMIT {BATCH}", self.names(), self.name);
        let values: Vec<&dyn ToSql> =
            after.unwrap_or_default().iter().map(|value| value as &dyn ToSql).collect();
        let count = self.columns.len();
        from.query(&sql, &values, |row| (0..count).map(|column| row.get(column)).collect())
    }

    /// Parameters from this number on, with the types of the columns on a server.
    fn placeholders<'a>(of: &Connection, columns: impl Iterator<Item = &'a Column>, first: usize) -> String {
        let one = |(number, column): (usize, &Column)| {
            let kind = if of.is_server() { format!("::{}", column.kind) } else { String::new() };
            format!("?{number}{kind}")
        };
        (first..).zip(columns).map(one).collect::<Vec<_>>().join(", ")
    }

    fn rows_of_placeholders(&self, of: &Connection, count: usize, keys_only: bool) -> String {
        let columns: Vec<&Column> =
            self.columns.iter().filter(|column| !keys_only || column.is_key).collect();
        let rows = (0..count).map(|row| {
            let first = row * columns.len() + 1;
            format!("({})", Self::placeholders(of, columns.iter().copied(), first))
        });
        rows.collect::<Vec<_>>().join(", ")
    }

    /// Adds rows that are not there. Returns how many there were.
    fn add(&self, to: &Connection, rows: &[Vec<Value>]) -> Result<usize> {
        let sql = format!(
            "INSERT INTO {} ({}) VALUES {} ON CONFLICT DO NOTHING",
            self.name,
            self.names(),
            self.rows_of_placeholders(to, rows.len(), false)
        );
        let values: Vec<&dyn ToSql> = rows.iter().flatten().map(|value| value as &dyn ToSql).collect();
        to.execute(&sql, &values)
    }

    /// The rows of these keys.
    fn there(&self, to: &Connection, keys: &[Vec<Value>]) -> Result<Vec<Vec<Value>>> {
        let sql = format!(
            "SELECT {} FROM {} WHERE ({}) IN (VALUES {})",
            self.names(),
            self.name,
            self.key_names(),
            self.rows_of_placeholders(to, keys.len(), true)
        );
        let values: Vec<&dyn ToSql> = keys.iter().flatten().map(|value| value as &dyn ToSql).collect();
        let count = self.columns.len();
        to.query(&sql, &values, |row| (0..count).map(|column| row.get(column)).collect())
    }

    /// Whether two rows of one key differ, and may: `None` if one of them is not the other's later state.
    fn is_changed(&self, ours: &[Value], theirs: &[Value]) -> Option<bool> {
        let differing =
            self.columns.iter().zip(ours.iter().zip(theirs)).filter(|(_, (one, other))| one != other);
        let mut is_changed = false;
        for (column, _) in differing {
            is_changed = true;
            if !rights::is_changeable(self.name, &column.name) {
                return None;
            }
        }
        Some(is_changed)
    }

    fn change(&self, to: &Connection, row: &[Value]) -> Result<()> {
        let (mut set, mut which, mut values) = (Vec::new(), Vec::new(), Vec::<&dyn ToSql>::new());
        for (column, value) in self.columns.iter().zip(row) {
            if column.is_key || rights::is_changeable(self.name, &column.name) {
                values.push(value);
                let number = values.len();
                let placeholder = Self::placeholders(to, std::iter::once(column), number);
                let list = if column.is_key { &mut which } else { &mut set };
                list.push(format!("{} = {placeholder}", column.name));
            }
        }
        let sql = format!("UPDATE {} SET {} WHERE {}", self.name, set.join(", "), which.join(" AND "));
        to.execute(&sql, &values).map(|_| ())
    }
}

impl Column {
    /// A value of a file or of a server in one form; `None` if the column cannot have it.
    fn read(&self, value: Value) -> Option<Value> {
        let value = match (self.kind.as_str(), value) {
            (_, Value::Null) => Value::Null,
            ("timestamp with time zone", Value::Text(text)) => Value::Text(time::write(time::read(&text)?)),
            ("boolean", Value::Integer(number)) => Value::Integer((number != 0).into()),
            ("bigint", value @ Value::Integer(_)) | ("double precision", value @ Value::Real(_)) => value,
            ("integer", Value::Integer(number)) => Value::Integer(i32::try_from(number).ok()?.into()),
            ("smallint", Value::Integer(number)) => Value::Integer(i16::try_from(number).ok()?.into()),
            #[expect(clippy::cast_precision_loss, reason = "SQLite stores whole costs as integers")]
            ("double precision", Value::Integer(number)) => Value::Real(number as f64),
            ("text", Value::Text(text)) => Value::Text(text.replace('\0', "\u{fffd}")),
            // The number of a session of the session manager, whose tables are not copied.
            ("text", Value::Integer(_)) if self.name == "session_id" => Value::Null,
            ("text", Value::Integer(number)) => Value::Text(number.to_string()),
            ("text", Value::Real(number)) => Value::Text(number.to_string()),
            _ => return None,
        };
        (self.is_nullable || value != Value::Null).then_some(value)
    }
}

/// Copies a ledger. One of both is a file, and the other is on a server. `progress` gets a table, and how many of its rows are
/// copied.
pub fn copy(
    from: &Location,
    to: &Location,
    progress: &mut dyn FnMut(&str, usize),
) -> Result<Vec<Copied>, TransferError> {
    let source = Ledger::open(from)?;
    let mut target = Ledger::open(to)?;
    // A connection of its own, which is not in a transaction.
    let schema = Ledger::open(to)?;
    let mut tables = Vec::new();
    for name in rights::tables().filter(|name| *name != "opsctl_migrations") {
        let (server, file) = if source.connection.is_server() {
            (&source.connection, &schema.connection)
        } else {
            (&schema.connection, &source.connection)
        };
        tables.push(Table::of(name, server, file)?);
    }
    drop(schema);
    let reading = source.connection.reading()?;
    let change = target.change()?;
    let mut all = Vec::new();
    for table in &tables {
        let mut copied = Copied { table: table.name, ..Copied::default() };
        let mut after: Option<Vec<Value>> = None;
        loop {
            let page = table.page(&reading, after.as_deref())?;
            let Some(last) = page.last() else { break };
            after = Some(table.key_of(last));
            let rows = readable(table, page, &mut copied);
            if !rows.is_empty() {
                write(table, &rows, (from, to), &change, &mut copied)?;
            }
            progress(table.name, copied.new + copied.changed + copied.same + copied.skipped);
        }
        all.push(copied);
    }
    if change.is_server() {
        advance(&change, &tables)?;
    }
    change.commit()?;
    drop(reading);
    if let Some(file) = target.connection.file() {
        // The file is complete without its write-ahead log.
        let whole = file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        whole.map_err(|cause| target.connection.failure(cause))?;
    }
    Ok(all)
}

/// The rows that the target can have.
fn readable(table: &Table, page: Vec<Vec<Value>>, copied: &mut Copied) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for row in page {
        let key = table.key_of(&row);
        let read: Option<Vec<Value>> =
            table.columns.iter().zip(row).map(|(column, value)| column.read(value)).collect();
        if let Some(read) = read {
            rows.push(read);
            continue;
        }
        copied.skipped += 1;
        if copied.named.len() < NAMED {
            copied.named.push(shown(&key));
        }
    }
    rows
}

fn write(
    table: &Table,
    rows: &[Vec<Value>],
    (from, to): (&Location, &Location),
    change: &Change<'_>,
    copied: &mut Copied,
) -> Result<(), TransferError> {
    let new = table.add(&change.transaction, rows)?;
    copied.new += new;
    if new == rows.len() {
        return Ok(());
    }
    let keys: Vec<Vec<Value>> = rows.iter().map(|row| table.key_of(row)).collect();
    let there = table.there(&change.transaction, &keys)?;
    let there = there.into_iter().map(|row| {
        let row: Vec<Value> = table
            .columns
            .iter()
            .zip(row)
            .map(|(column, value)| column.read(value).unwrap_or(Value::Null))
            .collect();
        (shown(&table.key_of(&row)), row)
    });
    let there: BTreeMap<String, Vec<Value>> = there.collect();
    let mut changed = 0;
    for row in rows {
        let key = shown(&table.key_of(row));
        match there.get(&key).and_then(|theirs| table.is_changed(row, theirs)) {
            Some(false) => {}
            Some(true) => {
                table.change(&change.transaction, row)?;
                changed += 1;
            }
            None => {
                let (source_, target) = (from.to_string(), to.to_string());
                return Err(TransferError::Differs { source_, target, table: table.name, key });
            }
        }
    }
    copied.changed += changed;
    copied.same += rows.len() - new - changed;
    Ok(())
}

/// Lets new rows of a server have ids after those that were copied.
fn advance(change: &Change<'_>, tables: &[Table]) -> Result<()> {
    let numbered =
        |table: &&Table| table.keys().iter().any(|(_, key)| key.name == "id" && key.kind == "bigint");
    for name in tables.iter().filter(numbered).map(|table| table.name) {
        change.transaction.execute_batch(&format!(
            "SELECT setval(pg_get_serial_sequence('{name}', 'id'), greatest((SELECT max(id) FROM {name}),
                 pg_sequence_last_value(pg_get_serial_sequence('{name}', 'id')::regclass)))
             WHERE EXISTS (SELECT 1 FROM {name})"
        ))?;
    }
    Ok(())
}

/// A key for a message.
fn shown(key: &[Value]) -> String {
    let word = |value: &Value| match value {
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Null | Value::Blob(_) => "?".to_owned(),
    };
    key.iter().map(word).collect::<Vec<_>>().join(" ")
}
