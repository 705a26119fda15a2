//! The verbs of actions.

/// What an action does to its target. `Stop` opens a cycle that the next `Start` of the same service closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Stops and starts the target.
    Restart,
    /// Takes the target down: `stop`, `kill`, `down`, `rm -f`.
    Stop,
    /// Brings the target up: `start`, `up`.
    Start,
    /// `helm install|upgrade`, `ansible-playbook`.
    Deploy,
    /// `helm rollback`.
    Rollback,
    /// `helm uninstall`.
    Uninstall,
    /// `kubectl scale`.
    Scale,
    /// Opens a pull request.
    Create,
    /// Sends a message.
    Send,
    /// Weakens opsctl's own limits.
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

    /// The verb of this name.
    pub fn named(name: &str) -> Option<Self> {
        use Verb::{Create, Deploy, Loosen, Restart, Rollback, Scale, Send, Start, Stop, Uninstall};
        [Restart, Stop, Start, Deploy, Rollback, Uninstall, Scale, Create, Send, Loosen]
            .into_iter()
            .find(|verb| verb.as_str() == name)
    }
}
