//! Truncates SQLite's write-ahead log (WAL).
//!
//! Each hook is a process that is usually the only one with the database open. The first process to open it reads the
//! whole WAL. Without truncation the WAL, and the duration of every hook, would grow without bound.

use std::path::PathBuf;

use super::engine::Connection;

/// WAL size in bytes above which a commit truncates it. Reading less takes a fraction of a millisecond.
pub const LONG: u64 = 512 * 1024;

/// Whether commits of this connection copy a long WAL into the database by themselves.
pub fn copy_at_commit(connection: &Connection, at_commit: bool) {
    if let Some(file) = connection.file() {
        // Without it, a commit only takes longer.
        let _ = file.pragma_update(None, "wal_autocheckpoint", if at_commit { 1000 } else { 0 });
    }
}

/// Copies the WAL into the database as far as no other connection reads it, while others write.
pub fn copy(connection: &Connection) {
    if let Some(file) = connection.file() {
        let _ = file.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    }
}

/// Copies a long WAL into the database and truncates it. Does not wait for other connections: if one is reading, the
/// next commit tries again.
pub fn keep_short(connection: &Connection) {
    let Some(file) = connection.file() else { return };
    let Some(log) = file.path().map(|path| PathBuf::from(format!("{path}-wal"))) else { return };
    if std::fs::metadata(log).is_ok_and(|log| log.len() > LONG) {
        // The commit is complete, whether or not this succeeds.
        connection.lock_wait.without(|| {
            let _ = file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        });
    }
}
