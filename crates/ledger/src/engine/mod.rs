//! The two engines of the ledger behind one interface: a SQLite file, or a PostgreSQL server that several agents share.
//!
//! The statements of the ledger are written once, in the dialect of SQLite; [`dialect`] translates what PostgreSQL writes
//! differently. Each engine has its own migrations.

#![expect(clippy::needless_pass_by_value, reason = "lists of values are written where they are used")]

pub mod address;
pub(super) mod dialect;
mod error;
pub mod patience;
mod server;
mod values;

use std::cell::Cell;
use std::ops::Deref;

use rusqlite::types::{FromSql, ValueRef};

use super::time;

pub use error::{Error, OptionalExtension, Result};
pub use rusqlite::{ToSql, params};
pub use server::{Server, TextRows};
pub use values::ServerRow;

/// A connection to one of the engines.
#[derive(Debug)]
pub enum Connection {
    /// A file.
    File(rusqlite::Connection),
    /// A database of a server.
    Server(Box<Server>),
}

/// A statement that may be run several times.
pub enum Statement<'a> {
    /// Of a file.
    File(rusqlite::Statement<'a>),
    /// Of a server; the text is that of its dialect.
    Server(&'a Server, String),
}

/// The rows of a query, read one after the other.
pub enum Rows<'a> {
    /// Of a file.
    File(rusqlite::Rows<'a>),
    /// Of a server: those that are left, and the current one.
    Server(std::vec::IntoIter<ServerRow>, Option<ServerRow>),
}

/// One row.
pub enum Row<'a> {
    /// Of a file.
    File(&'a rusqlite::Row<'a>),
    /// Of a server.
    Server(&'a ServerRow),
}

/// The values of a statement's parameters.
pub trait Params {
    /// In the order of their numbers.
    fn values(&self) -> Vec<&dyn ToSql>;
}

macro_rules! of_one_type {
    ($($count:literal)*) => {
        $(impl<T: ToSql> Params for [T; $count] {
            fn values(&self) -> Vec<&dyn ToSql> {
                self.iter().map(|value| value as &dyn ToSql).collect()
            }
        })*
    };
}

of_one_type!(1 2 3);

impl Params for [&dyn ToSql; 0] {
    fn values(&self) -> Vec<&dyn ToSql> {
        vec![]
    }
}

impl Params for &[&dyn ToSql] {
    fn values(&self) -> Vec<&dyn ToSql> {
        self.to_vec()
    }
}

impl Connection {
    /// Prepares a statement.
    pub fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        Ok(match self {
            Self::File(file) => Statement::File(file.prepare(sql)?),
            Self::Server(server) => Statement::Server(server, dialect::postgresql(sql)),
        })
    }

    /// Runs a statement without rows. Returns how many rows it has changed.
    pub fn execute(&self, sql: &str, values: impl Params) -> Result<usize> {
        match self {
            Self::File(file) => {
                Ok(file.prepare(sql)?.execute(rusqlite::params_from_iter(values.values()))?)
            }
            Self::Server(server) => server.execute(&dialect::postgresql(sql), &values.values()),
        }
    }

    /// Runs statements that are separated by `;`, as they are written.
    pub fn execute_batch(&self, sql: &str) -> Result<()> {
        match self {
            Self::File(file) => Ok(file.execute_batch(sql)?),
            Self::Server(server) => server.batch(sql).map(|_| ()),
        }
    }

    /// The first row of a query.
    pub fn query_row<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.prepare(sql)?.query_row(values, read)
    }

    /// Runs queries, and gives each row to `read` with the place of its query. A server gets them together, so that they take
    /// the way there and back once.
    pub fn read_all(
        &self,
        queries: &[(&str, Vec<&dyn ToSql>)],
        mut read: impl FnMut(usize, &Row<'_>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::File(file) => {
                let mut statements: Vec<(&str, rusqlite::Statement<'_>)> = Vec::new();
                for (place, (sql, values)) in queries.iter().enumerate() {
                    let known = statements.iter().position(|(of, _)| of == sql);
                    let known = if let Some(known) = known {
                        known
                    } else {
                        statements.push((sql, file.prepare(sql)?));
                        statements.len() - 1
                    };
                    let Some((_, statement)) = statements.get_mut(known) else { continue };
                    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
                    while let Some(row) = rows.next()? {
                        read(place, &Row::File(row))?;
                    }
                }
            }
            Self::Server(server) => {
                let theirs = |(sql, values): &(&str, Vec<_>)| (dialect::postgresql(sql), values.clone());
                let theirs: Vec<_> = queries.iter().map(theirs).collect();
                for (place, rows) in server.query_all(&theirs)?.iter().enumerate() {
                    rows.iter().try_for_each(|row| read(place, &Row::Server(row)))?;
                }
            }
        }
        Ok(())
    }

    /// A transaction for reading: all of its queries see the same moment.
    pub fn reading(&self) -> Result<Transaction<'_>> {
        Transaction::begin(
            self,
            if self.is_server() { "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" } else { "BEGIN" },
        )
    }

    /// Whether this is a server.
    pub const fn is_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }

    /// The SQLite connection of a file.
    pub const fn file(&self) -> Option<&rusqlite::Connection> {
        match self {
            Self::File(file) => Some(file),
            Self::Server(_) => None,
        }
    }
}

impl Statement<'_> {
    /// Runs a query.
    pub fn query(&mut self, values: impl Params) -> Result<Rows<'_>> {
        Ok(match self {
            Self::File(statement) => {
                Rows::File(statement.query(rusqlite::params_from_iter(values.values()))?)
            }
            Self::Server(server, sql) => Rows::Server(server.query(sql, &values.values())?.into_iter(), None),
        })
    }

    /// Runs a query, and reads all of its rows.
    pub fn query_map<T>(
        &mut self,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<std::vec::IntoIter<Result<T>>> {
        let mut rows = self.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(&row));
        }
        Ok(found.into_iter())
    }

    /// The first row of a query.
    pub fn query_row<T>(
        &mut self,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut rows = self.query(values)?;
        let row = rows.next()?.ok_or(Error::NO_ROW)?;
        read(&row)
    }

    /// Whether a query has a row.
    pub fn exists(&mut self, values: impl Params) -> Result<bool> {
        Ok(self.query(values)?.next()?.is_some())
    }
}

impl Rows<'_> {
    /// The next row.
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        Ok(match self {
            Self::File(rows) => rows.next()?.map(Row::File),
            Self::Server(rows, current) => {
                *current = rows.next();
                current.as_ref().map(Row::Server)
            }
        })
    }
}

impl Row<'_> {
    /// The value of a column, counted from 0.
    pub fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        match self {
            Self::File(row) => Ok(row.get(column)?),
            Self::Server(row) => {
                let value = row.value(column)?;
                T::column_result(ValueRef::from(&value)).map_err(|cause| Error::of_column(column, &cause))
            }
        }
    }
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
    pub fn begin(connection: &'a Connection, statement: &str) -> Result<Self> {
        connection.execute_batch(statement)?;
        Ok(Self::begun(connection))
    }

    /// The transaction that has begun on this connection.
    pub const fn begun(connection: &'a Connection) -> Self {
        Self { connection, is_open: Cell::new(true) }
    }

    /// The connection that it is on.
    pub const fn connection(&self) -> &'a Connection {
        self.connection
    }

    /// Runs a statement without rows. A server gets it with the next one, or with the end of the transaction, which reports
    /// its errors.
    pub fn run(&self, sql: &str, values: impl Params) -> Result<()> {
        match self.connection {
            Connection::File(_) => self.connection.execute(sql, values).map(|_| ()),
            Connection::Server(server) => server.execute_later(dialect::postgresql(sql), &values.values()),
        }
    }

    /// Commits it.
    pub fn commit(self) -> Result<()> {
        self.commit_after(&[], |_| Ok(()))
    }

    /// Commits it after a last query.
    pub fn commit_with(self, sql: &str, read: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        self.commit_after(&[(sql, vec![])], read)
    }

    fn commit_after(
        self,
        last: &[(&str, Vec<&dyn ToSql>)],
        mut read: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        // A server that was frozen must not commit what has been given up meanwhile.
        let given_up = match self.connection {
            Connection::Server(server) => server.given_up_at().map(time::write),
            Connection::File(_) => None,
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
            match self.connection {
                Connection::File(file) => drop(file.execute_batch("ROLLBACK")),
                Connection::Server(server) => server.roll_back(),
            }
        }
    }
}
