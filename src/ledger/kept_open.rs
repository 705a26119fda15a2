//! Connections that a thread of the guard keeps open between two requests. Opening the ledger costs more than a request.

use std::cell::{Cell, RefCell};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rusqlite::Connection;

/// The most connections that a thread keeps.
const MOST: usize = 4;

/// The size of the page cache of a connection that stays open, in KiB.
const CACHE_KIB: i64 = 256;

struct Kept {
    path: PathBuf,
    read_only: bool,
    /// The device and the inode of the file.
    file: (u64, u64),
    connection: Rc<Connection>,
}

thread_local! {
    static IS_ENABLED: Cell<bool> = const { Cell::new(false) };
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the connections of this thread open from now on.
pub fn keep_connections() {
    IS_ENABLED.set(true);
}

fn file_of(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|file| (file.dev(), file.ino()))
}

/// A kept connection to the file that has this path now, unless it is in use.
pub(super) fn take(path: &Path, read_only: bool) -> Option<Rc<Connection>> {
    if !IS_ENABLED.get() {
        return None;
    }
    let file = file_of(path)?;
    KEPT.with_borrow_mut(|all| {
        // A file that was replaced is another ledger.
        all.retain(|kept| kept.path != path || kept.file == file);
        let is_free = |kept: &&Kept| {
            kept.path == path && kept.read_only == read_only && Rc::strong_count(&kept.connection) == 1
        };
        let connection = Rc::clone(&all.iter().find(is_free)?.connection);
        // The last request may have chosen otherwise.
        connection.pragma_update(None, "synchronous", "FULL").ok()?;
        Some(connection)
    })
}

/// Keeps a connection, if this thread keeps any.
pub(super) fn put(path: &Path, read_only: bool, connection: &Rc<Connection>) {
    if !IS_ENABLED.get() {
        return;
    }
    let Some(file) = file_of(path) else { return };
    KEPT.with_borrow_mut(|all| {
        if all.len() < MOST && connection.pragma_update(None, "cache_size", -CACHE_KIB).is_ok() {
            let connection = Rc::clone(connection);
            all.push(Kept { path: path.to_owned(), read_only, file, connection });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::Ledger;
    use super::*;

    #[test]
    fn a_connection_is_used_again_but_never_twice_at_once_or_for_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let kept = || KEPT.with_borrow(Vec::len);
        drop(Ledger::open(&path).unwrap());
        assert_eq!(kept(), 0);
        keep_connections();
        for _ in 0..3 {
            drop(Ledger::open(&path).unwrap());
        }
        assert_eq!(kept(), 1);
        let (one, other) = (Ledger::open(&path).unwrap(), Ledger::open(&path).unwrap());
        assert!(!Rc::ptr_eq(&one.connection, &other.connection));
        drop((one, other));
        assert_eq!(kept(), 2);
        std::fs::remove_file(&path).unwrap();
        drop(Ledger::open(&path).unwrap());
        assert_eq!(kept(), 1);
        let reads = Ledger::open_existing(&path).unwrap().unwrap();
        assert!(reads.connection.execute("DELETE FROM events", []).is_err());
    }
}
