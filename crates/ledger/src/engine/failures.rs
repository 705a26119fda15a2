//! Failures that are the answer for a moment: a guard that serves many hooks does not let each of them wait for a server that
//! is away.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::error::Error;

/// How long a failure is remembered.
const MEMORY: Duration = Duration::from_secs(1);

/// The latest failure, with its key and the time at which this process learned of it.
pub struct LatestFailure<K>(pub(crate) Mutex<Option<(K, Instant, Error)>>);

impl<K> LatestFailure<K> {
    /// Without a failure.
    pub const fn none() -> Self {
        Self(Mutex::new(None))
    }

    /// The failure of this key, if it is remembered.
    pub fn of<Q: ?Sized>(&self, key: &Q) -> Option<Error>
    where
        K: PartialEq<Q>,
    {
        let latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, _, why) = latest.as_ref().filter(|(of, at, _)| of == key && at.elapsed() < MEMORY)?;
        Some(why.clone())
    }

    /// Remembers a failure.
    pub fn remember(&self, key: K, why: Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, Instant::now(), why));
    }
}
