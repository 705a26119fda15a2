//! Copies a ledger from a file to a server, or back. Ids stay, so that resets and marks refer to their rows. A second copy
//! adds only what is new. The tables of the session manager stay where they are.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Instant;

use rusqlite::types::Value;

use super::database::{Change, Ledger};
use super::{creation, rights};
use crate::engine::{Connection, LedgerError, Result, Row, ToSql, params};
use crate::location::Location;
use crate::time;

/// The rows of one statement.
const BATCH: usize = 300;

/// The end of the name of a file that is not complete yet.
const UNFINISHED: &str = ".partial";

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

    fn keys(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.is_key)
    }

    fn key_of(&self, row: &[Value]) -> Vec<Value> {
        let values = self.columns.iter().zip(row);
        values.filter(|(column, _)| column.is_key).map(|(_, value)| value.clone()).collect()
    }

    fn select(&self, from: &Connection, which: &str, rows: &[Vec<Value>]) -> Result<Vec<Vec<Value>>> {
        let sql = format!("SELECT {} FROM {} {which}", names(self.columns.iter()), self.name);
        let read = |row: &Row<'_>| (0..self.columns.len()).map(|column| row.get(column)).collect();
        from.query(&sql, &parameters(rows), read)
    }

    /// The next rows after those of this key, in the order of their keys.
    fn page(&self, from: &Connection, after: Option<Vec<Value>>) -> Result<Vec<Vec<Value>>> {
        let keys = names(self.keys());
        let after = Vec::from_iter(after);
        let rows = Self::placeholders(from, self.keys(), after.len());
        let which = if after.is_empty() { String::new() } else { format!("WHERE ({keys}) > {rows}") };
        self.select(from, &format!("{which} ORDER BY {keys} LIMIT {BATCH}"), &after)
    }

    /// Parameters of rows of these columns, with their types on a server.
    fn placeholders<'a>(of: &Connection, columns: impl Iterator<Item = &'a Column>, rows: usize) -> String {
        let columns: Vec<&Column> = columns.collect();
        let row = |row: usize| {
            let numbered = (row * columns.len() + 1..).zip(&columns);
            format!("({})", join(numbered.map(|(number, column)| column.placeholder(of, number))))
        };
        join((0..rows).map(row))
    }

    /// Adds rows that are not there. Returns how many there were.
    fn add(&self, to: &Connection, rows: &[Vec<Value>]) -> Result<usize> {
        let columns = self.columns.iter();
        let values = Self::placeholders(to, columns.clone(), rows.len());
        let (table, names) = (self.name, names(columns));
        let sql = format!("INSERT INTO {table} ({names}) VALUES {values} ON CONFLICT DO NOTHING");
        to.execute(&sql, &parameters(rows))
    }

    /// The rows of these keys.
    fn there(&self, to: &Connection, keys: &[Vec<Value>]) -> Result<Vec<Vec<Value>>> {
        let values = Self::placeholders(to, self.keys(), keys.len());
        self.select(to, &format!("WHERE ({}) IN (VALUES {values})", names(self.keys())), keys)
    }

    /// Whether two rows of one key differ, and may: `None` if one of them is not the other's later state.
    fn is_changed(&self, ours: &[Value], theirs: &[Value]) -> Option<bool> {
        let values = self.columns.iter().zip(ours.iter().zip(theirs));
        let mut differing =
            values.filter(|(_, (one, other))| one != other).map(|(column, _)| column).peekable();
        let is_changed = differing.peek().is_some();
        differing.all(|column| rights::is_changeable(self.name, &column.name)).then_some(is_changed)
    }

    /// The values of a row in one form; `None` where the column cannot have it.
    fn read(&self, row: Vec<Value>) -> impl Iterator<Item = Option<Value>> {
        self.columns.iter().zip(row).map(|(column, value)| column.read(value))
    }

    fn change(&self, to: &Connection, row: &[Value]) -> Result<()> {
        let (mut set, mut which, mut values) = (Vec::new(), Vec::new(), Vec::<&dyn ToSql>::new());
        for (column, value) in self.columns.iter().zip(row) {
            if column.is_key || rights::is_changeable(self.name, &column.name) {
                values.push(value);
                let list = if column.is_key { &mut which } else { &mut set };
                list.push(format!("{} = {}", column.name, column.placeholder(to, values.len())));
            }
        }
        let sql = format!("UPDATE {} SET {} WHERE {}", self.name, set.join(", "), which.join(" AND "));
        to.execute(&sql, &values).map(|_| ())
    }
}

/// The names of columns.
fn names<'a>(columns: impl Iterator<Item = &'a Column>) -> String {
    join(columns.map(|column| column.name.clone()))
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// The values of rows as parameters.
fn parameters(rows: &[Vec<Value>]) -> Vec<&dyn ToSql> {
    rows.iter().flatten().map(|value| value as &dyn ToSql).collect()
}

impl Column {
    /// A parameter of this number, with the type of the column on a server.
    fn placeholder(&self, of: &Connection, number: usize) -> String {
        if of.is_server() { format!("?{number}::{}", self.kind) } else { format!("?{number}") }
    }

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
///
/// A copy to a server is one transaction: one that was ended leaves nothing. A copy to a file is made in steps, beside hooks that use
/// the file, and continues one that was ended; a new file has its name when it is complete.
pub fn copy(
    from: &Location,
    to: &Location,
    progress: &mut dyn FnMut(&str, usize),
) -> Result<Vec<Copied>, TransferError> {
    let Some(path) = to.file().filter(|_| to.is_missing()) else {
        return copy_into(from, to, true, progress);
    };
    let unfinished = creation::beside(path, UNFINISHED);
    let copied = copy_into(from, &Location::from(&unfinished), false, progress)?;
    creation::publish(&unfinished, path)?;
    Ok(copied)
}

/// Copies a ledger into one that exists or is created. `is_shared`: others may use a file meanwhile.
fn copy_into(
    from: &Location,
    to: &Location,
    is_shared: bool,
    progress: &mut dyn FnMut(&str, usize),
) -> Result<Vec<Copied>, TransferError> {
    let source = Ledger::open(from)?;
    let mut target = Ledger::open(to)?.for_the_record();
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
    // In other journal modes, writers would wait for the reader of a file.
    let is_one_moment = source.connection.is_server() || source.is_in_wal_mode();
    let _reading = if is_one_moment { Some(source.connection.reading()?) } else { None };
    let pages = Pages { tables, source: &source.connection, names: (from, to) };
    if target.is_server() {
        let change = target.change()?;
        let all = pages.each(progress, |table, rows, copied| pages.write(table, rows, &change, copied))?;
        advance(&change, &pages.tables)?;
        change.commit()?;
        return Ok(all);
    }
    // Nothing is copied into a file with another history.
    if pages.has_rows(&schema)? {
        pages
            .each(&mut |_, _| (), |table, rows, _| pages.changed(table, rows, &schema, false).map(|_| ()))?;
    }
    drop(schema);
    let all = pages.each(progress, |table, rows, copied| {
        let change = target.change()?;
        let began = Instant::now();
        pages.write(table, rows, &change, copied)?;
        change.commit()?;
        if is_shared {
            // As much time for others.
            sleep(began.elapsed());
        }
        Ok(())
    })?;
    if let Some(file) = target.connection.file() {
        // The file is complete without its write-ahead log.
        let whole = file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        whole.map_err(|cause| target.connection.failure(cause))?;
    }
    Ok(all)
}

/// The rows of a ledger that is copied, some at a time.
struct Pages<'a> {
    tables: Vec<Table>,
    source: &'a Connection,
    /// The source and the target.
    names: (&'a Location, &'a Location),
}

impl Pages<'_> {
    /// Whether the target has a row.
    fn has_rows(&self, target: &Connection) -> Result<bool> {
        for table in &self.tables {
            if target.exists(&format!("SELECT 1 FROM {} LIMIT 1", table.name), &[])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Gives the rows of all tables to `work`, page by page. Returns what was copied.
    fn each(
        &self,
        progress: &mut dyn FnMut(&str, usize),
        mut work: impl FnMut(&Table, &[Vec<Value>], &mut Copied) -> Result<(), TransferError>,
    ) -> Result<Vec<Copied>, TransferError> {
        let mut all = Vec::new();
        for table in &self.tables {
            let mut copied = Copied { table: table.name, ..Copied::default() };
            let mut after = None;
            loop {
                let page = table.page(self.source, after)?;
                let Some(last) = page.last() else { break };
                after = Some(table.key_of(last));
                let rows = readable(table, page, &mut copied);
                if !rows.is_empty() {
                    work(table, &rows, &mut copied)?;
                }
                progress(table.name, copied.new + copied.changed + copied.same + copied.skipped);
            }
            all.push(copied);
        }
        Ok(all)
    }

    /// Adds rows to the target, and changes those that have changed.
    fn write(
        &self,
        table: &Table,
        rows: &[Vec<Value>],
        change: &Change<'_>,
        copied: &mut Copied,
    ) -> Result<(), TransferError> {
        let new = table.add(&change.transaction, rows)?;
        copied.new += new;
        if new == rows.len() {
            return Ok(());
        }
        let changed = self.changed(table, rows, &change.transaction, true)?;
        for row in &changed {
            table.change(&change.transaction, row)?;
        }
        copied.changed += changed.len();
        copied.same += rows.len() - new - changed.len();
        Ok(())
    }

    /// The rows that the target has in an earlier state. An error if it has another row in the place of one of them, or, of `all`, lacks
    /// one.
    fn changed<'a>(
        &self,
        table: &Table,
        rows: &'a [Vec<Value>],
        target: &Connection,
        all: bool,
    ) -> Result<Vec<&'a Vec<Value>>, TransferError> {
        let keys: Vec<Vec<Value>> = rows.iter().map(|row| table.key_of(row)).collect();
        let there = table.there(target, &keys)?.into_iter().map(|row| {
            let row: Vec<Value> = table.read(row).map(|value| value.unwrap_or(Value::Null)).collect();
            (shown(&table.key_of(&row)), row)
        });
        let there: BTreeMap<String, Vec<Value>> = there.collect();
        let mut changed = Vec::new();
        for row in rows {
            let key = shown(&table.key_of(row));
            match there.get(&key).map(|theirs| table.is_changed(row, theirs)) {
                Some(Some(true)) => changed.push(row),
                Some(Some(false)) => {}
                None if !all => {}
                None | Some(None) => {
                    let (source_, target) = (self.names.0.to_string(), self.names.1.to_string());
                    return Err(TransferError::Differs { source_, target, table: table.name, key });
                }
            }
        }
        Ok(changed)
    }
}

/// The rows that the target can have.
fn readable(table: &Table, page: Vec<Vec<Value>>, copied: &mut Copied) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for row in page {
        let key = table.key_of(&row);
        if let Some(read) = table.read(row).collect() {
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

/// Lets new rows of a server have ids after those that were copied.
fn advance(change: &Change<'_>, tables: &[Table]) -> Result<()> {
    let numbered = |table: &&Table| table.keys().any(|key| key.name == "id" && key.kind == "bigint");
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
