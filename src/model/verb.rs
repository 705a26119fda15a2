//! What an action does.

/// What is done to the target. `Stop` opens a cycle that the next `Start` of the same service closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Stopped and started in one go.
    Restart,
    /// Taken down: `stop`, `kill`, `down`, `rm -f`.
    Stop,
    /// Brought up: `start`, `up`.
    Start,
    /// `helm install|upgrade`, `ansible-playbook`.
    Deploy,
    /// `helm rollback`.
    Rollback,
    /// `helm uninstall`.
    Uninstall,
    /// `kubectl scale`.
    Scale,
    /// A pull request is opened.
    Create,
    /// A notification is sent.
    Send,
    /// The guard itself is loosened.
    Loosen,
}

impl Verb {
    /// The name used in JSON and in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Stop => "stop",
            Self::Start => "start",
            Self::Deploy => "deploy",
            Self::Rollback => "rollback",
            Self::Uninstall => "uninstall",
            Self::Scale => "scale",
            Self::Create => "create",
            Self::Send => "send",
            Self::Loosen => "loosen",
        }
    }
}
