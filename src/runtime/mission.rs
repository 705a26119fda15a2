//! What a session is a part of, as the one who started it says.

use super::environment::plain_word;

/// `MISSION_EXECUTION_ID` of the process's own environment.
pub fn of_process() -> Option<String> {
    plain_word(&std::env::var_os("MISSION_EXECUTION_ID")?.to_string_lossy())
}
