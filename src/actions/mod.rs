//! Simple commands → actions.

use std::path::Path;

use crate::model::action::Action;

/// Everything that one command text was found to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandReading {
    /// In the order in which they would run.
    pub actions: Vec<Action>,
    /// What could not be read, one plain sentence each; empty when everything was understood.
    pub complaints: Vec<String>,
}

/// Reads bash text and lists the actions it holds. Never panics, never hangs; what it cannot read it
/// complains about.
///
/// `cwd` is the working directory in which the command would start, when that is known.
pub fn read_command(_text: &str, _cwd: Option<&Path>) -> CommandReading {
    CommandReading::default()
}
