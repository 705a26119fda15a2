//! The two engines of the ledger behind one interface: a SQLite file, or a PostgreSQL server that several agents share.
//!
//! The statements of the ledger are written once, in the dialect of SQLite; [`dialect`] translates what PostgreSQL writes
//! differently. Each engine has its own migrations.

pub mod address;
mod backend;
pub(super) mod dialect;
mod error;
mod failures;
mod patience;
mod select;
mod server;
mod values;
mod work;

use std::cell::Cell;
use std::ops::Deref;

use chrono::{DateTime, Utc};
use rusqlite::types::{FromSql, ValueRef};

use super::time;
use crate::file::lock_timeout::LockWait;

pub use address::{Place, ServerAddress};
pub use error::{EngineResult, Error, LedgerError, OptionalExtension};
pub use failures::LatestFailure;
pub use patience::Patience;
pub use rusqlite::{ToSql, params};
pub(crate) use select::Select;
pub use server::{Server, TextRows};
pub use work::SMALL_TABLES;

/// The result of an operation on the ledger.
pub type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// A connection to a ledger.
#[derive(Debug)]
pub struct Connection {
    /// Where the ledger is.
    pub(crate) place: Place,
    /// The connection of its engine.
    pub(crate) engine: Engine,
    /// How long it waits for the locks of other programs.
    pub(crate) lock_wait: LockWait,
}

/// A connection of one of the engines.
#[derive(Debug)]
pub enum Engine {
    /// To a file.
    File(rusqlite::Connection),
    /// To a database of a server.
    Server(Box<Server>),
}

/// One row.
pub struct Row<'a> {
    place: &'a Place,
    engine: EngineRow<'a>,
}

enum EngineRow<'a> {
    File(&'a rusqlite::Row<'a>),
    Server(&'a tokio_postgres::Row),
}

impl Connection {
    /// A connection to the ledger at a place.
    pub(crate) fn new(place: Place, mut engine: Engine) -> Result<Self> {
        let lock_wait = LockWait::default();
        if let Engine::File(file) = &mut engine {
            lock_wait.install(file).map_err(|cause| LedgerError::new(&place, cause))?;
        }
        Ok(Self { place, engine, lock_wait })
    }

    /// A connection that has ended, in the place of one that is in use elsewhere.
    pub(crate) fn ended(place: Place) -> Self {
        let engine = Engine::Server(Box::default());
        Self { place, engine, lock_wait: LockWait::default() }
    }

    /// A failure of this ledger.
    pub(crate) fn failure(&self, cause: impl Into<Error>) -> LedgerError {
        LedgerError::new(&self.place, cause)
    }

    /// Runs a statement without rows. Returns how many rows it has changed.
    pub(crate) fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize> {
        let changed = match &self.engine {
            Engine::File(file) => file
                .prepare_cached(sql)
                .and_then(|mut statement| {
                    let changed = statement.execute(rusqlite::params_from_iter(values))?;
                    work::check(file, &statement, sql);
                    Ok(changed)
                })
                .map_err(Error::from),
            Engine::Server(server) => server.execute(&dialect::postgresql(sql), values),
        };
        changed.map_err(|cause| self.failure(cause))
    }

    /// Runs statements that are separated by `;`, as they are written.
    pub(crate) fn execute_batch(&self, sql: &str) -> Result<()> {
        let done = match &self.engine {
            Engine::File(file) => file.execute_batch(sql).map_err(Error::from),
            Engine::Server(server) => server.batch(sql).map(|_| ()),
        };
        done.map_err(|cause| self.failure(cause))
    }

    /// Runs a query, and reads all of its rows.
    pub(crate) fn query<T>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.find(sql, values, usize::MAX, |row| read(row).map(Some))
    }

    /// Runs a query with the conditions that apply, and reads all of its rows.
    pub(crate) fn select<T>(
        &self,
        select: &Select<'_>,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.query(select.sql(), select.values(), read)
    }

    /// Runs a query, and reads its rows until `read` has accepted `most` of them.
    pub(crate) fn find<T>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        most: usize,
        mut read: impl FnMut(&Row<'_>) -> Result<Option<T>>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.read_until(&[(sql, values.to_vec())], |_, row| {
            found.extend(read(row)?);
            Ok(found.len() >= most)
        })?;
        Ok(found)
    }

    /// Runs a query that has no limit, and reads its rows until `read` has accepted `most` of them. It asks for more rows as long as
    /// there are not enough: a server sends all rows of its answer.
    pub(crate) fn find_first<T>(
        &self,
        select: &Select<'_>,
        most: usize,
        mut read: impl FnMut(&Row<'_>) -> Result<Option<T>>,
    ) -> Result<Vec<T>> {
        /// The largest limit that a server accepts.
        const LARGEST: usize = usize::MAX >> 1;
        let mut limit = most.min(LARGEST);
        loop {
            let (sql, mut rows) = (format!("{} LIMIT {limit}", select.sql()), 0);
            let found = self.find(&sql, select.values(), most, |row| {
                rows += 1;
                read(row)
            })?;
            if found.len() >= most || rows < limit {
                return Ok(found);
            }
            limit = limit.saturating_mul(10).min(LARGEST);
        }
    }

    /// The first row of a query.
    pub(crate) fn query_row<T>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        let found = self.find(sql, values, 1, |row| read(row).map(Some))?.pop();
        found.ok_or_else(|| self.failure(Error::NoRow))
    }

    /// Whether a query has a row.
    pub(crate) fn exists(&self, sql: &str, values: &[&dyn ToSql]) -> Result<bool> {
        self.query_row(sql, values, |_| Ok(())).optional().map(|found| found.is_some())
    }

    /// Runs queries, and gives each row to `read` with the place of its query. A server gets them together, in one round trip.
    pub(crate) fn read_all(
        &self,
        queries: &[(&str, Vec<&dyn ToSql>)],
        mut read: impl FnMut(usize, &Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.read_until(queries, |place, row| read(place, row).map(|()| false))
    }

    const fn row<'a>(&'a self, engine: EngineRow<'a>) -> Row<'a> {
        Row { place: &self.place, engine }
    }

    /// Gives the rows of queries to `read` until it returns true.
    fn read_until(
        &self,
        queries: &[(&str, Vec<&dyn ToSql>)],
        mut read: impl FnMut(usize, &Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        let fail = |cause| self.failure(cause);
        match &self.engine {
            Engine::File(file) => {
                for (place, (sql, values)) in queries.iter().enumerate() {
                    let mut statement = file.prepare_cached(sql).map_err(fail)?;
                    let mut rows = statement.query(rusqlite::params_from_iter(values)).map_err(fail)?;
                    let mut has_enough = false;
                    while !has_enough && let Some(found) = rows.next().map_err(fail)? {
                        has_enough = read(place, &self.row(EngineRow::File(found)))?;
                    }
                    drop(rows);
                    work::check(file, &statement, sql);
                    if has_enough {
                        return Ok(());
                    }
                }
            }
            Engine::Server(server) => {
                let theirs = |(sql, values): &(&str, Vec<_>)| (dialect::postgresql(sql), values.clone());
                let theirs: Vec<_> = queries.iter().map(theirs).collect();
                let answers = server.query_all(&theirs).map_err(|cause| self.failure(cause))?;
                for (place, found) in answers
                    .iter()
                    .enumerate()
                    .flat_map(|(place, rows)| rows.iter().map(move |row| (place, row)))
                {
                    if read(place, &self.row(EngineRow::Server(found)))? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// A transaction for reading: all of its queries see the same moment.
    pub(crate) fn reading(&self) -> Result<Transaction<'_>> {
        Transaction::begin(
            self,
            if self.is_server() { "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" } else { "BEGIN" },
        )
    }

    /// Whether this is a server.
    pub(crate) const fn is_server(&self) -> bool {
        matches!(self.engine, Engine::Server(_))
    }

    /// Whether this connection may add rows to a table: on a server, the role of agents may not add those that clear counters
    /// or state deliveries.
    pub(crate) fn may_add_to(&self, table: &str) -> Result<bool> {
        let sql = "SELECT has_table_privilege(?1, 'INSERT')";
        if self.is_server() { self.query_row(sql, params![table], |row| row.get(0)) } else { Ok(true) }
    }

    /// The SQLite connection of a file.
    pub(crate) const fn file(&self) -> Option<&rusqlite::Connection> {
        match &self.engine {
            Engine::File(file) => Some(file),
            Engine::Server(_) => None,
        }
    }
}

impl Row<'_> {
    /// The value of a column, counted from 0.
    pub fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        let value = match &self.engine {
            EngineRow::File(row) => row.get(column).map_err(Error::from),
            EngineRow::Server(row) => values::value(row, column).and_then(|value| {
                T::column_result(ValueRef::from(&value)).map_err(|cause| Error::of_column(column, &cause))
            }),
        };
        value.map_err(|cause| LedgerError::new(self.place, cause))
    }

    /// The time in a column; `None` if it is NULL or cannot be parsed.
    pub fn time(&self, column: usize) -> Result<Option<DateTime<Utc>>> {
        Ok(self.get::<Option<String>>(column)?.as_deref().and_then(time::read))
    }

    /// The time in a column that always has one; the epoch if it cannot be parsed.
    pub fn moment(&self, column: usize) -> Result<DateTime<Utc>> {
        self.time(column).map(Option::unwrap_or_default)
    }

    /// The count or amount in a column.
    pub fn count(&self, column: usize) -> Result<u64> {
        Ok(u64::try_from(self.get::<i64>(column)?).unwrap_or(0))
    }
}

/// A struct whose fields are the columns of a row, in their order. `name: time` reads it
/// with [`Row::time`]. What follows `;` is set as it is written.
macro_rules! from_row {
    ($row:expr => $kind:ident { $($field:ident $(: $how:ident)?),* $(,)? $(; $($rest:tt)*)? }) => {{
        let mut column = 0..;
        $kind {
            $($field: from_row!(@column $row, column.next().unwrap_or_default() $(, $how)?),)*
            $($($rest)*)?
        }
    }};
    (@column $row:expr, $at:expr) => { $row.get($at)? };
    (@column $row:expr, $at:expr, $how:ident) => { $row.$how($at)? };
}

/// Adds a row to a table by a method of a transaction: `run`, `execute` or `add`. A text after the columns ends the statement.
macro_rules! insert {
    ($into:tt.$method:ident into $table:ident { $($column:ident: $value:expr),* $(,)? } $(, $ending:expr)?) => {
        $into.$method(
            &$crate::engine::insertion(stringify!($table), &[$(stringify!($column)),*], insert!(@end $($ending)?)),
            $crate::engine::params![$($value),*],
        )
    };
    (@end) => { "" };
    (@end $ending:expr) => { &*$ending };
}

pub(crate) use {from_row, insert};

/// The statement that adds a row with these columns to a table.
pub fn insertion(table: &str, columns: &[&str], ending: &str) -> String {
    let places: Vec<String> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
    format!("INSERT INTO {table} ({}) VALUES ({}) {ending}", columns.join(", "), places.join(", "))
}

/// Fails on a server after a time.
const IN_TIME: &str = "SELECT 1 / (clock_timestamp() < ?1)::int";

/// A transaction, which is rolled back unless it is committed.
#[derive(Debug)]
pub struct Transaction<'a> {
    connection: &'a Connection,
    is_open: Cell<bool>,
}

impl<'a> Transaction<'a> {
    /// Begins a transaction with this statement.
    pub(crate) fn begin(connection: &'a Connection, statement: &str) -> Result<Self> {
        connection.execute_batch(statement)?;
        Ok(Self::begun(connection))
    }

    /// The transaction that has begun on this connection.
    pub(crate) const fn begun(connection: &'a Connection) -> Self {
        Self { connection, is_open: Cell::new(true) }
    }

    /// The connection that it is on.
    pub(crate) const fn connection(&self) -> &'a Connection {
        self.connection
    }

    /// Runs a statement without rows. A server gets it with the next one, or with the end of the transaction, which reports
    /// its errors.
    pub(crate) fn run(&self, sql: &str, values: &[&dyn ToSql]) -> Result<()> {
        match &self.connection.engine {
            Engine::File(_) => self.connection.execute(sql, values).map(|_| ()),
            Engine::Server(server) => server
                .execute_later(dialect::postgresql(sql), values)
                .map_err(|cause| self.connection.failure(cause)),
        }
    }

    /// Adds a row. Returns its id.
    pub(crate) fn add(&self, sql: &str, values: &[&dyn ToSql]) -> Result<i64> {
        self.query_row(&format!("{sql} RETURNING id"), values, |row| row.get(0))
    }

    /// Commits it.
    pub(crate) fn commit(self) -> Result<()> {
        self.commit_after(&[], |_| Ok(()))
    }

    /// Commits it after a last query.
    pub(crate) fn commit_with(self, sql: &str, read: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        self.commit_after(&[(sql, vec![])], read)
    }

    fn commit_after(
        self,
        last: &[(&str, Vec<&dyn ToSql>)],
        mut read: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        // A server that was frozen must not commit what has been given up meanwhile.
        let given_up = match &self.connection.engine {
            Engine::Server(server) => server.given_up_at().map(time::write),
            Engine::File(_) => None,
        };
        let in_time = given_up.as_ref().map(|at| (IN_TIME, vec![at as &dyn ToSql]));
        let commit: Vec<_> = last.iter().cloned().chain(in_time).chain([("COMMIT", vec![])]).collect();
        self.connection
            .read_all(&commit, |place, row| if place < last.len() { read(row) } else { Ok(()) })?;
        self.is_open.set(false);
        Ok(())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.is_open.get() {
            // The engine rolls back a transaction whose connection ends.
            match &self.connection.engine {
                Engine::File(file) => drop(file.execute_batch("ROLLBACK")),
                Engine::Server(server) => server.roll_back(),
            }
        }
    }
}
