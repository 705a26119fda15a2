//! The database file: opening it, and changes that are committed as a whole.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::error::LedgerError;
use super::lock_timeout::LockTimeout;
use super::{creation, folder_lock, log, migrate};

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    pub(super) connection: Connection,
    path: PathBuf,
    lock_timeout: LockTimeout,
}

/// One all-or-nothing change. What is not committed has not happened.
#[derive(Debug)]
pub struct Change<'a> {
    // Declared first, dropped first: the turn ends after the transaction has.
    pub(super) transaction: Transaction<'a>,
    connection: &'a Connection,
    path: &'a Path,
    _turn: Option<File>,
}

impl Ledger {
    /// Opens the ledger for writing, and creates it if there is none. Its folder must exist.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        Self::open_with(path, LockTimeout::Normal)
    }

    /// The same for what may be left out where another writer is at it: waits for a quarter of a second and no longer.
    pub fn open_briefly(path: &Path) -> Result<Self, LedgerError> {
        Self::open_with(path, LockTimeout::Short)
    }

    fn open_with(path: &Path, lock_timeout: LockTimeout) -> Result<Self, LedgerError> {
        if path.symlink_metadata().is_err() {
            creation::create(path).map_err(|cause| LedgerError::new(path, cause))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut ledger = Self::connect(path, flags, lock_timeout)?;
        if migrate::is_latest(&ledger.connection).map_err(|cause| ledger.error(cause))? {
            return Ok(ledger);
        }
        // SQLite's own lock holds without a turn, too; only its queue is less fair.
        let _turn = folder_lock::turn_in_folder_of(path, lock_timeout.limit());
        migrate::to_latest(&mut ledger.connection).map_err(|cause| ledger.error(cause))?;
        Ok(ledger)
    }

    /// Opens the ledger to be read; `None` when there is none, which is not created.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, LedgerError> {
        match std::fs::metadata(path) {
            // An empty file is a database without tables to SQLite, and no ledger to anybody.
            Ok(file) if file.is_file() && file.len() == 0 => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // A ledger that cannot be reached is not one that does not exist: SQLite says why.
            Ok(_) | Err(_) => {}
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::connect(path, flags, LockTimeout::Normal).map(Some)
    }

    fn connect(path: &Path, flags: OpenFlags, lock_timeout: LockTimeout) -> Result<Self, LedgerError> {
        let fail = |cause| LedgerError::new(path, cause);
        // SQLite would wait for ever for somebody to write into a pipe.
        if std::fs::metadata(path).is_ok_and(|file| !file.is_file()) {
            let cannot_open = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            let why = Some("it is not a regular file".to_owned());
            return Err(fail(rusqlite::Error::SqliteFailure(cannot_open, why)));
        }
        let mut connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        connection
            .busy_handler(Some(lock_timeout.handler()))
            // The session manager's tables refer to its own integer session ids; hooks know the client's.
            .and_then(|()| connection.pragma_update(None, "foreign_keys", false))
            // An action that was let through must survive a power cut.
            .and_then(|()| connection.pragma_update(None, "synchronous", "FULL"))
            // A hook is one connection: each would otherwise copy the log into the database as it ends.
            .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true))
            .map(|_| ())
            .map_err(fail)?;
        Ok(Self { connection, path: path.to_owned(), lock_timeout })
    }

    /// From here on a change may be lost in a power cut, as long as nothing is harmed: for the record of what needs
    /// none to hold. Where the journal is not a write-ahead log everything stays as durable as it is.
    #[must_use]
    pub fn for_the_record(self) -> Self {
        let journal = self.connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
        if journal.is_ok_and(|mode| mode == "wal") {
            // Should it not take effect, the change is only slower.
            let _ = self.connection.pragma_update(None, "synchronous", "NORMAL");
        }
        self
    }

    /// Begins a change that no other writer can get in between.
    pub fn change(&mut self) -> Result<Change<'_>, LedgerError> {
        let Self { connection, path, lock_timeout } = self;
        let fail = |cause| LedgerError::new(path, cause);
        connection.busy_handler(Some(lock_timeout.handler())).map_err(fail)?;
        let connection = &*connection;
        // Without a turn SQLite's own lock still holds; only its queue is less fair.
        let turn = folder_lock::turn_in_folder_of(path, lock_timeout.limit()).ok();
        // There is no other transaction: a change borrows the ledger as its own.
        let transaction =
            Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(fail)?;
        Ok(Change { transaction, connection, path, _turn: turn })
    }

    pub(super) fn error(&self, cause: rusqlite::Error) -> LedgerError {
        LedgerError::new(&self.path, cause)
    }
}

impl Change<'_> {
    /// Makes the change durable.
    pub fn commit(self) -> Result<(), LedgerError> {
        let Self { transaction, connection, path, _turn } = self;
        transaction.commit().map_err(|cause| LedgerError::new(path, cause))?;
        log::keep_short(connection);
        Ok(())
    }

    pub(super) fn error(&self, cause: rusqlite::Error) -> LedgerError {
        LedgerError::new(&self.path, cause)
    }
}
