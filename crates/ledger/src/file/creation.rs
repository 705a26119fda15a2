//! Creates the ledger atomically: other processes see either no file or a complete one.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{folder_lock, migrate};
use crate::engine::{Connection, Engine, Error, LedgerError, Place, Result};

/// Creates the ledger under a temporary name and renames it, so that a full disk or a kill never leaves a partial
/// ledger.
///
/// Does nothing if there is no lock, no atomic rename on this file system, or no write permission: SQLite then creates
/// the file in place, or reports why it cannot.
pub fn create(path: &Path) -> Result<()> {
    let Ok(_turn) = folder_lock::turn_in_folder_of(path, super::lock_timeout::BUSY_TIMEOUT) else {
        return Ok(());
    };
    // Another process may have created it while this one waited.
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let new = Unfinished(beside(path, ".new"));
    new.remove();
    // Not every file system supports the shared memory that WAL needs; only using it shows that.
    let made = make(&new.0, path, "WAL").or_else(|_| {
        new.remove();
        make(&new.0, path, "DELETE")
    });
    if let Err(error) = made {
        let cannot_open = error.engine().and_then(Error::file_code) == Some(ErrorCode::CannotOpen);
        return if cannot_open { Ok(()) } else { Err(error) };
    }
    // Another program may have created it meanwhile.
    let _ = publish_as(&new.0, path);
    Ok(())
}

/// Gives a complete file, which is not in use, the name of a ledger that does not exist.
pub fn publish(complete: &Path, path: &Path) -> Result<()> {
    publish_as(complete, path).map_err(|error| {
        let why = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        let text = format!("{} cannot be renamed: {error}", complete.display());
        let cause = rusqlite::Error::SqliteFailure(why, Some(text));
        LedgerError::new(&Place::File(path.to_owned()), cause)
    })?;
    // What remains of its write-ahead log is empty.
    Unfinished(complete.to_owned()).remove();
    Ok(())
}

fn publish_as(complete: &Path, path: &Path) -> rustix::io::Result<()> {
    renameat_with(CWD, complete, CWD, path, RenameFlags::NOREPLACE)?;
    // The rename has to survive a power cut, as the content does. Not every file system can sync a folder.
    let _ = File::open(folder_lock::folder_of(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Makes the file `new` of what will be the ledger at `path`.
fn make(new: &Path, path: &Path, mode: &str) -> Result<()> {
    let place = Place::File(path.to_owned());
    let fail = |cause| LedgerError::new(&place, cause);
    let file = rusqlite::Connection::open(new).map_err(fail)?;
    file.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
    // So that the space of deleted rows can be given back in small steps.
    file.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(fail)?;
    let connection = Connection::new(place.clone(), Engine::File(file))?;
    migrate::to_latest(&connection)?;
    let Engine::File(file) = connection.engine else { return Ok(()) };
    file.pragma_update(None, "journal_mode", mode).map_err(fail)?;
    file.execute_batch("BEGIN IMMEDIATE; COMMIT").map_err(fail)?;
    // Closing copies the WAL into the file and removes it, so that one file is moved.
    file.close().map_err(|(_, error)| fail(error))
}

/// The path of a file beside another one, with this ending.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// A file, with its companions, that is removed on drop unless it has been renamed.
struct Unfinished(PathBuf);

impl Unfinished {
    fn remove(&self) {
        for ending in ["", "-journal", "-wal", "-shm"] {
            // Most do not exist. SQLite reports one that cannot be removed.
            let _ = std::fs::remove_file(beside(&self.0, ending));
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.remove();
    }
}
