//! Checks which MCP servers of the baseline and of repositories sessions get.

use super::examined::Examined;
use super::finding::Finding;
use crate::machine::runner::RunnerEnvironment;
use crate::sessions::mcp::{Order, merge};

/// Checks that no MCP server is left out.
pub fn mcp_servers(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "mcp servers";
    let runner = RunnerEnvironment::of_process();
    let installation = &examined.policy.installation;
    let merged = merge(&Order {
        baseline: &runner.mcp_baseline(examined.environment),
        repos: &runner.repos_dir,
        listed: &installation.repository_servers,
        tiers: &installation.policy.tiers,
        opsctl: &examined.opsctl.to_string_lossy(),
    });
    let left_out: Vec<String> = merged.left_out.iter().map(ToString::to_string).collect();
    if let Some(first) = left_out.first() {
        let (what, remedy) = first.rsplit_once("; ").unwrap_or((first, "correct it"));
        let more = match left_out.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} further: run `opsctl mcp merge` to list them"),
        };
        return Finding::warning(CHECK, format!("{what}{more}"), remedy);
    }
    let servers: Vec<String> = merged.origins().collect();
    Finding::ok(CHECK, if servers.is_empty() { "none".to_owned() } else { servers.join(", ") })
}
