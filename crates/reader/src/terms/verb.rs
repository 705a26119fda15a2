//! The verbs of actions.

crate::words! {
    /// What an action does to its target. `Stop` opens a cycle that the next `Start` of the same service closes.
    #[derive(Hash, serde::Deserialize, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verb {
        /// Stops and starts the target.
        Restart = "restart",
        /// Takes the target down: `stop`, `kill`, `down`, `rm -f`.
        Stop = "stop",
        /// Brings the target up: `start`, `up`.
        Start = "start",
        /// `helm install|upgrade`, `ansible-playbook`.
        Deploy = "deploy",
        /// `helm rollback`.
        Rollback = "rollback",
        /// `helm uninstall`.
        Uninstall = "uninstall",
        /// `kubectl scale`.
        Scale = "scale",
        /// Opens a pull request.
        Create = "create",
        /// Sends a message.
        Send = "send",
        /// Weakens opsctl's own limits.
        Loosen = "loosen",
    }
}
