//! MCP servers of repositories that `hosts.yaml` lists.

use serde::{Deserialize, Serialize};

/// A server that a repository defines and `hosts.yaml` lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryServer {
    /// The name of the repository's folder.
    pub repository: String,
    /// The name of the server.
    pub server: String,
    /// Environment variables that it gets, in addition to those that every server gets.
    pub env: Vec<String>,
}
