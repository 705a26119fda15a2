//! The effect of a command.

use serde::{Deserialize, Serialize};

/// The effect of a command, from the weakest to the strongest; a whole command has the strongest of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It changes nothing.
    Reads,
    /// It carries out an action that budgets and tiers limit.
    #[serde(skip_deserializing)]
    Acts,
    /// It changes something else.
    Changes,
    /// It cannot be determined.
    Unknown,
}

impl Effect {
    /// The name used in JSON and in the catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Acts => "acts",
            Self::Changes => "changes",
            Self::Unknown => "unknown",
        }
    }
}
