//! The agent's machine: this one, or in the guard the one at the other end of the connection.

use std::cell::Cell;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::environment::plain_word;
use crate::machine::link::lookup::Lookup;
use crate::machine::link::message::SessionFacts;

/// Asks the caller at the other end of a connection; `None` if it does not answer.
pub type Ask = dyn Fn(Lookup) -> Option<Value>;

/// The agent's machine, of which handlers ask variables and files.
#[derive(Clone, Default)]
pub struct AgentSide(Option<Rc<Caller>>);

/// A caller on another machine or under another user.
struct Caller {
    facts: SessionFacts,
    ask: Box<Ask>,
    is_gone: Cell<bool>,
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

impl AgentSide {
    /// This machine.
    pub const HERE: Self = Self(None);

    /// The machine of a caller, which `ask` asks.
    pub fn of_caller(facts: SessionFacts, ask: Box<Ask>) -> Self {
        Self(Some(Rc::new(Caller { facts, ask, is_gone: Cell::new(false) })))
    }

    /// Whether it is not this machine.
    pub const fn is_remote(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the caller has not answered a question: what was read since is incomplete, and no decision may rest on it.
    pub fn is_gone(&self) -> bool {
        self.0.as_ref().is_some_and(|caller| caller.is_gone.get())
    }

    /// What `here` finds on this machine, or the caller on its own; `None` if the caller has no answer or does not answer.
    pub fn find<T: DeserializeOwned>(
        &self,
        lookup: impl FnOnce() -> Lookup,
        here: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        match &self.0 {
            None => here(),
            Some(caller) => caller.ask(lookup()),
        }
    }

    /// A variable of the agent's shell.
    pub fn variable(&self, name: &str) -> Option<String> {
        let Some(caller) = &self.0 else { return std::env::var(name).ok() };
        match caller.facts.variables.get(name) {
            Some(value) => value.clone(),
            None => caller.ask(Lookup::Variable(name.to_owned())),
        }
    }

    /// The id of the session's mission, from `MISSION_EXECUTION_ID`.
    pub fn mission(&self) -> Option<String> {
        plain_word(&self.variable("MISSION_EXECUTION_ID")?)
    }

    /// The id of the tmux pane in which the session runs, such as `%12`.
    pub fn tmux_pane(&self) -> Option<String> {
        plain_word(&self.variable("TMUX_PANE")?)
    }

    /// Whether the agent's shell imports functions from its environment.
    pub fn may_have_functions(&self) -> bool {
        self.0.as_ref().is_none_or(|caller| caller.facts.has_functions)
    }

    /// What the caller states of its session; `None` on this machine.
    pub fn facts(&self) -> Option<&SessionFacts> {
        self.0.as_ref().map(|caller| &caller.facts)
    }

    /// The id that the caller has given its request; `None` if this process is asked directly, or the caller has given none.
    pub fn request_id(&self) -> Option<&str> {
        self.facts()?.request.as_deref().filter(|id| id.len() <= 64)
    }
}

impl Caller {
    fn ask<T: DeserializeOwned>(&self, lookup: Lookup) -> Option<T> {
        if self.is_gone.get() {
            return None;
        }
        let answer = (self.ask)(lookup);
        self.is_gone.set(answer.is_none());
        serde_json::from_value(answer?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_caller_are_those_that_it_has_sent_or_answers() {
        let variables =
            [("HOME".to_owned(), Some("/home/agent".to_owned())), ("TMPDIR".to_owned(), None)].into();
        let facts = SessionFacts { variables, ..SessionFacts::default() };
        let agent = AgentSide::of_caller(facts, Box::new(|_| Some("x".into())));
        assert_eq!(agent.variable("HOME").as_deref(), Some("/home/agent"));
        assert_eq!((agent.variable("TMPDIR"), agent.variable("OTHER").as_deref()), (None, Some("x")));
        assert!(agent.is_remote() && !agent.is_gone() && !AgentSide::HERE.is_remote());
    }

    #[test]
    fn a_caller_that_does_not_answer_once_is_gone() {
        let agent = AgentSide::of_caller(SessionFacts::default(), Box::new(|_| None));
        assert_eq!(agent.variable("X"), None);
        assert!(agent.is_gone());
    }
}
