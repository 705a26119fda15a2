//! Connections that stay open. The guard keeps its connections between two requests: opening the ledger costs more than a
//! request. Any other process keeps only its connection to a server, which it would otherwise open several times.

use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::engine::{Connection, Engine, Place};

/// The most connections that are kept.
const MOST: usize = 16;

/// The size of the page cache of a connection that stays open, in KiB.
const CACHE_KIB: i64 = 256;

/// How long a connection to a server is used again without asking whether it still is one.
const TRUSTED: Duration = Duration::from_millis(500);

/// Connections that are not in use. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Pool(Arc<Mutex<Vec<Kept>>>);

#[derive(Debug)]
struct Kept {
    place: Place,
    read_only: bool,
    identity: Identity,
    /// When it was last in use.
    used: Instant,
    connection: Connection,
}

/// What identifies a ledger at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The device and the inode of a file.
    File(u64, u64),
    /// A server has one ledger at a URL.
    Server,
}

impl Identity {
    /// The ledger that is at a place now; `None` if there is none.
    pub fn at(place: &Place) -> Option<Self> {
        match place {
            Place::File(path) => path.metadata().ok().map(|file| Self::File(file.dev(), file.ino())),
            Place::Server(_) => Some(Self::Server),
        }
    }
}

impl Pool {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Kept>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a connection to the ledger that is at this place now.
    pub fn take(&self, place: &Place, read_only: bool) -> Option<(Connection, Identity)> {
        let identity = Identity::at(place)?;
        let Kept { connection, used, .. } = self.with(|all| {
            // A file that was replaced is another ledger.
            all.retain(|kept| kept.place != *place || kept.identity == identity);
            // A server decides by the role what a connection may do.
            let is_fit = |kept: &Kept| kept.read_only == read_only || kept.identity == Identity::Server;
            let found = all.iter().position(|kept| kept.place == *place && is_fit(kept))?;
            Some(all.swap_remove(found))
        })?;
        let is_usable = match &connection.engine {
            // The last request may have chosen otherwise.
            Engine::File(file) => file.pragma_update(None, "synchronous", "FULL").is_ok(),
            // The server may have been restarted, or replaced by another one.
            Engine::Server(server) => !server.has_ended() && (used.elapsed() < TRUSTED || server.is_usable()),
        };
        is_usable.then_some((connection, identity))
    }

    /// Keeps a connection that is not in use any more.
    pub fn put(&self, connection: Connection, identity: Identity, read_only: bool) {
        if let Engine::Server(server) = &connection.engine {
            server.keep_statements();
        }
        let cache = connection.file().map(|file| file.pragma_update(None, "cache_size", -CACHE_KIB));
        if cache.is_none_or(|result| result.is_ok()) {
            let (place, used) = (connection.place.clone(), Instant::now());
            let kept = Kept { place, read_only, identity, used, connection };
            self.with(|all| {
                if all.len() < MOST {
                    all.push(kept);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ledger, Location};
    use super::*;

    #[test]
    fn a_connection_is_used_again_but_never_twice_at_once_or_for_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let pool = Pool::default();
        let mut location = Location::from(&path);
        location.pool = Some(pool.clone());
        let kept = || pool.with(|all| all.len());
        drop(Ledger::open(&path).unwrap());
        assert_eq!(kept(), 0);
        for _ in 0..3 {
            drop(Ledger::open(&location).unwrap());
            assert_eq!(kept(), 1);
        }
        let (one, other) = (Ledger::open(&location).unwrap(), Ledger::open(&location).unwrap());
        assert_eq!(kept(), 0);
        drop((one, other));
        assert_eq!(kept(), 2);
        std::fs::remove_file(&path).unwrap();
        drop(Ledger::open(&location).unwrap());
        assert_eq!(kept(), 1);
        let reads = Ledger::open_existing(&location).unwrap().unwrap();
        assert!(reads.connection.execute("DELETE FROM events", &[]).is_err());
    }
}
