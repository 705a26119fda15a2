//! The tmux pane in which a session runs.

use crate::machine::agent_side::AgentSide;
use crate::machine::environment::plain_word;

/// The pane's id, such as `%12`, from the environment variable `TMUX_PANE`.
pub fn pane(agent: &AgentSide) -> Option<String> {
    plain_word(&agent.variable("TMUX_PANE")?)
}
