//! How much the programs of a user may record through the socket: a token bucket for each user, in memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What a user sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Events, sessions, failures, and verbs that record.
    Records,
    /// Notices to the operators.
    Notices,
}

impl Kind {
    /// How many are accepted at once and in an hour, and what they are called.
    const fn limits(self) -> (f64, f64, &'static str) {
        match self {
            Self::Records => (600.0, 3600.0, "records"),
            Self::Notices => (60.0, 60.0, "notifications"),
        }
    }
}

/// The rest that each user has.
#[derive(Debug, Default)]
pub struct Rates {
    left: Mutex<HashMap<(u32, Kind), (f64, Instant)>>,
}

impl Rates {
    /// Takes up to `wanted` from the rest of a user. Returns how many it gets.
    pub fn take(&self, uid: u32, kind: Kind, wanted: u32, now: Instant) -> u32 {
        let (most, hourly, _) = kind.limits();
        // Only users that may connect have an entry.
        let mut all = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = all.entry((uid, kind)).or_insert((most, now));
        let passed = now.saturating_duration_since(*since).as_secs_f64();
        *left = (*left + passed * hourly / 3600.0).min(most);
        *since = now;
        let got = (0..wanted).take_while(|taken| f64::from(*taken) + 1.0 <= *left).count();
        let got = u32::try_from(got).unwrap_or(wanted);
        *left -= f64::from(got);
        got
    }

    /// Why a user may not record one more; `None` if it may.
    pub fn refusal(&self, uid: u32, kind: Kind, now: Instant) -> Option<String> {
        let (most, hourly, what) = kind.limits();
        (self.take(uid, kind, 1, now) == 0).then(|| {
            format!("user {uid} has sent too many {what}: the guard accepts {most} at once and {hourly} an hour; try again later")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_user_gets_a_number_at_once_and_more_with_time() {
        let (rates, now) = (Rates::default(), Instant::now());
        assert_eq!(rates.take(1, Kind::Notices, 100, now), 60);
        let why = rates.refusal(1, Kind::Notices, now).unwrap();
        assert!(
            why.contains("user 1 has sent too many notifications") && why.contains("60 an hour"),
            "{why}"
        );
        assert_eq!(rates.refusal(1, Kind::Records, now), None);
        assert_eq!(rates.refusal(2, Kind::Notices, now), None);
        let later = now + Duration::from_secs(61);
        assert_eq!((rates.take(1, Kind::Notices, 5, later), rates.take(1, Kind::Notices, 5, later)), (1, 0));
    }
}
