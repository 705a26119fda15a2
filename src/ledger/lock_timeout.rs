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

    /// SQLite's busy handler: gets the number of attempts so far, returns whether to try again.
    pub fn handler(self) -> fn(i32) -> bool {
        match self {
            Self::Normal => |times| look_again(times, BUSY_TIMEOUT),
            Self::Short => |times| look_again(times, SHORT_TIMEOUT),
        }
    }
}

/// The pause between two attempts. SQLite's own handler slows down to ten attempts a second, which can miss every gap
/// of a program that writes continuously.
const PAUSE: Duration = Duration::from_millis(1);

thread_local! {
    static WAITING_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

fn look_again(times: i32, limit: Duration) -> bool {
    let now = Instant::now();
    let since = WAITING_SINCE.get().filter(|_| times > 0).unwrap_or(now);
    WAITING_SINCE.set(Some(since));
    let patient = now.duration_since(since) < limit;
    if patient {
        sleep(PAUSE);
    }
    patient
}
