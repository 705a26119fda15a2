//! The gates before servers.

use serde::{Deserialize, Serialize};

opsctl_reader::words! {
    /// A gate.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Gate {
        /// The broker of ssh connections, in the guard.
        Ssh = "ssh",
        /// The proxy before the API of a container engine.
        Engine = "engine",
        /// The proxy before the API of a cluster.
        Kubernetes = "kubernetes",
        /// The forced command of a key, on a host itself.
        Host = "host",
    }
}
