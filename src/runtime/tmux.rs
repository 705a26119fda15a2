//! The tmux pane in which a session runs.

use super::agent_side::AgentSide;
use super::environment::plain_word;

/// The pane's id, such as `%12`, from the environment variable `TMUX_PANE`.
pub fn pane(agent: &AgentSide) -> Option<String> {
    plain_word(&agent.variable("TMUX_PANE")?)
}
