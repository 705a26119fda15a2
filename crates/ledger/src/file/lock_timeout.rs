//! How long a connection to a file waits for the locks of other programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How long a writer waits for another one, such as the session manager of Claude Ops.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause between two attempts. SQLite's own handler slows down to ten attempts a second, which can miss every gap
/// of a program that writes continuously.
const PAUSE: Duration = Duration::from_millis(1);

/// How long a writer waits for another one with a write that may be lost.
pub const SHORT_TIMEOUT: Duration = Duration::from_millis(250);

/// How long a connection waits now.
#[derive(Debug)]
pub struct LockWait(Arc<AtomicU64>);

impl Default for LockWait {
    fn default() -> Self {
        let wait = Self(Arc::default());
        wait.set(BUSY_TIMEOUT);
        wait
    }
}

impl LockWait {
    /// Lets a connection wait as long as this states.
    pub fn install(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let (limit, mut since) = (Arc::clone(&self.0), Instant::now());
        // SQLite gives the number of attempts so far, and asks whether to try again.
        connection.busy_handler(Some(move |attempts| {
            if attempts == 0 {
                since = Instant::now();
            }
            let is_patient = since.elapsed() < Duration::from_millis(limit.load(Ordering::Relaxed));
            if is_patient {
                sleep(PAUSE);
            }
            is_patient
        }))
    }

    /// Waits as long as `timeout` states from now on.
    pub fn set(&self, timeout: Duration) {
        let limit = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.0.store(limit, Ordering::Relaxed);
    }

    /// Runs `work` without waiting for locks.
    pub fn without(&self, work: impl FnOnce()) {
        let limit = self.0.swap(0, Ordering::Relaxed);
        work();
        self.0.store(limit, Ordering::Relaxed);
    }
}
