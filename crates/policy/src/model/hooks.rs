//! Hooks that the operator configures in `hosts.yaml`.

/// A hook from `hosts.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnHook {
    /// The client's name of the event.
    pub event: String,
    /// Its group in the client's settings, as JSON.
    pub group: String,
}
