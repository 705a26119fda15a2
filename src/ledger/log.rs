//! SQLite's write-ahead log, kept short.
//!
//! A hook is a process of its own and mostly the only one with the database open. The first to open it reads the log
//! from its beginning to its end, and what an earlier process has copied into the database it does not know: left to
//! itself, the log grows without end and every hook with it. So whoever commits cuts a long log off.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::Connection;

/// So many bytes a log may have: reading them takes a hook a fraction of a millisecond.
pub const LONG: u64 = 512 * 1024;

/// Copies a long log into the database and cuts it off. While another connection reads, only what can be copied is; nobody
/// is waited for, and the next commit tries again.
pub fn keep_short(connection: &Connection) {
    let Some(log) = connection.path().map(|path| PathBuf::from(format!("{path}-wal"))) else { return };
    if std::fs::metadata(log).is_ok_and(|log| log.len() > LONG) {
        // What has been committed stands, whether or not this works.
        let _ = connection.busy_timeout(Duration::ZERO);
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}
