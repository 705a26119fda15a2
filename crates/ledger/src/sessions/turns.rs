//! Processes of one state folder connect to a server one after the other.
//!
//! To connect costs more than what follows. Two hundred hooks that connect at the same moment keep each other waiting for so long
//! that a server appears to be away.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::engine::{EngineResult as Result, Error, LatestFailure};
use crate::file::folder_lock;
use opsctl_machine::plain_file;

/// How long to wait for a turn, which takes some milliseconds. A process that has been stopped in its turn delays the others.
const PATIENCE: Duration = Duration::from_secs(10);

/// The file of [`last_host`].
const HOST: &str = ".ledger-host";

/// The latest failure of another process of a state folder: a hook that uses the ledger several times waits once.
static OF_OTHERS: LatestFailure<PathBuf> = LatestFailure::none();

/// Connects when it is the turn of this process. If another one has failed to connect meanwhile, its error is the answer: each
/// process waits once for a server that is away, and not for the others, too.
pub fn in_turn<T>(state_dir: Option<&Path>, connect: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(state_dir) = state_dir else { return connect() };
    if let Some(why) = OF_OTHERS.of(state_dir) {
        return Err(why);
    }
    let began = SystemTime::now();
    let failure = state_dir.join(".ledger-failure");
    // Without the lock, as after its timeout, connecting only takes longer.
    let Ok(_turn) = folder_lock::turn_in_folder_of(&failure, PATIENCE) else { return connect() };
    if let Some(why) = failed_since(&failure, began).map(Error::Server) {
        OF_OTHERS.remember(state_dir.to_owned(), why.clone());
        return Err(why);
    }
    let connection = connect();
    if let Err(Error::Server(why)) = &connection {
        // If this fails, the others try for themselves.
        let _ = std::fs::write(failure, why);
    }
    connection
}

/// The place in the URL of the host that the last process has connected to: others may be away.
pub fn last_host(state_dir: Option<&Path>) -> usize {
    let text = state_dir.map(|folder| plain_file::text(&folder.join(HOST)));
    text.and_then(|text| text.ok()?.trim().parse().ok()).unwrap_or(0)
}

/// Notes the host of this connection, which began with `first`.
pub fn note_host(state_dir: Option<&Path>, first: usize, host: usize) {
    if let Some(folder) = state_dir
        && first != host
    {
        // Without it, the next process begins with another one, and only takes longer.
        let _ = std::fs::write(folder.join(HOST), host.to_string());
    }
}

/// Why the last attempt failed, if that was after `began`.
fn failed_since(failure: &Path, began: SystemTime) -> Option<String> {
    let at = failure.metadata().and_then(|file| file.modified()).ok()?;
    if at < began {
        return None;
    }
    plain_file::text(failure).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_failure_is_that_of_all_who_waited_and_of_none_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let (attempts, ready) = (AtomicUsize::new(0), Barrier::new(8));
        let fail = || -> Result<()> {
            attempts.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(300));
            Err(Error::Server("away".to_owned()))
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    ready.wait();
                    let error = in_turn(Some(folder.path()), fail).unwrap_err();
                    assert_eq!(error.to_string(), "away");
                });
            }
        });
        assert_eq!(attempts.load(Ordering::Relaxed), 1);
        assert_eq!(in_turn(Some(folder.path()), || Ok(7)).unwrap_err().to_string(), "away");
        // Another process, or this one later.
        *OF_OTHERS.0.lock().unwrap() = None;
        assert_eq!(in_turn(Some(folder.path()), || Ok(7)).unwrap(), 7);
    }
}
