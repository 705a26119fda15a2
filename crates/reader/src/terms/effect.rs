//! The effect of a command.

use serde::{Deserialize, Serialize};

crate::words! {
    /// The effect of a command, from the weakest to the strongest; a whole command has the strongest of its parts.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Effect {
        /// It changes nothing.
        Reads = "reads",
        /// It carries out an action that budgets and tiers limit.
        #[serde(skip_deserializing)]
        Acts = "acts",
        /// It changes something else.
        Changes = "changes",
        /// It cannot be determined.
        Unknown = "unknown",
    }
}
