//! A new ledger, which is complete from the first moment at which anybody can see it.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{folder_lock, migrate};

/// Creates the ledger beside its place and moves it there, so that a full disk or a kill leaves no part of one
/// that others would take for it.
///
/// Where this way is not open (no lock, no such move on this file system, a folder that cannot be written to),
/// nothing is done: SQLite then creates the file in its place, or says why it cannot.
pub fn create(path: &Path) -> rusqlite::Result<()> {
    let Ok(_turn) = folder_lock::turn_in_folder_of(path, super::lock_timeout::BUSY_TIMEOUT) else {
        return Ok(());
    };
    // Another process may have created it while this one waited.
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let new = Unfinished(beside(path, ".new"));
    new.remove();
    // Not every file system has the shared memory that WAL needs, and only using it tells.
    let made = make(&new.0, "WAL").or_else(|_| {
        new.remove();
        make(&new.0, "DELETE")
    });
    match made {
        Ok(()) => {}
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => return Ok(()),
        Err(error) => return Err(error),
    }
    if renameat_with(CWD, &new.0, CWD, path, RenameFlags::NOREPLACE).is_ok() {
        // The name has to survive a power cut as the content does; where it cannot be made sure of, the
        // ledger is no worse than any other file.
        let _ = File::open(folder_lock::folder_of(path)).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

fn make(path: &Path, mode: &str) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    migrate::to_latest(&mut connection)?;
    connection.pragma_update(None, "journal_mode", mode)?;
    connection.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
    // Closing copies the log into the file and removes it: what is moved is one file.
    connection.close().map_err(|(_, error)| error)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// A file that is removed unless it has been moved away.
struct Unfinished(PathBuf);

impl Unfinished {
    fn remove(&self) {
        for ending in ["", "-journal", "-wal", "-shm"] {
            // Most are not there; SQLite stumbles over one that cannot be removed, and names it.
            let _ = std::fs::remove_file(beside(&self.0, ending));
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.remove();
    }
}
