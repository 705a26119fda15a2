//! Waiting for another writer.

use std::cell::Cell;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a writer waits for another one. Claude Ops' session manager writes to the same file.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A program that writes without a pause leaves the lock free for moments only. SQLite's own waiting slows
/// down to ten looks a second and may miss them all; a thousand a second do not.
const PAUSE: Duration = Duration::from_millis(1);

thread_local! {
    static WAITING_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// SQLite asks whether to look again at a lock that it has found taken `times` times.
pub fn look_again(times: i32) -> bool {
    let now = Instant::now();
    let since = WAITING_SINCE.get().filter(|_| times > 0).unwrap_or(now);
    WAITING_SINCE.set(Some(since));
    let patient = now.duration_since(since) < BUSY_TIMEOUT;
    if patient {
        sleep(PAUSE);
    }
    patient
}
