//! A connection to a PostgreSQL server. The client library is asynchronous, and the ledger is not, so that each connection
//! has a runtime of its own, on the thread that uses it. No call waits longer than its limit.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use futures_util::future::{Either, select, try_join, try_join_all};
use rusqlite::ToSql;
use tokio::runtime::{self, Handle, Runtime};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{sleep, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Row, SimpleQueryMessage, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Access, ServerAddress, whole_text};
use super::backend;
use super::error::{EngineResult as Result, Error};
use super::failures::LatestFailure;
use super::patience::{ANSWER, Patience};
use super::values::{Text, plain, texts, typed};

/// The most statements that a server keeps for a connection. Others have values in their texts.
const MOST_KEPT: usize = 64;

/// How long to wait for a free connection.
const BUSY: Duration = Duration::from_secs(5);

/// Limits are counted in pauses of this length: on a machine that is too busy to answer in time, they are longer, too.
const TICK: Duration = Duration::from_millis(50);

static FAILURE: LatestFailure<ServerAddress> = LatestFailure::none();

/// The rows of a batch, as text.
pub type TextRows = Vec<Vec<Option<String>>>;

/// The result of a call of the client library.
type Answer<T> = std::result::Result<T, tokio_postgres::Error>;

/// How long to wait at the end for the server to learn of it.
const FAREWELL: Duration = Duration::from_millis(50);

/// A connection; by default, one that has ended.
#[derive(Debug, Default)]
pub struct Server {
    /// `None`: it has ended.
    open: RefCell<Option<Open>>,
    /// The place of its host in the URL.
    pub host: usize,
    /// Whether a pooler is in between: who waits for one of its connections waits for other agents, and not for the server.
    is_pooled: bool,
    /// How long the request waits that uses it.
    pub patience: Patience,
    /// Statements that are sent with the next one.
    later: RefCell<Vec<(String, Vec<Text>)>>,
    /// Whether the connection is used for many requests.
    is_kept: Cell<bool>,
    /// What the server keeps for this connection, by the text of the statement; `None`: nothing.
    prepared: RefCell<Option<HashMap<String, Statement>>>,
    /// The time of the server, and when it was that.
    pub clock: Cell<Option<(DateTime<Utc>, Instant)>>,
}

/// A statement with its values.
struct Sent {
    sql: String,
    values: Vec<Text>,
    prepared: Option<Statement>,
}

impl Sent {
    async fn rows(&self, client: &Client) -> Answer<Vec<Row>> {
        match &self.prepared {
            Some(statement) => client.query(statement, &plain(&self.values)).await,
            None => client.query_typed(&self.sql, &typed(&self.values)).await,
        }
    }

    async fn changed(&self, client: &Client) -> Answer<u64> {
        match &self.prepared {
            Some(statement) => client.execute(statement, &plain(&self.values)).await,
            None => client.execute_typed(&self.sql, &typed(&self.values)).await,
        }
    }
}

#[derive(Debug)]
struct Open {
    client: Client,
    /// Sends and receives for the client.
    exchange: JoinHandle<Answer<()>>,
    runtime: Runtime,
}

impl Server {
    /// Connects. A server that restarts, or has no free connection, is asked again. For a moment after a failure, the answer
    /// is the same without asking: a guard that serves many hooks does not let each of them wait.
    ///
    /// `first` is the place of the host in the URL that is tried first.
    pub fn connect(address: &ServerAddress, agent: &str, first: usize, patience: &Patience) -> Result<Self> {
        patience.check()?;
        // Only the memory is shared between threads, and not the attempt.
        if let Some(why) = FAILURE.of(address) {
            return Err(why);
        }
        let limit = patience.for_connection();
        Self::attempt(address, agent, first, patience).inspect_err(|error| {
            patience.remember(error);
            // An attempt that had less time shows less.
            if limit == ANSWER {
                FAILURE.remember(address.clone(), error.clone());
            }
        })
    }

    fn attempt(address: &ServerAddress, agent: &str, first: usize, patience: &Patience) -> Result<Self> {
        let access = address.access(agent).map_err(Error::Server)?;
        let failed = |error: io::Error| Error::Server(format!("no runtime for its connection: {error}"));
        let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (limit, mut waited) = (patience.for_connection(), Duration::ZERO);
        match here(&runtime, |runtime| runtime.block_on(connect(&access, first, limit, &mut waited))) {
            Ok((host, client, exchange)) => {
                let mut server = Self::default();
                (server.host, server.patience) = (host, patience.clone());
                server.is_pooled = here(&runtime, |runtime| runtime.block_on(backend::is_pooled(&client)));
                server.open.replace(Some(Open { client, exchange, runtime }));
                Ok(server)
            }
            Err(error) => {
                // A name may still be looked up.
                runtime.shutdown_background();
                // A server that is only slow to accept one of many connections is not away.
                patience.spend(waited);
                Err(error)
            }
        }
    }

    /// The rows of several queries, which are sent together.
    pub fn query_all(&self, queries: &[(String, Vec<&dyn ToSql>)]) -> Result<Vec<Vec<Row>>> {
        let mut all = self.later.take();
        let earlier = all.len();
        for (sql, values) in queries {
            all.push((sql.clone(), texts(values)?));
        }
        let all = self.statements(all)?;
        let mut found =
            self.ask(async |client| try_join_all(all.iter().map(|one| one.rows(client))).await)?;
        Ok(found.split_off(earlier))
    }

    /// Runs a statement. Returns how many rows it has changed.
    pub fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize> {
        let mut all = self.later.take();
        all.push((sql.to_owned(), texts(values)?));
        let all = self.statements(all)?;
        let changed = self.ask(async |client| {
            let Some((last, earlier)) = all.split_last() else { return Ok(0) };
            let earlier = try_join_all(earlier.iter().map(|one| one.rows(client)));
            Ok(try_join(earlier, last.changed(client)).await?.1)
        })?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Lets the server keep the statements of this connection, which is used for many requests, unless a pooler is in between.
    pub fn keep_statements(&self) {
        if !self.is_kept.replace(true) && !self.is_pooled {
            let is_direct = self.ask(async |client| Ok(backend::is_direct(client).await));
            self.prepared.replace(is_direct.is_ok_and(|direct| direct).then(HashMap::new));
        }
    }

    /// Statements with their values, prepared if the server keeps them.
    fn statements(&self, all: Vec<(String, Vec<Text>)>) -> Result<Vec<Sent>> {
        let mut prepared = self.prepared.borrow_mut();
        if let Some(known) = &mut *prepared {
            let new: BTreeSet<&String> =
                all.iter().map(|(sql, _)| sql).filter(|sql| !known.contains_key(*sql)).collect();
            let new: Vec<&String> = new.into_iter().take(MOST_KEPT - known.len()).collect();
            if !new.is_empty() {
                let made =
                    self.ask(async |client| try_join_all(new.iter().map(|sql| client.prepare(sql))).await)?;
                known.extend(new.into_iter().cloned().zip(made));
            }
        }
        let known = |sql: &String| prepared.as_ref()?.get(sql).cloned();
        Ok(all.into_iter().map(|(sql, values)| Sent { prepared: known(&sql), sql, values }).collect())
    }

    /// Runs a statement with the next one, which reports its errors: the way to the server and back costs more than most.
    pub fn execute_later(&self, sql: String, values: &[&dyn ToSql]) -> Result<()> {
        self.later.borrow_mut().push((sql, texts(values)?));
        Ok(())
    }

    /// Rolls back the transaction. If that fails, the connection ends: the next transaction must not join this one.
    pub fn roll_back(&self) {
        self.later.take();
        if self.batch("ROLLBACK").is_err()
            && let Some(open) = self.open.take()
        {
            open.runtime.shutdown_background();
        }
    }

    /// The time of the server, as far as this transaction knows it, when the caller stops waiting for it; `None` if that time
    /// is not known, or the caller has no deadline.
    pub fn given_up_at(&self) -> Option<DateTime<Utc>> {
        let (time, at) = self.clock.get()?;
        Some(time + at.elapsed() + self.patience.left()?)
    }

    fn send_later(&self) -> Result<()> {
        if self.later.borrow().is_empty() { Ok(()) } else { self.query_all(&[]).map(|_| ()) }
    }

    /// Runs statements that are separated by `;`. Returns their rows.
    pub fn batch(&self, sql: &str) -> Result<TextRows> {
        self.send_later()?;
        self.ask(async |client| batch(client, sql).await)
    }

    /// Runs statements that may wait for the locks of others, after which the server cancels them within `limit`.
    pub fn batch_with_locks(&self, sql: &str, limit: Duration) -> Result<TextRows> {
        self.patience.check()?;
        let left = if self.is_pooled { BUSY } else { self.patience.for_statement().min(ANSWER) };
        // A server that answers nothing is away: it is not waited for as long as the locks are.
        let open = self.open.borrow();
        let Some(Open { client, runtime, .. }) = &*open else { return Err(ended()) };
        let answer = here(runtime, |runtime| {
            runtime.block_on(async {
                let mut answers = pin!(within(left, client.simple_query("")));
                let mut holds = pin!(within(limit + left, batch(client, sql)));
                match select(&mut answers, &mut holds).await {
                    Either::Left(((None, _), _)) => None,
                    Either::Left(_) => holds.await.0,
                    Either::Right(((found, _), _)) => found,
                }
            })
        });
        drop(open);
        if answer.is_none() {
            self.patience.spend(left);
        }
        self.result_of(answer, left)
    }

    /// Whether the connection has ended.
    pub fn has_ended(&self) -> bool {
        let open = self.open.borrow();
        let Some(open) = &*open else { return true };
        // What the server has sent meanwhile is read only here: first it is noticed, and then read.
        here(&open.runtime, |runtime| {
            runtime.block_on(async {
                yield_now().await;
                yield_now().await;
            });
        });
        open.client.is_closed()
    }

    /// Whether the server still answers, and accepts changes.
    pub fn is_usable(&self) -> bool {
        let ask = async |client: &Client| batch(client, "SHOW transaction_read_only").await;
        let (read_only, waited) = self.run(self.patience.for_connection(), ask);
        self.patience.spend(waited);
        read_only.is_ok_and(|rows| rows == [vec![Some("off".to_owned())]])
    }

    fn ask<T: Send>(&self, work: impl AsyncFnOnce(&Client) -> Answer<T> + Send) -> Result<T> {
        self.patience.check()?;
        let limit = self.patience.for_statement();
        let limit = if self.is_pooled { limit.max(BUSY) } else { limit };
        let (result, waited) = self.run(limit, work);
        // A server that refuses a statement has answered.
        let away = result.as_ref().err().filter(|why| !matches!(why, Error::Refused(_)));
        if !self.is_pooled || away.is_some() {
            self.patience.spend(waited);
        }
        if let Some(why) = away {
            self.patience.remember(why);
        }
        result
    }

    /// The result of `work`, and how long the server was waited for.
    fn run<T: Send>(
        &self,
        limit: Duration,
        work: impl AsyncFnOnce(&Client) -> Answer<T> + Send,
    ) -> (Result<T>, Duration) {
        let open = self.open.borrow();
        let Some(Open { client, runtime, .. }) = &*open else { return (Err(ended()), Duration::ZERO) };
        let (answer, waited) = here(runtime, |runtime| runtime.block_on(within(limit, work(client))));
        drop(open);
        (self.result_of(answer, limit), waited)
    }

    /// The result of an answer. Without one, the connection is closed, so that the server rolls back the transaction and releases
    /// its locks.
    fn result_of<T>(&self, answer: Option<Answer<T>>, limit: Duration) -> Result<T> {
        if answer.is_none()
            && let Some(open) = self.open.take()
        {
            open.runtime.shutdown_background();
        }
        answer.ok_or_else(|| Error::late(limit))?.map_err(|error| of_server(&error))
    }
}

impl Drop for Server {
    /// Tells the server that the connection ends, which would otherwise write a line about it to its log.
    fn drop(&mut self) {
        let Some(Open { client, exchange, runtime }) = self.open.take() else { return };
        drop(client);
        let can_wait = Handle::try_current().is_err_and(|error| error.is_missing_context());
        if can_wait {
            let _ = runtime.block_on(async { timeout(FAREWELL, exchange).await });
        }
        runtime.shutdown_background();
    }
}

fn ended() -> Error {
    Error::Server("the connection has ended".to_owned())
}

async fn batch(client: &Client, sql: &str) -> Answer<TextRows> {
    Ok(client.simple_query(sql).await?.iter().filter_map(text_row).collect())
}

/// Connects within `limit`. Waiting for a free connection does not count.
/// Each host has its part of the time: one of them may be away.
async fn connect(
    access: &Access,
    first: usize,
    limit: Duration,
    waited: &mut Duration,
) -> Result<(usize, Client, JoinHandle<Answer<()>>)> {
    let hosts = access.hosts.len();
    let part = limit / u32::try_from(hosts).unwrap_or(u32::MAX);
    let mut in_line = Duration::ZERO;
    let mut last = None;
    loop {
        let mut why = None;
        for place in (0..hosts).map(|n| (first + n) % hosts) {
            let Some(config) = access.hosts.get(place) else { continue };
            let tls = MakeRustlsConnect::new(access.tls.clone());
            let left = part.min(limit.saturating_sub(*waited));
            let (connected, took) = within(left, config.connect(tls)).await;
            *waited += took;
            match connected {
                Some(Ok((client, connection))) => return Ok((place, client, tokio::spawn(connection))),
                Some(Err(error)) => {
                    let found = state(&error);
                    last = Some(of_server(&error));
                    why = why.max(Some(found));
                }
                None => {}
            }
        }
        let pause = Duration::from_millis(fastrand::u64(10..60));
        match why {
            Some(Away::Full) if in_line < BUSY => in_line += pause,
            Some(Away::Down) if *waited < limit => *waited += pause,
            _ => return Err(last.unwrap_or_else(|| Error::late(limit))),
        }
        sleep(pause).await;
    }
}

/// Why there is no connection. Of several hosts, the last of these reasons applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Away {
    /// Another attempt would have the same result.
    Refuses,
    /// It starts, ends, is not there, or is not the server that accepts changes any more.
    Down,
    /// The server has no free connection.
    Full,
}

fn state(error: &tokio_postgres::Error) -> Away {
    match error.code() {
        Some(&SqlState::TOO_MANY_CONNECTIONS) => Away::Full,
        Some(&SqlState::CANNOT_CONNECT_NOW | &SqlState::ADMIN_SHUTDOWN) => Away::Down,
        None if is_away(error) => Away::Down,
        _ => Away::Refuses,
    }
}

/// Whether nothing listens there now, or the connection was closed.
fn is_away(error: &tokio_postgres::Error) -> bool {
    io_causes(error).any(|error| {
        matches!(
            error.kind(),
            ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
                | ErrorKind::NotFound
        )
    })
}

/// The failures of input and output among the causes of an error.
fn io_causes(error: &tokio_postgres::Error) -> impl Iterator<Item = &io::Error> {
    let mut next = error.source();
    let causes = std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    });
    causes.filter_map(|cause| cause.downcast_ref::<io::Error>())
}

/// Why the certificate of a server is not accepted, if that is the failure.
fn of_certificate(error: &tokio_postgres::Error) -> Option<Error> {
    use rustls::CertificateError as Fault;
    let tls = io_causes(error).find_map(|error| error.get_ref()?.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(fault)) = tls else { return None };
    let (why, remedy) = match fault {
        Fault::UnknownIssuer | Fault::BadSignature => (
            "its certificate is self-signed, or signed by an authority that is not known here",
            "name the file with the certificate of its authority as `sslrootcert=FILE` in CLAUDEOPS_DB_URL",
        ),
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => (
            "its certificate is not valid for this host name",
            "use a name of the certificate in CLAUDEOPS_DB_URL",
        ),
        Fault::Expired | Fault::ExpiredContext { .. } => {
            ("its certificate has expired", "renew the certificate, or check the clocks")
        }
        Fault::Other(_) if fault.to_string().contains("CaUsedAsEndEntity") => (
            "its certificate is that of an authority, which is not accepted for a server",
            "give the server a certificate that this authority has signed; docs/fleet.md shows how",
        ),
        _ => return None,
    };
    Some(Error::Certificate(why, remedy))
}

/// Does `work` on this thread; inside of another runtime, which must not wait for this one, on a thread of its own.
fn here<T: Send>(runtime: &Runtime, work: impl FnOnce(&Runtime) -> T + Send) -> T {
    if Handle::try_current().is_err() {
        return work(runtime);
    }
    let done = thread::scope(|scope| scope.spawn(|| work(runtime)).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The result of `work`, unless it takes longer than `limit`; and how long it was waited for, in whole ticks.
async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> (Option<T>, Duration) {
    let (mut work, mut waited) = (pin!(work), Duration::ZERO);
    while waited < limit {
        if let Ok(found) = timeout(TICK, &mut work).await {
            return (Some(found), waited);
        }
        waited += TICK;
    }
    (None, waited)
}

fn of_server(error: &tokio_postgres::Error) -> Error {
    let Some(database) = error.as_db_error() else {
        return of_certificate(error).unwrap_or_else(|| Error::Server(whole_text(error)));
    };
    let text = format!("{} (SQLSTATE {})", database.message(), database.code().code());
    match *database.code() {
        SqlState::INSUFFICIENT_PRIVILEGE
        | SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_COLUMN
        | SqlState::READ_ONLY_SQL_TRANSACTION => Error::Refused(text),
        // The check before a commit: the caller has given up.
        SqlState::DIVISION_BY_ZERO => Error::late(ANSWER),
        SqlState::LOCK_NOT_AVAILABLE | SqlState::QUERY_CANCELED => Error::Locked,
        _ => Error::Server(text),
    }
}

fn text_row(message: &SimpleQueryMessage) -> Option<Vec<Option<String>>> {
    let SimpleQueryMessage::Row(row) = message else { return None };
    Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
}
