//! Waiting for another writer.

use std::cell::Cell;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a writer waits for another one. Claude Ops' session manager writes to the same file.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The same for what nobody may be held up by.
const SHORT_TIMEOUT: Duration = Duration::from_millis(250);

/// How patient a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockTimeout {
    /// For what must be written.
    Normal,
    /// For what may be left out.
    Short,
}

impl LockTimeout {
    /// How long it waits.
    pub const fn limit(self) -> Duration {
        match self {
            Self::Normal => BUSY_TIMEOUT,
            Self::Short => SHORT_TIMEOUT,
        }
    }

    /// What SQLite asks at a lock that it has found taken so many times: whether to look again.
    pub fn handler(self) -> fn(i32) -> bool {
        match self {
            Self::Normal => |times| look_again(times, BUSY_TIMEOUT),
            Self::Short => |times| look_again(times, SHORT_TIMEOUT),
        }
    }
}

/// A program that writes without a pause leaves the lock free for moments only. SQLite's own waiting slows
/// down to ten looks a second and may miss them all; a thousand a second do not.
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
