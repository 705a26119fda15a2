//! Requests that this process has begun to serve. A hook sends its request again only if the guard has ended meanwhile, so a
//! second one with the same id is not from that hook.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an id is remembered: longer than a request may be sent again.
const REMEMBERED: Duration = Duration::from_mins(3);

/// The number of ids at which old ones are forgotten.
const MANY: usize = 1024;

/// The ids of requests.
#[derive(Debug, Default)]
pub struct Repeats {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    begun: HashMap<String, Instant>,
    /// The number of ids at which old ones are forgotten next.
    limit: usize,
}

impl Repeats {
    /// Whether no request of this id has begun.
    pub fn begins(&self, id: &str, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.begun.len() >= state.limit.max(MANY) {
            state.begun.retain(|_, begun| now.saturating_duration_since(*begun) < REMEMBERED);
            state.limit = state.begun.len() * 2;
        }
        state.begun.insert(id.to_owned(), now).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_begins_once_and_old_ones_are_forgotten() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        assert!(repeats.begins("a", now) && repeats.begins("b", now) && !repeats.begins("a", now));
        for number in 0..MANY {
            repeats.begins(&number.to_string(), now);
        }
        assert!(!repeats.begins("a", now + REMEMBERED / 2));
        for number in 0..2 * MANY {
            repeats.begins(&format!("later {number}"), now + 2 * REMEMBERED);
        }
        assert!(repeats.state.lock().unwrap().begun.len() <= 2 * MANY + 1);
    }
}
