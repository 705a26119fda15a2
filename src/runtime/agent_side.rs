//! The agent's machine: this one, or in the guard the one at the other end of the connection.
//!
//! The guard serves each request on a thread of its own, so what belongs to the request belongs to the thread. Where a
//! handler looks at the environment or at files of the agent, it asks here first.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::link::lookup::Lookup;
use crate::link::message::SessionFacts;

/// The caller at the other end of a connection.
pub trait Peer {
    /// Asks it; `None` if it does not answer.
    fn ask(&self, lookup: Lookup) -> Option<Value>;
}

/// A request that is being served for a caller on another machine or under another user.
struct Served {
    facts: SessionFacts,
    peer: Rc<dyn Peer>,
    is_gone: Cell<bool>,
}

thread_local! {
    static IS_SERVED: Cell<bool> = const { Cell::new(false) };
    static SERVED: RefCell<Option<Rc<Served>>> = const { RefCell::new(None) };
}

/// Names of variables that are sent with each request, because nearly every reading needs them.
pub const USUAL_VARIABLES: [&str; 7] = [
    "HOME",
    "TMPDIR",
    "PATH",
    "MISSION_EXECUTION_ID",
    "TMUX_PANE",
    "COMPOSE_PROJECT_NAME",
    "CLAUDEOPS_GUARD",
];

/// Runs `serve` on behalf of a caller: all questions about the agent's machine go to `peer`.
pub fn on_behalf_of<T>(facts: SessionFacts, peer: Rc<dyn Peer>, serve: impl FnOnce() -> T) -> T {
    /// Ends the request, also after a panic: the thread serves others.
    struct Ended;
    impl Drop for Ended {
        fn drop(&mut self) {
            IS_SERVED.set(false);
            SERVED.with(|served| served.borrow_mut().take());
        }
    }
    SERVED.with(|served| {
        served.replace(Some(Rc::new(Served { facts, peer, is_gone: Cell::new(false) })));
    });
    IS_SERVED.set(true);
    let _ended = Ended;
    serve()
}

/// Whether the agent's machine is not this one.
pub fn is_remote() -> bool {
    IS_SERVED.get()
}

fn served() -> Option<Rc<Served>> {
    if is_remote() { SERVED.with(|served| served.borrow().clone()) } else { None }
}

/// Whether the caller has not answered a question: what was read since is incomplete, and no decision may rest on it.
pub fn is_gone() -> bool {
    served().is_some_and(|served| served.is_gone.get())
}

/// The answer of the caller; `None` if it has none, or does not answer.
pub fn ask<T: DeserializeOwned>(lookup: Lookup) -> Option<T> {
    let served = served()?;
    if served.is_gone.get() {
        return None;
    }
    let answer = served.peer.ask(lookup);
    served.is_gone.set(answer.is_none());
    serde_json::from_value(answer?).ok()
}

/// A variable of the agent's shell.
pub fn variable(name: &str) -> Option<String> {
    let Some(served) = served() else { return std::env::var(name).ok() };
    match served.facts.variables.get(name) {
        Some(value) => value.clone(),
        None => ask(Lookup::Variable(name.to_owned())),
    }
}

/// Whether the agent's shell imports functions from its environment.
pub fn may_have_functions() -> bool {
    served().is_none_or(|served| served.facts.has_functions)
}

/// The client's process, as the caller has named it.
pub fn process() -> Option<String> {
    served().and_then(|served| served.facts.process.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Answering(Option<Value>);

    impl Peer for Answering {
        fn ask(&self, _: Lookup) -> Option<Value> {
            self.0.clone()
        }
    }

    #[test]
    fn a_request_ends_with_its_work_even_after_a_panic() {
        let facts = || SessionFacts {
            variables: [("HOME".to_owned(), Some("/home/agent".to_owned())), ("TMPDIR".to_owned(), None)]
                .into(),
            ..SessionFacts::default()
        };
        on_behalf_of(facts(), Rc::new(Answering(Some("x".into()))), || {
            assert!(is_remote());
            assert_eq!(variable("HOME").as_deref(), Some("/home/agent"));
            assert_eq!((variable("TMPDIR"), variable("OTHER").as_deref()), (None, Some("x")));
            assert!(!is_gone());
        });
        assert!(!is_remote());
        let panicked =
            std::panic::catch_unwind(|| on_behalf_of(facts(), Rc::new(Answering(None)), || panic!("x")));
        assert!(panicked.is_err() && !is_remote());
    }

    #[test]
    fn a_caller_that_does_not_answer_once_is_gone() {
        on_behalf_of(SessionFacts::default(), Rc::new(Answering(None)), || {
            assert_eq!(variable("X"), None);
            assert!(is_gone());
        });
        assert!(!is_gone());
    }
}
