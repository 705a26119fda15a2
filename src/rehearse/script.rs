//! The script of a scripted model: its answers, in order.

use std::collections::VecDeque;

use serde_json::Value;

/// One answer of the model.
#[derive(Debug, Clone)]
pub enum Step {
    /// It runs a command.
    Bash(String),
    /// It calls a tool with this input.
    Tool(&'static str, Value),
    /// It says something, and ends its turn.
    Say(&'static str),
}

/// What the model is going to do.
#[derive(Debug, Default)]
pub struct Script {
    /// The session's own agent.
    pub agent: VecDeque<Step>,
    /// The subagent, known by [`SUBAGENT`] in its prompt.
    pub subagent: VecDeque<Step>,
    /// What the verifier of an agent hook finds, in order; then it has no objection.
    pub verdicts: VecDeque<Value>,
}

/// The prompt of the one subagent that a script may start.
pub const SUBAGENT: &str = "You are the subagent of a rehearsal.";
