//! The tmux pane in which a session runs.

use super::agent_side;
use super::environment::plain_word;

/// The pane's id, such as `%12`, from the environment variable `TMUX_PANE`.
pub fn pane() -> Option<String> {
    plain_word(&agent_side::variable("TMUX_PANE")?)
}
