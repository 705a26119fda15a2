//! Layers 1 and 2 as the client takes them: its arguments for a session of one tier.

use crate::catalogue::Catalogue;
use crate::model::policy::TierPolicy;
use crate::policy::prefixes;

/// The arguments of a tier. Those that take several values come first and one that takes a single value
/// comes last, so that a prompt may follow.
///
/// - `--tools` is what exists, `--allowedTools` what runs unasked, and in the mode `dontAsk` all else is
///   refused: only the three together are a whitelist.
/// - Settings in the agent's home or of its own making, and MCP servers of a folder that it works in, are
///   left out.
///
/// `mcp_config` is the file of the MCP servers, if there are any.
pub fn client_arguments(
    tier: &TierPolicy,
    catalogue: Catalogue,
    model: &str,
    mcp_config: Option<&str>,
) -> Vec<String> {
    let (servers, built_in): (Vec<&str>, Vec<&str>) =
        tier.tools.iter().map(String::as_str).partition(|tool| tool.starts_with("mcp__"));
    let denied: Vec<String> =
        prefixes::denied(tier, catalogue).into_iter().map(|prefix| permission_rule(&prefix)).collect();
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

/// The client's rule for commands that begin so.
pub fn permission_rule(prefix: &str) -> String {
    format!("Bash({prefix}:*)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::policy::Tier;

    #[test]
    fn tools_of_servers_are_allowed_but_are_no_tools_of_the_clients_own() {
        let tier = TierPolicy {
            tools: vec!["Bash".into(), "mcp__docker".into(), "Read".into()],
            ..TierPolicy::default_of(Tier::Full)
        };
        let arguments = client_arguments(&tier, Catalogue::default(), "opus", Some("/state/mcp.json"));
        assert_eq!(
            arguments,
            [
                "--tools",
                "Bash,Read",
                "--allowedTools",
                "Bash,Read,mcp__docker",
                "--mcp-config",
                "/state/mcp.json",
                "--strict-mcp-config",
                "--setting-sources",
                "project",
                "--permission-mode",
                "dontAsk",
                "--model",
                "opus"
            ]
        );
    }

    #[test]
    fn a_tier_without_tools_has_none_and_not_the_default_ones() {
        let tier = TierPolicy { tools: vec![], ..TierPolicy::default_of(Tier::Observe) };
        assert_eq!(
            client_arguments(&tier, Catalogue::default(), "haiku", None).get(..2).unwrap(),
            ["--tools", ""]
        );
    }
}
