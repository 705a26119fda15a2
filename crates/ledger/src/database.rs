//! Opening the ledger, and changes that are committed as a whole.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;

use chrono::{DateTime, Utc};
use rusqlite::OpenFlags;
use rusqlite::config::DbConfig;

use super::engine::address::{Location, Place};
use super::engine::{Connection, Error, Server, Transaction};
use super::error::LedgerError;
use super::lock_timeout::{LockTimeout, look_again};
use super::locks::{self, Scope};
use super::{creation, engine, folder_lock, kept_open, log, migrate, turns};
use crate::write_limit;

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    pub(super) connection: Rc<Connection>,
    location: Location,
    lock_timeout: LockTimeout,
}

/// A transaction that changes the ledger. It is rolled back unless it is committed.
#[derive(Debug)]
pub struct Change<'a> {
    // Fields are dropped in this order: the folder lock is released after the transaction has ended.
    pub(super) transaction: Transaction<'a>,
    pub(super) location: &'a Location,
    /// The server's time when it began; `None`: the ledger is a file of this machine.
    now: Option<DateTime<Utc>>,
    _turn: Option<File>,
}

impl Ledger {
    /// Opens the ledger for writing and creates it if it does not exist. The folder of a file must exist.
    pub fn open(location: impl Into<Location>) -> Result<Self, LedgerError> {
        Self::open_with(location.into(), LockTimeout::Normal)
    }

    /// Opens the ledger for optional writes: waits for other writers at most a quarter of a second.
    pub fn open_briefly(location: impl Into<Location>) -> Result<Self, LedgerError> {
        Self::open_with(location.into(), LockTimeout::Short)
    }

    fn open_with(location: Location, lock_timeout: LockTimeout) -> Result<Self, LedgerError> {
        if let Place::File(path) = &location.place {
            write_limit::fail_beyond();
            if path.symlink_metadata().is_err() {
                creation::create(path).map_err(|cause| LedgerError::new(&location, cause))?;
            }
        }
        if let Some(connection) = kept_open::take(&location.place, false) {
            lock_timeout.apply();
            return Ok(Self { connection, location, lock_timeout });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut ledger = Self::connect(location, flags, lock_timeout)?;
        if !migrate::is_latest(&ledger.connection).map_err(|cause| ledger.error(cause))? {
            // Without the folder lock, SQLite's own lock still applies; it is only less fair.
            let _turn = ledger
                .location
                .file()
                .and_then(|path| folder_lock::turn_in_folder_of(path, lock_timeout.limit()).ok());
            let to_latest = Rc::get_mut(&mut ledger.connection).map(migrate::to_latest);
            to_latest.transpose().map_err(|cause| ledger.error(cause))?;
        }
        kept_open::put(&ledger.location.place, false, &ledger.connection);
        Ok(ledger)
    }

    /// Opens the ledger for reading; `None` if it does not exist. Never creates it.
    pub fn open_existing(location: impl Into<Location>) -> Result<Option<Self>, LedgerError> {
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
        if let Some(connection) = kept_open::take(&location.place, true) {
            LockTimeout::Normal.apply();
            return Ok(Some(Self { connection, location, lock_timeout: LockTimeout::Normal }));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let ledger = Self::connect(location, flags, LockTimeout::Normal)?;
        if ledger.connection.is_server()
            && !migrate::is_latest(&ledger.connection).map_err(|cause| ledger.error(cause))?
            && migrate::version(&ledger.connection).map_err(|cause| ledger.error(cause))? == 0
        {
            return Ok(None);
        }
        kept_open::put(&ledger.location.place, true, &ledger.connection);
        Ok(Some(ledger))
    }

    /// Connects to a server, whether or not it has the tables of opsctl.
    pub(super) fn to_check(location: &Location) -> Result<Self, LedgerError> {
        Self::connect(location.clone(), OpenFlags::SQLITE_OPEN_READ_ONLY, LockTimeout::Normal)
    }

    /// Whether there is a ledger: a file of this path, or its tables on the server.
    pub fn exists(location: &Location) -> Result<bool, LedgerError> {
        match location.place {
            Place::File(_) => Ok(!location.is_missing()),
            Place::Server(_) => Self::open_existing(location).map(|ledger| ledger.is_some()),
        }
    }

    fn connect(location: Location, flags: OpenFlags, lock_timeout: LockTimeout) -> Result<Self, LedgerError> {
        lock_timeout.apply();
        let connection = match &location.place {
            Place::File(path) => open_file(path, flags).map(Connection::File),
            Place::Server(address) => {
                let state_dir = location.state_dir.as_deref();
                let connect = || {
                    let first = turns::last_host(state_dir);
                    let server = Server::connect(address, location.agent_name().as_ref(), first)?;
                    turns::note_host(state_dir, first, server.host);
                    Ok(server)
                };
                turns::in_turn(state_dir, connect).map(|server| Connection::Server(Box::new(server)))
            }
        };
        let connection = Rc::new(connection.map_err(|cause| LedgerError::new(&location, cause))?);
        Ok(Self { connection, location, lock_timeout })
    }

    /// Does not sync further changes to disk in WAL mode: a power cut may lose them, but cannot damage the database.
    /// For records that no decision depends on.
    #[must_use]
    pub fn for_the_record(self) -> Self {
        if let Some(file) = self.connection.file() {
            let journal = file.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
            if journal.is_ok_and(|mode| mode == "wal") {
                // If this fails, changes are only slower.
                let _ = file.pragma_update(None, "synchronous", "NORMAL");
            }
        }
        self
    }

    /// Begins an exclusive transaction: no other process can write until it ends.
    pub fn change(&mut self) -> Result<Change<'_>, LedgerError> {
        self.change_in(Scope::All)
    }

    /// Begins a transaction that reads and changes what `scope` names, and otherwise only adds rows. On a server, changes
    /// of other scopes go on at the same time.
    pub fn change_in(&mut self, scope: Scope<'_>) -> Result<Change<'_>, LedgerError> {
        let Self { connection, location, lock_timeout } = self;
        let fail = |cause| LedgerError::new(location, cause);
        lock_timeout.apply();
        let connection = &**connection;
        match connection {
            Connection::File(_) => {
                // Without the folder lock, SQLite's own lock still applies; it is only less fair.
                let turn = location
                    .file()
                    .and_then(|path| folder_lock::turn_in_folder_of(path, lock_timeout.limit()).ok());
                // There is no other transaction: a change borrows the ledger exclusively.
                let transaction = Transaction::begin(connection, "BEGIN IMMEDIATE").map_err(fail)?;
                Ok(Change { transaction, location, now: None, _turn: turn })
            }
            Connection::Server(server) => {
                let (transaction, now) =
                    locks::begin(connection, server, scope, lock_timeout.limit()).map_err(fail)?;
                Ok(Change { transaction, location, now: Some(now), _turn: None })
            }
        }
    }

    /// The time of the ledger: of the server, so that machines with different clocks agree; of this machine (`here`), if the
    /// ledger is a file.
    pub fn now(&self, here: DateTime<Utc>) -> Result<DateTime<Utc>, LedgerError> {
        let Connection::Server(server) = &*self.connection else { return Ok(here) };
        server.batch(locks::CLOCK).and_then(|rows| locks::time_of(&rows)).map_err(|e| self.error(e))
    }

    /// The name of the agent that uses the ledger.
    pub(super) fn agent(&self) -> String {
        self.location.agent_name()
    }

    pub(super) fn error(&self, cause: Error) -> LedgerError {
        LedgerError::new(&self.location, cause)
    }
}

fn open_file(path: &Path, flags: OpenFlags) -> engine::Result<rusqlite::Connection> {
    // SQLite would wait for input from a pipe for ever.
    if std::fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        let cannot_open = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        let why = Some("it is not a regular file".to_owned());
        return Err(rusqlite::Error::SqliteFailure(cannot_open, why).into());
    }
    let mut connection = rusqlite::Connection::open_with_flags(path, flags)?;
    connection
        .busy_handler(Some(look_again))
        // The session manager's tables refer to its own integer session ids; hooks have the client's.
        .and_then(|()| connection.pragma_update(None, "foreign_keys", false))
        // A reservation must survive a power cut.
        .and_then(|()| connection.pragma_update(None, "synchronous", "FULL"))
        // Otherwise every hook would copy the WAL into the database when it closes its connection.
        .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true))?;
    Ok(connection)
}

impl<'a> Change<'a> {
    /// The time of the ledger when this change began; see [`Ledger::now`].
    pub fn now(&self, here: DateTime<Utc>) -> DateTime<Utc> {
        self.now.unwrap_or(here)
    }

    /// The name of the agent that changes the ledger.
    pub(super) fn agent(&self) -> String {
        self.location.agent_name()
    }

    /// Commits the transaction.
    pub fn commit(self) -> Result<(), LedgerError> {
        self.commit_by(Transaction::commit)
    }

    /// Ends the transaction with `commit`, while the folder is still locked.
    pub(super) fn commit_by<T>(
        self,
        commit: impl FnOnce(Transaction<'a>) -> engine::Result<T>,
    ) -> Result<T, LedgerError> {
        let Self { transaction, location, _turn, .. } = self;
        let connection = transaction.connection();
        let done = commit(transaction).map_err(|cause| LedgerError::new(location, cause))?;
        if let Some(file) = connection.file() {
            log::keep_short(file);
        }
        Ok(done)
    }

    pub(super) fn error(&self, cause: Error) -> LedgerError {
        LedgerError::new(self.location, cause)
    }
}
