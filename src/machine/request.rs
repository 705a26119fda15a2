//! A request that this process serves, as a value: everything outside of the call that its answer depends on.

use std::ops::Deref;

use chrono::{DateTime, Utc};

use super::agent_side::AgentSide;
use super::environment::Environment;
use opsctl_redact::Redactor;

/// A request: its settings, the agent's machine, and its time.
#[derive(Clone)]
pub struct Request {
    /// The settings that apply to it.
    pub environment: Environment,
    /// The agent's machine.
    pub agent: AgentSide,
    /// The values of the caller's secret variables; those of this process are removed from all texts.
    pub secrets: Redactor,
    /// When it is served, by the clock of this machine.
    pub now: DateTime<Utc>,
}

impl Request {
    /// A request of this machine, with these settings.
    pub const fn here(environment: Environment, now: DateTime<Utc>) -> Self {
        Self { environment, agent: AgentSide::HERE, secrets: Redactor::NONE, now }
    }

    /// A request of this process, with its own settings, now.
    pub fn of_process() -> Self {
        Self::here(Environment::of_process(), Utc::now())
    }

    /// The request with other settings.
    #[must_use]
    pub fn with(&self, environment: Environment) -> Self {
        Self { environment, ..self.clone() }
    }

    /// The request at another time.
    #[must_use]
    pub fn at(&self, now: DateTime<Utc>) -> Self {
        Self { now, ..self.clone() }
    }
}

impl Deref for Request {
    type Target = Environment;

    fn deref(&self) -> &Environment {
        &self.environment
    }
}
