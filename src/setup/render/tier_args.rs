//! Layers 1 and 2: the client's arguments for a session of a tier.

use opsctl_policy::model::rights::policy::TierPolicy;
use opsctl_policy::model::rights::tool_limits::ToolLimits;
use opsctl_policy::rules::prefixes;
use opsctl_reader::catalogue::Catalogue;

/// The client's arguments for a tier. An option with a single value is last, so that a prompt may follow.
///
/// - `--tools` enables tools, `--allowedTools` allows them without asking, and the mode `dontAsk` denies all others: only
///   the three together are a whitelist.
/// - User and local settings, and MCP servers of working directories, are ignored.
///
/// `mcp_config` is the file of the MCP servers, if there are any; `limits` are added to those of the tier.
pub fn client_arguments(
    tier: &TierPolicy,
    catalogue: Catalogue,
    model: &str,
    mcp_config: Option<&str>,
    limits: &ToolLimits,
) -> Vec<String> {
    let tools = limits.remaining(&tier.tools);
    let (servers, built_in): (Vec<&str>, Vec<&str>) =
        tools.iter().map(String::as_str).partition(|tool| tool.starts_with("mcp__"));
    let mut denied: Vec<String> =
        prefixes::denied(tier, catalogue).into_iter().map(|prefix| permission_rule(&prefix)).collect();
    denied.extend(limits.denied.iter().cloned());
    let mut arguments = vec![
        "--tools".to_owned(),
        built_in.join(","),
        "--allowedTools".to_owned(),
        [built_in, servers].concat().join(","),
    ];
    if !denied.is_empty() {
        arguments.extend(["--disallowedTools".to_owned(), denied.join(",")]);
    }
    if let Some(file) = mcp_config {
        arguments.extend(["--mcp-config".to_owned(), file.to_owned()]);
    }
    arguments.push("--strict-mcp-config".to_owned());
    for (option, value) in
        [("--setting-sources", "project"), ("--permission-mode", "dontAsk"), ("--model", model)]
    {
        arguments.extend([option.to_owned(), value.to_owned()]);
    }
    arguments
}

/// The client's permission rule for commands with this prefix.
pub fn permission_rule(prefix: &str) -> String {
    format!("Bash({prefix}:*)")
}
