//! A connection to a PostgreSQL server. The client library is asynchronous, and the ledger is not, so that each connection
//! has a thread. No call waits longer than its limit.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql as ServerToSql, Type};
use tokio_postgres::{Client, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Access, ServerAddress, whole_text};
use super::error::{Error, Result};
use crate::ledger::time;

/// How long a server may take to accept a connection, or to answer a statement that waits for no lock.
const ANSWER: Duration = Duration::from_millis(1800);

/// How long to wait for the locks of other agents, or for a free connection.
pub const BUSY: Duration = Duration::from_secs(5);

/// Limits are counted in pauses of this length: on a machine that is too busy to answer in time, they are longer, too.
const TICK: Duration = Duration::from_millis(50);

/// How long a failure to connect is remembered.
const MEMORY: Duration = Duration::from_secs(1);

struct Failure {
    of: ServerAddress,
    at: Instant,
    why: String,
}

static FAILURE: Mutex<Option<Failure>> = Mutex::new(None);

/// The rows of a batch, as text.
pub type TextRows = Vec<Vec<Option<String>>>;

type Reply<T> = SyncSender<Result<T>>;

enum Job {
    Query(String, Vec<Text>, Reply<Vec<ServerRow>>),
    Execute(String, Vec<Text>, Reply<usize>),
    Batch(String, Duration, Reply<TextRows>),
}

/// A connection, with its thread.
#[derive(Debug)]
pub struct Server {
    jobs: UnboundedSender<Job>,
    /// The schema version that was last found there.
    pub schema: Cell<u32>,
}

/// A row.
#[derive(Debug)]
pub struct ServerRow(tokio_postgres::Row);

impl Server {
    /// Connects. A server that restarts, or has no free connection, is asked again. For a moment after a failure, the answer
    /// is the same without asking: a hook that uses the ledger several times waits once.
    pub fn connect(address: &ServerAddress, agent: &str) -> Result<Self> {
        let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Failure { of, at, why }) = &*failure
            && of == address
            && at.elapsed() < MEMORY
        {
            return Err(Error::Server(why.clone()));
        }
        // Only the memory is shared between threads, and not the attempt.
        *failure = None;
        drop(failure);
        Self::attempt(address, agent).inspect_err(|error| {
            let failure = Failure { of: address.clone(), at: Instant::now(), why: error.to_string() };
            *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        })
    }

    fn attempt(address: &ServerAddress, agent: &str) -> Result<Self> {
        let access = address.access(agent).map_err(Error::Server)?;
        let (jobs, received) = unbounded_channel();
        let (ready, connected) = sync_channel(1);
        thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || serve(&access, &ready, received))
            .map_err(|error| Error::Server(format!("no thread for its connection: {error}")))?;
        connected.recv().map_err(|_| ended())??;
        Ok(Self { jobs, schema: Cell::new(0) })
    }

    /// The rows of a query.
    pub fn query(&self, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<ServerRow>> {
        let values = texts(values)?;
        self.ask(|reply| Job::Query(sql.to_owned(), values, reply))
    }

    /// Runs a statement. Returns how many rows it has changed.
    pub fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize> {
        let values = texts(values)?;
        self.ask(|reply| Job::Execute(sql.to_owned(), values, reply))
    }

    /// Runs statements that are separated by `;`. Returns their rows.
    pub fn batch(&self, sql: &str) -> Result<TextRows> {
        self.ask(|reply| Job::Batch(sql.to_owned(), ANSWER, reply))
    }

    /// Runs statements that may wait for the locks of others.
    pub fn batch_with_locks(&self, sql: &str, limit: Duration) -> Result<TextRows> {
        self.ask(|reply| Job::Batch(sql.to_owned(), limit + ANSWER, reply))
    }

    /// Whether the server still answers, and accepts changes.
    pub fn is_usable(&self) -> bool {
        let read_only = self.batch("SHOW transaction_read_only");
        read_only.is_ok_and(|rows| rows == [vec![Some("off".to_owned())]])
    }

    fn ask<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T> {
        let (reply, answer) = sync_channel(1);
        self.jobs.send(job(reply)).map_err(|_| ended())?;
        answer.recv().map_err(|_| ended())?
    }
}

fn ended() -> Error {
    Error::Server("the connection has ended".to_owned())
}

fn serve(access: &Access, ready: &Reply<()>, jobs: UnboundedReceiver<Job>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(work(access, ready, jobs)),
        Err(error) => {
            let _ = ready.send(Err(Error::Server(error.to_string())));
        }
    }
}

async fn work(access: &Access, ready: &Reply<()>, mut jobs: UnboundedReceiver<Job>) {
    let client = match connect(access).await {
        Ok(client) => client,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    if ready.send(Ok(())).is_err() {
        return;
    }
    // A caller that has given up needs no reply.
    while let Some(job) = jobs.recv().await {
        match job {
            Job::Query(sql, values, reply) => {
                let rows = async {
                    let rows = client.query_typed(&sql, &typed(&values)).await?;
                    Ok(rows.into_iter().map(ServerRow).collect())
                };
                let _ = reply.send(within(ANSWER, rows).await);
            }
            Job::Execute(sql, values, reply) => {
                let changed = async {
                    let rows = client.execute_typed(&sql, &typed(&values)).await?;
                    Ok(usize::try_from(rows).unwrap_or(usize::MAX))
                };
                let _ = reply.send(within(ANSWER, changed).await);
            }
            Job::Batch(sql, limit, reply) => {
                let rows = async {
                    let messages = client.simple_query(&sql).await?;
                    Ok(messages.iter().filter_map(text_row).collect())
                };
                let _ = reply.send(within(limit, rows).await);
            }
        }
    }
}

async fn connect(access: &Access) -> Result<Client> {
    let mut waited = Duration::ZERO;
    loop {
        let tls = MakeRustlsConnect::new(access.tls.clone());
        let connected = within_raw(ANSWER, access.config.connect(tls)).await;
        let (error, limit) = match connected {
            Ok(Ok((client, connection))) => {
                tokio::spawn(connection);
                return Ok(client);
            }
            Ok(Err(error)) => {
                let limit = patience(&error);
                (of_server(&error), limit)
            }
            Err(error) => (error, Duration::ZERO),
        };
        if waited >= limit {
            return Err(error);
        }
        let pause = Duration::from_millis(fastrand::u64(10..60));
        sleep(pause).await;
        waited += pause;
    }
}

/// How long to try again after this error.
fn patience(error: &tokio_postgres::Error) -> Duration {
    match error.code() {
        Some(&SqlState::TOO_MANY_CONNECTIONS) => BUSY,
        // It starts, ends, or is not the server that accepts changes any more.
        Some(&SqlState::CANNOT_CONNECT_NOW | &SqlState::ADMIN_SHUTDOWN) => ANSWER,
        None if is_away(error) => ANSWER,
        Some(_) | None => Duration::ZERO,
    }
}

/// Whether nothing listens there now, or the connection was closed.
fn is_away(error: &tokio_postgres::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(next) = cause {
        if let Some(error) = next.downcast_ref::<io::Error>() {
            return matches!(
                error.kind(),
                ErrorKind::ConnectionRefused
                    | ErrorKind::ConnectionReset
                    | ErrorKind::ConnectionAborted
                    | ErrorKind::BrokenPipe
                    | ErrorKind::UnexpectedEof
                    | ErrorKind::NotFound
            );
        }
        cause = next.source();
    }
    false
}

async fn within_raw<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T> {
    let ticks = limit.as_millis() / TICK.as_millis();
    let patience = async {
        for _ in 0..ticks {
            sleep(TICK).await;
        }
    };
    tokio::select! {
        found = work => Ok(found),
        () = patience => Err(Error::Server(format!("it did not answer within {:.1} s", limit.as_secs_f32()))),
    }
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> Result<T> {
    within_raw(limit, work).await?.map_err(|error| of_server(&error))
}

fn of_server(error: &tokio_postgres::Error) -> Error {
    let Some(database) = error.as_db_error() else { return Error::Server(whole_text(error)) };
    let text = format!("{} (SQLSTATE {})", database.message(), database.code().code());
    match *database.code() {
        SqlState::INSUFFICIENT_PRIVILEGE
        | SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_COLUMN
        | SqlState::INVALID_PASSWORD
        | SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        | SqlState::READ_ONLY_SQL_TRANSACTION => Error::Refused(text),
        _ => Error::Server(text),
    }
}

fn text_row(message: &SimpleQueryMessage) -> Option<Vec<Option<String>>> {
    let SimpleQueryMessage::Row(row) = message else { return None };
    Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
}

/// A parameter in the server's text form. The server determines its type from where it is used.
#[derive(Debug)]
struct Text(Option<String>);

fn texts(values: &[&dyn ToSql]) -> Result<Vec<Text>> {
    let text = |value: ValueRef<'_>| match value {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => Ok(Some(number.to_string())),
        ValueRef::Real(number) => Ok(Some(number.to_string())),
        // The server has no text with NUL.
        ValueRef::Text(text) => Ok(Some(String::from_utf8_lossy(text).replace('\0', "\u{fffd}"))),
        ValueRef::Blob(_) => Err(Error::Server("the ledger has no binary values".to_owned())),
    };
    values
        .iter()
        .map(|value| {
            Ok(Text(match value.to_sql()? {
                ToSqlOutput::Borrowed(value) => text(value)?,
                ToSqlOutput::Owned(value) => text(ValueRef::from(&value))?,
                _ => None,
            }))
        })
        .collect()
}

fn typed(values: &[Text]) -> Vec<(&(dyn ServerToSql + Sync), Type)> {
    values.iter().map(|value| (value as &(dyn ServerToSql + Sync), Type::UNKNOWN)).collect()
}

impl ServerToSql for Text {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match &self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}

impl ServerRow {
    /// The value of a column, as SQLite would have it.
    pub fn value(&self, column: usize) -> Result<Value> {
        let value: std::result::Result<Option<Read>, _> = self.0.try_get(column);
        Ok(value.map_err(|error| Error::Server(whole_text(&error)))?.map_or(Value::Null, |read| read.0))
    }
}

struct Read(Value);

impl<'a> FromSql<'a> for Read {
    fn from_sql(
        kind: &Type,
        raw: &'a [u8],
    ) -> std::result::Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(match *kind {
            Type::BOOL => Value::Integer(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => Value::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Value::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Value::Integer(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => Value::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => whole_number(raw).map(Value::Integer).ok_or("a number with a fraction")?,
            Type::TIMESTAMPTZ => Value::Text(timestamp(raw).map(time::write).ok_or("a time out of range")?),
            _ => Value::Text(String::from_utf8_lossy(raw).into_owned()),
        }))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Microseconds since 2000.
fn timestamp(raw: &[u8]) -> Option<DateTime<Utc>> {
    let micros = i64::from_be_bytes(raw.try_into().ok()?);
    let start = DateTime::from_timestamp(946_684_800, 0)?;
    start.checked_add_signed(TimeDelta::microseconds(micros))
}

/// A sum of integers: groups of four digits, and the power of 10,000 of the first.
fn whole_number(raw: &[u8]) -> Option<i64> {
    let word = |at: usize| Some(i16::from_be_bytes(raw.get(at * 2..at * 2 + 2)?.try_into().ok()?));
    let (count, first, sign) = (word(0)?, word(1)?, word(2)?);
    let mut number: i64 = 0;
    for place in 0..=i32::from(first) {
        let digits = if place < i32::from(count) { word(4 + usize::try_from(place).ok()?)? } else { 0 };
        number = number.checked_mul(10_000)?.checked_add(digits.into())?;
    }
    let is_whole = count <= first + 1;
    is_whole.then_some(if sign == 0 { number } else { -number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_as_whole_numbers() {
        let raw = |words: &[i16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        assert_eq!(whole_number(&raw(&[0, 0, 0, 0])), Some(0));
        assert_eq!(whole_number(&raw(&[1, 0, 0, 0, 42])), Some(42));
        assert_eq!(whole_number(&raw(&[2, 1, 0, 0, 12, 34])), Some(120_034));
        assert_eq!(whole_number(&raw(&[1, 2, 0, 0, 5])), Some(500_000_000));
        assert_eq!(whole_number(&raw(&[1, 0, 0x4000, 0, 7])), Some(-7));
        assert_eq!(whole_number(&raw(&[2, 0, 0, 1, 7, 5000])), None);
    }

    #[test]
    fn times_are_read_as_the_ledger_writes_them() {
        let raw = (827_677_800_i64 * 1_000_000).to_be_bytes();
        assert_eq!(timestamp(&raw).map(time::write).as_deref(), Some("2026-03-24T14:30:00Z"));
    }
}
