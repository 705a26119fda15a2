//! Hooks that an operator adds to ours.

/// A hook of `hosts.yaml`: where it stands in the client's settings, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnHook {
    /// The client's name of the event.
    pub event: String,
    /// The group that stands for it in the settings, as JSON text in the client's form.
    pub group: String,
}
