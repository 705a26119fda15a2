//! The mission that a session belongs to.

use super::agent_side;
use super::environment::plain_word;

/// The mission's id from the environment variable `MISSION_EXECUTION_ID`.
pub fn of_process() -> Option<String> {
    plain_word(&agent_side::variable("MISSION_EXECUTION_ID")?)
}
