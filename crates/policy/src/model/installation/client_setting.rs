//! Settings of the client that `hosts.yaml` states.

use serde::{Deserialize, Serialize};

/// A key of the client's settings that `hosts.yaml` states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientSetting {
    /// The key.
    pub key: String,
    /// Its value, as JSON.
    pub value: String,
}
