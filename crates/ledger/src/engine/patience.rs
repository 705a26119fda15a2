//! How long a thread waits for a server. A hook has to answer while the server is away, so all of its waiting has one limit.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use super::error::Error;

/// How long a hook waits for a server in all, and anybody else for a connection.
pub const ANSWER: Duration = Duration::from_millis(1700);

/// How long a verb waits for the answer to one statement, such as the deletion of old rows.
const STATEMENT: Duration = Duration::from_mins(1);

thread_local! {
    static LEFT: Cell<Option<Duration>> = const { Cell::new(None) };
    static WHY: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Limits how long this thread waits for a server in all, from now on. Waiting for the locks of other agents does not count.
pub fn limit_waiting() {
    LEFT.set(Some(ANSWER));
    WHY.take();
}

/// Limits what this thread does after it has answered. If the server was away until then, it is not asked again.
pub fn limit_rest() {
    if LEFT.get().is_some() && check().is_ok() {
        limit_waiting();
    }
}

/// How long this thread still waits; `None`: it has no limit for everything.
pub fn left() -> Option<Duration> {
    LEFT.get()
}

/// How long to wait for a connection.
pub fn for_connection() -> Duration {
    LEFT.get().unwrap_or(ANSWER)
}

/// How long to wait for the answer to a statement.
pub fn for_statement() -> Duration {
    LEFT.get().unwrap_or(STATEMENT)
}

/// Counts waiting that other agents are not the cause of.
pub fn spend(waited: Duration) {
    LEFT.set(LEFT.get().map(|left| left.saturating_sub(waited)));
}

/// Remembers why the server cannot be used.
pub fn remember(why: &Error) {
    if LEFT.get().is_some() {
        WHY.replace(why.again());
    }
}

/// Fails if this thread has waited long enough, for the reason of the last failure.
pub fn check() -> Result<(), Error> {
    if LEFT.get() != Some(Duration::ZERO) {
        return Ok(());
    }
    let why = WHY.with_borrow(|why| why.as_ref().and_then(Error::again));
    Err(why.unwrap_or_else(|| Error::late(ANSWER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_waiting_of_a_hook_has_one_limit() {
        assert_eq!((for_connection(), for_statement()), (ANSWER, STATEMENT));
        spend(ANSWER);
        assert!(check().is_ok(), "a verb has no limit for everything");
        limit_waiting();
        spend(Duration::from_secs(1));
        assert_eq!(for_connection(), for_statement());
        assert_eq!(for_statement(), ANSWER.checked_sub(Duration::from_secs(1)).unwrap());
        assert!(check().is_ok());
        remember(&Error::Server("refused".to_owned()));
        spend(Duration::from_secs(1));
        assert_eq!(check().unwrap_err().to_string(), "refused");
        limit_rest();
        assert!(check().is_err(), "a server that was away is not asked again");
        limit_waiting();
        spend(Duration::from_secs(1));
        limit_rest();
        assert_eq!(for_statement(), ANSWER);
    }
}
