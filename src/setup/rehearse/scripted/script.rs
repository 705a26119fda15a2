//! The script of a scripted model: its answers, in order.

use std::collections::VecDeque;

use serde_json::{Value, json};

/// An answer of the model.
#[derive(Debug, Clone)]
pub enum Step {
    /// Calls a tool with this input.
    Tool(&'static str, Value),
    /// Writes a text and ends the turn.
    Say(&'static str),
}

impl Step {
    /// Runs a command.
    pub fn bash(command: &str) -> Self {
        Self::Tool("Bash", json!({"command": command, "description": "Run the command"}))
    }
}

/// The answers of the model.
#[derive(Debug, Default)]
pub struct Script {
    /// The answers as main agent.
    pub agent: VecDeque<Step>,
    /// The answers as subagent.
    pub subagent: VecDeque<Step>,
    /// The prompt of the subagent, by which it is recognised.
    pub brief: Option<String>,
    /// The answers as verifier of an agent hook; `ok` when they are used up.
    pub verdicts: VecDeque<Value>,
}

impl Script {
    /// A script of the main agent.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { agent: steps.into_iter().collect(), ..Self::default() }
    }
}
