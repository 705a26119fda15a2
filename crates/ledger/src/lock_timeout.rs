//! Lock wait limits and the busy handler.

use std::cell::Cell;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a writer waits for another one, such as the session manager of Claude Ops.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an optional write waits for another writer.
const SHORT_TIMEOUT: Duration = Duration::from_millis(250);

/// How long a connection waits for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockTimeout {
    /// For writes that must not be lost.
    Normal,
    /// For optional writes.
    Short,
}

impl LockTimeout {
    /// The maximum wait.
    pub const fn limit(self) -> Duration {
        match self {
            Self::Normal => BUSY_TIMEOUT,
            Self::Short => SHORT_TIMEOUT,
        }
    }

    /// Applies to all connections of this thread from now on.
    pub fn apply(self) {
        LIMIT.set(self.limit());
    }
}

/// Runs `work` without waiting for locks.
pub fn without_waiting(work: impl FnOnce()) {
    let limit = LIMIT.replace(Duration::ZERO);
    work();
    LIMIT.set(limit);
}

/// The pause between two attempts. SQLite's own handler slows down to ten attempts a second, which can miss every gap
/// of a program that writes continuously.
const PAUSE: Duration = Duration::from_millis(1);

thread_local! {
    static LIMIT: Cell<Duration> = const { Cell::new(BUSY_TIMEOUT) };
    static WAITING_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// SQLite's busy handler: gets the number of attempts so far, returns whether to try again.
pub fn look_again(times: i32) -> bool {
    let now = Instant::now();
    let since = WAITING_SINCE.get().filter(|_| times > 0).unwrap_or(now);
    WAITING_SINCE.set(Some(since));
    let patient = now.duration_since(since) < LIMIT.get();
    if patient {
        sleep(PAUSE);
    }
    patient
}
