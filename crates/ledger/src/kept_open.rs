//! Connections that stay open. A thread of the guard keeps its connections between two requests: opening the ledger costs more
//! than a request. Any other process keeps only its connection to a server, which it would otherwise open several times.

use std::cell::{Cell, RefCell};
use std::os::unix::fs::MetadataExt as _;
use std::rc::Rc;
use std::time::{Duration, Instant};

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
    /// When it was last known to be usable.
    used: Instant,
    connection: Rc<Connection>,
}

thread_local! {
    static IS_ENABLED: Cell<bool> = const { Cell::new(false) };
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// How long a connection to a server is used again without asking whether it still is one.
const TRUSTED: Duration = Duration::from_millis(500);

/// Keeps the connections of this thread open from now on.
pub fn keep_connections() {
    IS_ENABLED.set(true);
}

/// Closes the connections of this thread, and tells their servers.
pub fn close_connections() {
    drop(KEPT.take());
}

fn is_kept(place: &Place) -> bool {
    IS_ENABLED.get() || matches!(place, Place::Server(_))
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
    if !is_kept(place) {
        return None;
    }
    let identity = identity(place)?;
    KEPT.with_borrow_mut(|all| {
        // A file that was replaced is another ledger.
        all.retain(|kept| kept.place != *place || kept.identity == identity);
        let is_free = |kept: &Kept| {
            // A server decides by the role what a connection may do.
            let is_fit = kept.read_only == read_only || kept.identity == Identity::Server;
            kept.place == *place && is_fit && Rc::strong_count(&kept.connection) == 1
        };
        let found = all.iter().position(is_free)?;
        let kept = all.get_mut(found)?;
        let connection = Rc::clone(&kept.connection);
        let is_usable = match &*connection {
            // The last request may have chosen otherwise.
            Connection::File(file) => file.pragma_update(None, "synchronous", "FULL").is_ok(),
            // The server may have been restarted, or replaced by another one.
            Connection::Server(server) => {
                !server.has_ended() && (kept.used.elapsed() < TRUSTED || server.is_usable())
            }
        };
        if is_usable {
            kept.used = Instant::now();
        } else {
            all.remove(found);
        }
        is_usable.then_some(connection)
    })
}

/// Keeps a connection, if this thread keeps any.
pub(super) fn put(place: &Place, read_only: bool, connection: &Rc<Connection>) {
    if !is_kept(place) {
        return;
    }
    let Some(identity) = identity(place) else { return };
    KEPT.with_borrow_mut(|all| {
        let cache = || connection.file().map(|file| file.pragma_update(None, "cache_size", -CACHE_KIB));
        if all.len() < MOST && cache().is_none_or(|result| result.is_ok()) {
            let connection = Rc::clone(connection);
            all.push(Kept { place: place.clone(), read_only, identity, used: Instant::now(), connection });
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
