//! Ledgers of unit tests: files, or schemas of the PostgreSQL server that `OPSCTL_TEST_DB_URL` names.

use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use super::engine::{Patience, Place, Server, ServerAddress};
use super::location::Location;
use crate::file::database::Ledger;

/// A new ledger, and the folder that it is in if it is a file.
pub fn ledger() -> (TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let file = || Ledger::open(&folder.path().join("ledger.db")).unwrap();
    let ledger = on_server().unwrap_or_else(file);
    (folder, ledger)
}

/// A new ledger in a schema of its own, if there is a server.
pub fn on_server() -> Option<Ledger> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let url = std::env::var("OPSCTL_TEST_DB_URL").ok()?;
    let name = format!("unit_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let server =
        Server::connect(&ServerAddress::new(url.clone(), None), "tests", 0, &Patience::default()).unwrap();
    server.batch(&format!("CREATE SCHEMA {name}")).unwrap();
    let separator = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{separator}options=-c%20search_path%3D{name}");
    let place = Place::Server(ServerAddress::new(url, None));
    Some(Ledger::open(Location::new(place, None, None)).unwrap())
}
