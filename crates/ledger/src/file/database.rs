//! Opening the ledger, and changes that are committed as a whole.

use std::cell::RefCell;
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::OpenFlags;
use rusqlite::config::DbConfig;

use super::lock_timeout::{BUSY_TIMEOUT, SHORT_TIMEOUT};
use super::locks::{self, Scope};
use super::{creation, folder_lock, migrate};
use crate::engine::{Connection, Engine, EngineResult, LedgerError, Place, Result, Server, Transaction};
use crate::location::Location;
use crate::log;
use crate::pool::Identity;
use crate::records::audit::entry::Entry;
use crate::sessions::turns;
use opsctl_machine::write_limit;

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) connection: Connection,
    location: Location,
    lock_timeout: Duration,
    read_only: bool,
    /// The ledger of the connection, if it stays open.
    kept: Option<Identity>,
}

/// A transaction that changes the ledger. It is rolled back unless it is committed.
#[derive(Debug)]
pub struct Change<'a> {
    // Fields are dropped in this order: the folder lock is released after the transaction has ended.
    pub(crate) transaction: Transaction<'a>,
    pub(crate) location: &'a Location,
    /// The server's time when it began; `None`: the ledger is a file of this machine.
    now: Option<DateTime<Utc>>,
    _turn: Option<File>,
    /// The decisions that its end adds to the audit.
    pub(crate) entries: RefCell<Vec<Entry>>,
}

impl Ledger {
    /// Opens the ledger for writing and creates it if it does not exist. The folder of a file must exist.
    pub fn open(location: impl Into<Location>) -> Result<Self> {
        Self::open_with(location.into(), BUSY_TIMEOUT)
    }

    /// Opens the ledger for optional writes: waits for other writers at most a quarter of a second.
    pub fn open_briefly(location: impl Into<Location>) -> Result<Self> {
        Self::open_with(location.into(), SHORT_TIMEOUT)
    }

    fn open_with(location: Location, lock_timeout: Duration) -> Result<Self> {
        if let Place::File(path) = &location.place {
            write_limit::fail_beyond();
            if path.symlink_metadata().is_err() {
                creation::create(path)?;
            }
        }
        let ledger = Self::connect(location, false, lock_timeout)?;
        if ledger.kept.is_none() && !migrate::is_latest(&ledger)? {
            let _turn = turn(&ledger.location, lock_timeout);
            migrate::to_latest(&ledger)?;
        }
        Ok(ledger.keep())
    }

    /// Opens the ledger for reading; `None` if it does not exist. Never creates it.
    pub fn open_existing(location: impl Into<Location>) -> Result<Option<Self>> {
        let location = location.into();
        if let Place::File(path) = &location.place {
            // To read in WAL mode, SQLite writes the index of the WAL.
            write_limit::fail_beyond();
            match std::fs::metadata(path) {
                // To SQLite an empty file is a database without tables.
                Ok(file) if file.is_file() && file.len() == 0 => return Ok(None),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                // Other errors do not mean that it does not exist; SQLite reports the cause.
                Ok(_) | Err(_) => {}
            }
        }
        let ledger = Self::connect(location, true, BUSY_TIMEOUT)?;
        if ledger.kept.is_none() && !migrate::is_latest(&ledger)? {
            if !ledger.connection.is_server() {
                migrate::lend_tables(&ledger)?;
                return Ok(Some(ledger));
            }
            if migrate::version(&ledger)? == 0 {
                return Ok(None);
            }
        }
        Ok(Some(ledger.keep()))
    }

    /// What `look` finds in the ledger at this location; nothing if it does not exist.
    pub fn read_at<T: Default>(location: &Location, look: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        Self::open_existing(location)?.as_ref().map_or_else(|| Ok(T::default()), look)
    }

    /// Lets the connection stay open when this is dropped, if the location has a pool.
    fn keep(mut self) -> Self {
        if self.location.pool.is_some() {
            self.kept = self.kept.or_else(|| Identity::at(&self.location.place));
        }
        self
    }

    /// Connects to a server, whether or not it has the tables of opsctl.
    pub(crate) fn to_check(location: &Location) -> Result<Self> {
        Self::connect(location.clone(), true, BUSY_TIMEOUT)
    }

    /// Whether there is a ledger: a file of this path, or its tables on the server.
    pub fn exists(location: &Location) -> Result<bool> {
        match location.place {
            Place::File(_) => Ok(!location.is_missing()),
            Place::Server(_) => Self::open_existing(location).map(|ledger| ledger.is_some()),
        }
    }

    /// A kept connection, or a new one.
    fn connect(location: Location, read_only: bool, mut lock_timeout: Duration) -> Result<Self> {
        if location.file().is_some() && location.patience.check().is_err() {
            lock_timeout = Duration::ZERO;
        }
        let Location { place, state_dir, patience, pool, .. } = &location;
        if let Some((mut connection, identity)) = pool.as_ref().and_then(|pool| pool.take(place, read_only)) {
            connection.lock_wait.set(lock_timeout);
            if let Engine::Server(server) = &mut connection.engine {
                server.patience = patience.clone();
            }
            return Ok(Self { connection, location, lock_timeout, read_only, kept: Some(identity) });
        }
        let engine = match place {
            Place::File(path) => open_file(path, read_only).map(Engine::File),
            Place::Server(address) => {
                let state_dir = state_dir.as_deref();
                let connect = || {
                    let first = turns::last_host(state_dir);
                    let server = Server::connect(address, &location.agent_name(), first, patience)?;
                    turns::note_host(state_dir, first, server.host);
                    Ok(server)
                };
                turns::in_turn(state_dir, connect).map(|server| Engine::Server(Box::new(server)))
            }
        };
        let engine = engine.map_err(|cause| LedgerError::new(place, cause))?;
        let connection = Connection::new(place.clone(), engine)?;
        connection.lock_wait.set(lock_timeout);
        if let Some(file) = connection.file() {
            let done = set_up(file).map_err(|cause| connection.failure(cause));
            done.inspect_err(|error| wait_no_more(&location, lock_timeout, error))?;
        }
        Ok(Self { connection, location, lock_timeout, read_only, kept: None })
    }

    /// Opens the ledger, and makes one change of it.
    pub fn write<T>(location: &Location, make: impl FnOnce(&Change<'_>) -> Result<T>) -> Result<T> {
        Self::open(location)?.write_with(make)
    }

    /// Opens the ledger, and makes one change of it that no decision depends on.
    pub fn note<T>(location: &Location, make: impl FnOnce(&Change<'_>) -> Result<T>) -> Result<T> {
        Self::open(location)?.for_the_record().write_with(make)
    }

    /// Makes one change of the ledger.
    pub(crate) fn write_with<T>(mut self, make: impl FnOnce(&Change<'_>) -> Result<T>) -> Result<T> {
        let change = self.change()?;
        let result = make(&change)?;
        change.commit()?;
        Ok(result)
    }

    /// Does not sync further changes to disk in WAL mode: a power cut may lose them, but cannot damage the database.
    /// For records that no decision depends on.
    #[must_use]
    pub fn for_the_record(self) -> Self {
        if let Some(file) = self.file().filter(|_| self.is_in_wal_mode()) {
            // If this fails, changes are only slower.
            let _ = file.pragma_update(None, "synchronous", "NORMAL");
        }
        self
    }

    /// Whether this is a file with a write-ahead log, whose readers and writers do not wait for each other.
    pub(crate) fn is_in_wal_mode(&self) -> bool {
        let journal = |file: &rusqlite::Connection| {
            file.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))
        };
        self.file().is_some_and(|file| journal(file).is_ok_and(|mode| mode == "wal"))
    }

    /// Begins an exclusive transaction: no other process can write until it ends.
    pub fn change(&mut self) -> Result<Change<'_>> {
        self.change_in(Scope::All)
    }

    /// Begins a transaction that reads and changes what `scope` names, and otherwise only adds rows. On a server, changes
    /// of other scopes go on at the same time.
    pub fn change_in(&mut self, scope: Scope<'_>) -> Result<Change<'_>> {
        let Self { connection, location, lock_timeout, .. } = self;
        let (connection, lock_timeout) = (&*connection, *lock_timeout);
        match &connection.engine {
            Engine::File(_) => {
                let turn = turn(location, lock_timeout);
                // There is no other transaction: a change borrows the ledger exclusively.
                let transaction = Transaction::begin(connection, "BEGIN IMMEDIATE")
                    .inspect_err(|error| wait_no_more(location, lock_timeout, error))?;
                Ok(Change { transaction, location, now: None, _turn: turn, entries: RefCell::default() })
            }
            Engine::Server(server) => {
                let (transaction, now) = locks::begin(connection, server, scope, lock_timeout)?;
                Ok(Change { transaction, location, now: Some(now), _turn: None, entries: RefCell::default() })
            }
        }
    }

    /// The time of the ledger: of the server, so that machines with different clocks agree; of this machine (`here`), if the
    /// ledger is a file.
    pub fn now(&self, here: DateTime<Utc>) -> Result<DateTime<Utc>> {
        let Engine::Server(server) = &self.connection.engine else { return Ok(here) };
        let time = server.batch(locks::CLOCK).and_then(|rows| locks::time_of(&rows));
        time.map_err(|cause| self.failure(cause))
    }

    /// The name of the agent that uses the ledger.
    pub(crate) fn agent(&self) -> String {
        self.location.agent_name()
    }
}

impl Deref for Ledger {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if let (Some(pool), Some(identity)) = (&self.location.pool, self.kept) {
            let ended = Connection::ended(self.location.place.clone());
            pool.put(std::mem::replace(&mut self.connection, ended), identity, self.read_only);
        }
    }
}

/// Lets a request that has waited for another program's lock on a file not wait for it again.
fn wait_no_more(location: &Location, waited: Duration, error: &LedgerError) {
    if let Some(why) = error.engine().filter(|why| why.is_busy() && waited == BUSY_TIMEOUT) {
        location.patience.remember(why);
        location.patience.spend(waited);
    }
}

/// The lock on the folder of a file. Without it, SQLite's own lock still applies; it is only less fair.
fn turn(location: &Location, timeout: Duration) -> Option<File> {
    folder_lock::turn_in_folder_of(location.file()?, timeout).ok()
}

fn open_file(path: &Path, read_only: bool) -> EngineResult<rusqlite::Connection> {
    // SQLite would wait for input from a pipe for ever.
    if std::fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        let cannot_open = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        let why = Some("it is not a regular file".to_owned());
        return Err(rusqlite::Error::SqliteFailure(cannot_open, why).into());
    }
    let how = if read_only {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    } else {
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
    };
    Ok(rusqlite::Connection::open_with_flags(path, how | OpenFlags::SQLITE_OPEN_NO_MUTEX)?)
}

/// Settings of a connection. It already waits for locks: to read the schema, SQLite needs one.
fn set_up(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    // The session manager's tables refer to its own integer session ids; hooks have the client's.
    connection.pragma_update(None, "foreign_keys", false)?;
    // A reservation must survive a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Otherwise every hook would copy the WAL into the database when it closes its connection.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Otherwise a cached query with other values would be compiled again, which takes longer than to run it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

impl<'a> Deref for Change<'a> {
    type Target = Transaction<'a>;

    fn deref(&self) -> &Transaction<'a> {
        &self.transaction
    }
}

impl<'a> Change<'a> {
    /// The time of the ledger when this change began; see [`Ledger::now`].
    pub fn now(&self, here: DateTime<Utc>) -> DateTime<Utc> {
        self.now.unwrap_or(here)
    }

    /// The name of the agent that changes the ledger.
    pub(crate) fn agent(&self) -> String {
        self.location.agent_name()
    }

    /// The end of a statement that adds a row whose key may have one from before: a file may use an id again. The ids of a server
    /// are used once, and its agents change no history.
    pub(crate) fn again(&self, key: &str, change: &str) -> String {
        let change = if self.is_server() { "NOTHING".to_owned() } else { format!("UPDATE SET {change}") };
        format!("ON CONFLICT ({key}) DO {change}")
    }

    /// Commits the transaction.
    pub fn commit(self) -> Result<()> {
        self.commit_by(Transaction::commit)
    }

    /// Commits the transaction, and leaves its log to [`log::copy`], so that others need not wait for that.
    pub(crate) fn commit_step(self) -> Result<()> {
        let Self { transaction, .. } = self;
        transaction.commit()
    }

    /// Ends the transaction with `commit`, while the folder is still locked.
    pub(crate) fn commit_by<T>(self, commit: impl FnOnce(Transaction<'a>) -> Result<T>) -> Result<T> {
        self.write_entries()?;
        let Self { transaction, _turn, .. } = self;
        let connection = transaction.connection();
        let done = commit(transaction)?;
        log::keep_short(connection);
        Ok(done)
    }
}
