//! The database file: opening it, and changes that are committed as a whole.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::error::LedgerError;
use super::lock_timeout::{LockTimeout, look_again};
use super::{creation, folder_lock, kept_open, log, migrate};
use crate::write_limit;

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    pub(super) connection: Rc<Connection>,
    path: PathBuf,
    lock_timeout: LockTimeout,
}

/// An exclusive transaction. It is rolled back unless it is committed.
#[derive(Debug)]
pub struct Change<'a> {
    // Fields are dropped in this order: the folder lock is released after the transaction has ended.
    pub(super) transaction: Transaction<'a>,
    connection: &'a Connection,
    pub(super) path: &'a Path,
    _turn: Option<File>,
}

impl Ledger {
    /// Opens the ledger for writing and creates it if it does not exist. Its folder must exist.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        Self::open_with(path, LockTimeout::Normal)
    }

    /// Opens the ledger for optional writes: waits for other writers at most a quarter of a second.
    pub fn open_briefly(path: &Path) -> Result<Self, LedgerError> {
        Self::open_with(path, LockTimeout::Short)
    }

    fn open_with(path: &Path, lock_timeout: LockTimeout) -> Result<Self, LedgerError> {
        write_limit::fail_beyond();
        if path.symlink_metadata().is_err() {
            creation::create(path).map_err(|cause| LedgerError::new(path, cause))?;
        }
        if let Some(connection) = kept_open::take(path, false) {
            lock_timeout.apply();
            return Ok(Self { connection, path: path.to_owned(), lock_timeout });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut ledger = Self::connect(path, flags, lock_timeout)?;
        if migrate::is_latest(&ledger.connection).map_err(|cause| ledger.error(cause))? {
            kept_open::put(path, false, &ledger.connection);
            return Ok(ledger);
        }
        // Without the folder lock, SQLite's own lock still applies; it is only less fair.
        let _turn = folder_lock::turn_in_folder_of(path, lock_timeout.limit());
        let to_latest = Rc::get_mut(&mut ledger.connection).map(migrate::to_latest);
        to_latest.transpose().map_err(|cause| ledger.error(cause))?;
        kept_open::put(path, false, &ledger.connection);
        Ok(ledger)
    }

    /// Opens the ledger for reading; `None` if it does not exist. Never creates it.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, LedgerError> {
        // To read in WAL mode, SQLite writes the index of the WAL.
        write_limit::fail_beyond();
        match std::fs::metadata(path) {
            // To SQLite an empty file is a database without tables.
            Ok(file) if file.is_file() && file.len() == 0 => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // Other errors do not mean that it does not exist; SQLite reports the cause.
            Ok(_) | Err(_) => {}
        }
        if let Some(connection) = kept_open::take(path, true) {
            LockTimeout::Normal.apply();
            return Ok(Some(Self { connection, path: path.to_owned(), lock_timeout: LockTimeout::Normal }));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let ledger = Self::connect(path, flags, LockTimeout::Normal)?;
        kept_open::put(path, true, &ledger.connection);
        Ok(Some(ledger))
    }

    fn connect(path: &Path, flags: OpenFlags, lock_timeout: LockTimeout) -> Result<Self, LedgerError> {
        let fail = |cause| LedgerError::new(path, cause);
        // SQLite would wait for input from a pipe for ever.
        if std::fs::metadata(path).is_ok_and(|file| !file.is_file()) {
            let cannot_open = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            let why = Some("it is not a regular file".to_owned());
            return Err(fail(rusqlite::Error::SqliteFailure(cannot_open, why)));
        }
        lock_timeout.apply();
        let mut connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        connection
            .busy_handler(Some(look_again))
            // The session manager's tables refer to its own integer session ids; hooks have the client's.
            .and_then(|()| connection.pragma_update(None, "foreign_keys", false))
            // A reservation must survive a power cut.
            .and_then(|()| connection.pragma_update(None, "synchronous", "FULL"))
            // Otherwise every hook would copy the WAL into the database when it closes its connection.
            .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true))
            .map(|_| ())
            .map_err(fail)?;
        Ok(Self { connection: Rc::new(connection), path: path.to_owned(), lock_timeout })
    }

    /// Does not sync further changes to disk in WAL mode: a power cut may lose them, but cannot damage the database.
    /// For records that no decision depends on.
    #[must_use]
    pub fn for_the_record(self) -> Self {
        let journal = self.connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
        if journal.is_ok_and(|mode| mode == "wal") {
            // If this fails, changes are only slower.
            let _ = self.connection.pragma_update(None, "synchronous", "NORMAL");
        }
        self
    }

    /// Begins an exclusive transaction: no other process can write until it ends.
    pub fn change(&mut self) -> Result<Change<'_>, LedgerError> {
        let Self { connection, path, lock_timeout } = self;
        let fail = |cause| LedgerError::new(path, cause);
        lock_timeout.apply();
        let connection = &**connection;
        // Without the folder lock, SQLite's own lock still applies; it is only less fair.
        let turn = folder_lock::turn_in_folder_of(path, lock_timeout.limit()).ok();
        // There is no other transaction: a change borrows the ledger exclusively.
        let transaction =
            Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(fail)?;
        Ok(Change { transaction, connection, path, _turn: turn })
    }

    pub(super) fn error(&self, cause: rusqlite::Error) -> LedgerError {
        LedgerError::new(&self.path, cause)
    }
}

impl Change<'_> {
    /// Commits the transaction.
    pub fn commit(self) -> Result<(), LedgerError> {
        self.commit_then(|| ())
    }

    /// Commits the transaction, and then runs `finish` while the folder is still locked.
    pub(super) fn commit_then(self, finish: impl FnOnce()) -> Result<(), LedgerError> {
        let Self { transaction, connection, path, _turn } = self;
        transaction.commit().map_err(|cause| LedgerError::new(path, cause))?;
        finish();
        log::keep_short(connection);
        Ok(())
    }

    pub(super) fn error(&self, cause: rusqlite::Error) -> LedgerError {
        LedgerError::new(self.path, cause)
    }
}
