//! Connections that a thread of the guard keeps open between two requests. Opening the ledger costs more than a request.

use std::cell::{Cell, RefCell};
use std::os::unix::fs::MetadataExt as _;
use std::rc::Rc;

use super::engine::Connection;
use super::engine::address::Place;

/// The most connections that a thread keeps.
const MOST: usize = 4;

/// The size of the page cache of a connection that stays open, in KiB.
const CACHE_KIB: i64 = 256;

struct Kept {
    place: Place,
    read_only: bool,
    identity: Identity,
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

/// What identifies a ledger at its place.
#[derive(PartialEq, Eq)]
enum Identity {
    /// The device and the inode of a file.
    File(u64, u64),
    /// A server has one ledger at a URL.
    Server,
}

/// The ledger that is at a place now; `None` if there is none.
fn identity(place: &Place) -> Option<Identity> {
    match place {
        Place::File(path) => path.metadata().ok().map(|file| Identity::File(file.dev(), file.ino())),
        Place::Server(_) => Some(Identity::Server),
    }
}

/// A kept connection to the ledger that is at this place now, unless it is in use.
pub(super) fn take(place: &Place, read_only: bool) -> Option<Rc<Connection>> {
    if !IS_ENABLED.get() {
        return None;
    }
    let identity = identity(place)?;
    KEPT.with_borrow_mut(|all| {
        // A file that was replaced is another ledger.
        all.retain(|kept| kept.place != *place || kept.identity == identity);
        let is_free = |kept: &Kept| {
            kept.place == *place && kept.read_only == read_only && Rc::strong_count(&kept.connection) == 1
        };
        let found = all.iter().position(is_free)?;
        let connection = Rc::clone(&all.get(found)?.connection);
        let is_usable = match &*connection {
            // The last request may have chosen otherwise.
            Connection::File(file) => file.pragma_update(None, "synchronous", "FULL").is_ok(),
            // The server may have been restarted, or replaced by another one.
            Connection::Server(server) => server.is_usable(),
        };
        if !is_usable {
            all.remove(found);
        }
        is_usable.then_some(connection)
    })
}

/// Keeps a connection, if this thread keeps any.
pub(super) fn put(place: &Place, read_only: bool, connection: &Rc<Connection>) {
    if !IS_ENABLED.get() {
        return;
    }
    let Some(identity) = identity(place) else { return };
    KEPT.with_borrow_mut(|all| {
        let cache = || connection.file().map(|file| file.pragma_update(None, "cache_size", -CACHE_KIB));
        if all.len() < MOST && cache().is_none_or(|result| result.is_ok()) {
            let connection = Rc::clone(connection);
            all.push(Kept { place: place.clone(), read_only, identity, connection });
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
