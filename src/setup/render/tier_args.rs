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

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::rights::policy::Tier;

    #[test]
    fn tools_of_mcp_servers_are_allowed_but_not_listed_as_built_in() {
        let tier = TierPolicy {
            tools: vec!["Bash".into(), "mcp__docker".into(), "Read".into()],
            ..TierPolicy::default_of(Tier::Full)
        };
        let arguments = client_arguments(
            &tier,
            Catalogue::default(),
            "opus",
            Some("/state/mcp.json"),
            &ToolLimits::default(),
        );
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
    fn limits_remove_tools_and_add_denied_rules() {
        let rules = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
        let tier = TierPolicy { tools: rules(&["Bash", "Read"]), ..TierPolicy::default_of(Tier::Full) };
        let limits =
            ToolLimits { allowed: Some(rules(&["Bash", "Write"])), denied: rules(&["Bash(docker stop:*)"]) };
        let arguments = client_arguments(&tier, Catalogue::default(), "opus", None, &limits);
        let expected = ["--tools", "Bash", "--allowedTools", "Bash"];
        assert_eq!(arguments.get(..4).unwrap(), expected);
        assert_eq!(arguments.get(4..6).unwrap(), ["--disallowedTools", "Bash(docker stop:*)"]);
    }

    #[test]
    fn a_tier_without_tools_gets_no_default_tools() {
        let tier = TierPolicy { tools: vec![], ..TierPolicy::default_of(Tier::Observe) };
        assert_eq!(
            client_arguments(&tier, Catalogue::default(), "haiku", None, &ToolLimits::default())
                .get(..2)
                .unwrap(),
            ["--tools", ""]
        );
    }
}
