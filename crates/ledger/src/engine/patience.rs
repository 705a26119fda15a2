//! How long a request waits for a server. A hook has to answer while the server is away, so all of its waiting has one limit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::error::Error;

/// How long a hook waits for a server in all, and any other process for a connection.
pub const ANSWER: Duration = Duration::from_millis(1700);

/// How long a verb waits for the answer to one statement, such as the deletion of old rows.
const STATEMENT: Duration = Duration::from_mins(1);

/// The limit of a request, which its clones share. Without a limit, each statement has one of its own.
#[derive(Debug, Clone, Default)]
pub struct Patience(Option<Arc<Mutex<Left>>>);

#[derive(Debug)]
struct Left {
    time: Duration,
    /// Why the server could not be used.
    why: Option<Error>,
}

impl Patience {
    /// A limit for a hook. Waiting for the locks of other agents does not count.
    pub fn limited() -> Self {
        Self(Some(Arc::new(Mutex::new(Left { time: ANSWER, why: None }))))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Left) -> T) -> Option<T> {
        let left = self.0.as_ref()?;
        Some(work(&mut left.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Begins a new limit for what a hook does after it has answered. If the server was away until then, it is not asked again.
    pub fn renew(&self) {
        self.with(|left| {
            if left.time > Duration::ZERO {
                *left = Left { time: ANSWER, why: None };
            }
        });
    }

    /// How long the request still waits; `None`: it has no limit for everything.
    pub fn left(&self) -> Option<Duration> {
        self.with(|left| left.time)
    }

    /// How long to wait for a connection.
    pub fn for_connection(&self) -> Duration {
        self.left().unwrap_or(ANSWER)
    }

    /// How long to wait for the answer to a statement.
    pub fn for_statement(&self) -> Duration {
        self.left().unwrap_or(STATEMENT)
    }

    /// Counts waiting that other agents are not the cause of.
    pub fn spend(&self, waited: Duration) {
        self.with(|left| left.time = left.time.saturating_sub(waited));
    }

    /// Remembers why the server cannot be used.
    pub fn remember(&self, why: &Error) {
        self.with(|left| left.why = Some(why.clone()));
    }

    /// Fails if the request has waited long enough, for the reason of the last failure.
    pub fn check(&self) -> Result<(), Error> {
        let over = self.with(|left| {
            let why = || left.why.clone().unwrap_or_else(|| Error::late(ANSWER));
            (left.time == Duration::ZERO).then(why)
        });
        over.flatten().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_waiting_of_a_hook_has_one_limit() {
        let verb = Patience::default();
        assert_eq!((verb.for_connection(), verb.for_statement()), (ANSWER, STATEMENT));
        verb.spend(ANSWER);
        assert!(verb.check().is_ok(), "a verb has no limit for everything");
        let hook = Patience::limited();
        hook.clone().spend(Duration::from_secs(1));
        assert_eq!(hook.for_connection(), hook.for_statement());
        assert_eq!(hook.for_statement(), ANSWER.checked_sub(Duration::from_secs(1)).unwrap());
        assert!(hook.check().is_ok());
        hook.remember(&Error::Server("refused".to_owned()));
        hook.spend(Duration::from_secs(1));
        assert_eq!(hook.check().unwrap_err().to_string(), "refused");
        hook.renew();
        assert!(hook.check().is_err(), "a server that was away is not asked again");
        let hook = Patience::limited();
        hook.spend(Duration::from_secs(1));
        hook.renew();
        assert_eq!(hook.for_statement(), ANSWER);
    }
}
