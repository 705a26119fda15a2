//! Hooks that the operator configures in `hosts.yaml`.

use serde::{Deserialize, Serialize};

/// A hook from `hosts.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnHook {
    /// The client's name of the event.
    pub event: String,
    /// Its group in the client's settings, as JSON.
    pub group: String,
}
