//! The mission that a session belongs to.

use crate::machine::agent_side::AgentSide;
use crate::machine::environment::plain_word;

/// The mission's id from the environment variable `MISSION_EXECUTION_ID`.
pub fn of_session(agent: &AgentSide) -> Option<String> {
    plain_word(&agent.variable("MISSION_EXECUTION_ID")?)
}
