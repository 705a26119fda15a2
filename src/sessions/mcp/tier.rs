//! The MCP servers that sessions of a tier get: those that the tools of the tier name.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::definition::{ServersError, in_file, servers};
use opsctl_policy::model::rights::policy::Tier;

/// Why a session gets no MCP servers.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum TierServersError {
    #[error("no MCP servers: {}: {error}; run `opsctl mcp merge`", file.display())]
    Merged { file: PathBuf, error: ServersError },
    #[error("no MCP servers: {} cannot be written ({error}); check the rights of its folder", file.display())]
    Unwritable { file: PathBuf, error: io::Error },
}

/// Whether tools of the client include the server or one of its tools: `mcp__SERVER`, `mcp__SERVER__TOOL`.
pub fn names(tools: &[String], server: &str) -> bool {
    tools
        .iter()
        .filter_map(|tool| tool.strip_prefix("mcp__")?.strip_prefix(server))
        .any(|rest| rest.is_empty() || rest.starts_with("__"))
}

/// Writes the servers of the merged file that `tools` name to a file next to it, which the sessions of `tier` get.
/// Returns its path; `None` without a server.
pub fn write(merged: &Path, tier: Tier, tools: &[String]) -> Result<Option<PathBuf>, TierServersError> {
    let all = servers(merged)
        .map_err(|error| TierServersError::Merged { file: merged.to_owned(), error })?
        .unwrap_or_default();
    let named: Map<String, Value> = all.into_iter().filter(|(server, _)| names(tools, server)).collect();
    if named.is_empty() {
        return Ok(None);
    }
    let file = merged.with_file_name(format!("mcp-tier{}.json", tier.number()));
    write_private(&file, in_file(&named).as_bytes())
        .map_err(|error| TierServersError::Unwritable { file: file.clone(), error })?;
    Ok(Some(file))
}

/// Writes a file atomically and to the disk. Only its owner can read it, because servers may get keys.
pub fn write_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".opsctl-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    temporary.persist(file).map(drop).map_err(|error| error.error)
}
