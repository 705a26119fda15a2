//! The shape of `repositories`.

use serde::Deserialize;

use super::forms::Entries;
use super::values::{EnvironmentName, Text};

/// A repository.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepositoryWire {
    /// MCP servers of its `.claude-ops/mcp.json` that may run, by name.
    pub servers: Entries<Option<ServerWire>>,
}

/// An MCP server of a repository. Every key is optional.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerWire {
    /// Names of environment variables that the server gets, besides `HOME`, `LANG`, `LC_ALL`, `LOGNAME`, `PATH`, `TERM`, `TMPDIR`, `TZ` and `USER`. Default: none.
    pub env: Vec<Text<EnvironmentName>>,
}
