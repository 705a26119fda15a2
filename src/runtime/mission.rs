//! The mission that a session belongs to.

use super::environment::plain_word;

/// The mission's id from the environment variable `MISSION_EXECUTION_ID`.
pub fn of_process() -> Option<String> {
    plain_word(&std::env::var_os("MISSION_EXECUTION_ID")?.to_string_lossy())
}
