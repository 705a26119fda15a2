//! The script of a scripted model: its answers, in order.

use std::collections::VecDeque;

use serde_json::Value;

/// An answer of the model.
#[derive(Debug, Clone)]
pub enum Step {
    /// Runs a command.
    Bash(String),
    /// Calls a tool with this input.
    Tool(&'static str, Value),
    /// Writes a text and ends the turn.
    Say(&'static str),
}

/// The answers of the model.
#[derive(Debug, Default)]
pub struct Script {
    /// The answers as main agent.
    pub agent: VecDeque<Step>,
    /// The answers as subagent, recognised by [`SUBAGENT`] in its prompt.
    pub subagent: VecDeque<Step>,
    /// The answers as verifier of an agent hook; `ok` when they are used up.
    pub verdicts: VecDeque<Value>,
}

/// The prompt of the subagent that a script may start.
pub const SUBAGENT: &str = "You are the subagent of a rehearsal.";
