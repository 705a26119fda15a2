//! `opsctl tier`: layers 1 and 2 as arguments of the client.

use serde_json::Value;

use crate::sandbox::Sandbox;

fn lines(sandbox: &Sandbox, arguments: &[&str]) -> Vec<String> {
    let run = sandbox.opsctl(arguments, b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    run.stdout.lines().map(str::to_owned).collect()
}

/// The value of an option of the client.
fn value(arguments: &[String], option: &str) -> Option<String> {
    let place = arguments.iter().position(|argument| argument == option)?;
    arguments.get(place + 1).cloned()
}

#[test]
fn tier_1_has_no_tool_that_writes_and_denies_every_action_by_prefix() {
    let sandbox = Sandbox::new();
    let arguments = lines(&sandbox, &["tier", "1", "--args"]);
    assert_eq!(value(&arguments, "--tools").as_deref(), Some("Bash,Read,Grep,Glob,Task,WebFetch,WebSearch"));
    assert_eq!(value(&arguments, "--allowedTools"), value(&arguments, "--tools"));
    assert_eq!(value(&arguments, "--permission-mode").as_deref(), Some("dontAsk"));
    assert_eq!(value(&arguments, "--model").as_deref(), Some("haiku"));
    let denied = value(&arguments, "--disallowedTools").unwrap();
    for prefix in [
        "docker restart",
        "docker compose up",
        "docker compose pull",
        "systemctl restart",
        "ansible-playbook",
        "helm upgrade",
        "git push",
        "git commit",
        "apprise",
    ] {
        assert!(denied.split(',').any(|rule| rule == format!("Bash({prefix}:*)")), "{prefix}: {denied}");
    }
}

#[test]
fn a_higher_tier_is_denied_only_what_it_may_not_do() {
    let sandbox = Sandbox::new();
    let denied = value(&lines(&sandbox, &["tier", "2", "--args"]), "--disallowedTools").unwrap();
    for (prefix, is_denied) in [
        ("ansible-playbook", true),
        ("docker compose down", true),
        ("docker restart", false),
        ("git push", false),
    ] {
        assert_eq!(denied.contains(&format!("Bash({prefix}:*)")), is_denied, "{prefix}: {denied}");
    }
    assert_eq!(value(&lines(&sandbox, &["tier", "3", "--args"]), "--disallowedTools"), None);
}

#[test]
fn hosts_yaml_states_a_tier_and_the_environment_wins_over_its_model() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER2_MODEL", "opus[1m]");
    sandbox.write(
        "hosts.yaml",
        "policy: {tiers: {2: {model: haiku, tools: [Bash, mcp__docker], deny: [docker exec], deadline: 5m}}}\n",
    );
    let arguments = lines(&sandbox, &["tier", "2", "--args"]);
    assert_eq!(value(&arguments, "--tools").as_deref(), Some("Bash"));
    assert_eq!(value(&arguments, "--allowedTools").as_deref(), Some("Bash,mcp__docker"));
    assert_eq!(value(&arguments, "--model").as_deref(), Some("opus[1m]"));
    assert!(value(&arguments, "--disallowedTools").unwrap().ends_with(",Bash(docker exec:*)"));
    let summary: Value = serde_json::from_str(&lines(&sandbox, &["tier", "2", "--json"])[0]).unwrap();
    assert_eq!((&summary["deadline_seconds"], &summary["model"]), (&300.into(), &"opus[1m]".into()));
}

#[test]
fn the_three_forms_are_the_same_arguments() {
    let sandbox = Sandbox::new();
    let by_line = lines(&sandbox, &["tier", "1", "--args"]);
    let by_nul = sandbox.opsctl(&["tier", "1", "--args", "--null"], b"").stdout;
    let by_nul: Vec<&str> = by_nul.split_terminator('\0').collect();
    let json: serde_json::Value =
        serde_json::from_str(&sandbox.opsctl(&["tier", "1", "--args", "--json"], b"").stdout).unwrap();
    assert_eq!(by_nul, by_line);
    assert_eq!(json["arguments"], serde_json::json!(by_line));
}

#[test]
fn servers_are_named_where_there_are_any_and_no_others_are_ever_used() {
    let sandbox = Sandbox::new();
    let without = lines(&sandbox, &["tier", "1", "--args"]);
    assert!(without.contains(&"--strict-mcp-config".to_owned()) && value(&without, "--mcp-config").is_none());
    sandbox.write("mcp.json", r#"{"mcpServers": {"lab": {"command": "x"}, "other": {"command": "y"}}}"#);
    let unnamed = lines(&sandbox, &["tier", "1", "--args"]);
    assert!(value(&unnamed, "--mcp-config").is_none(), "no tool of tier 1 names a server");
    let hosts = sandbox.write("hosts.yaml", "policy: {tiers: {1: {tools: [Bash, mcp__lab__look]}}}\n");
    let sandbox = sandbox.with("CLAUDEOPS_HOSTS", hosts.to_str().unwrap());
    let with = lines(&sandbox, &["tier", "1", "--args"]);
    assert_eq!(value(&with, "--mcp-config"), Some(sandbox.path("mcp-tier1.json").display().to_string()));
    let servers = sandbox.read("mcp-tier1.json");
    assert!(servers.contains("\"lab\"") && !servers.contains("other"), "{servers}");
    for (tool, is_named) in [
        ("mcp__lab", true),
        ("mcp__lab__look", true),
        ("mcp__labor", false),
        ("mcp__la", false),
        ("lab", false),
        ("mcp__lab_x__look", false),
    ] {
        sandbox.write("hosts.yaml", &format!("policy: {{tiers: {{1: {{tools: [Bash, {tool}]}}}}}}\n"));
        let shown = sandbox.opsctl(&["tier", "1", "--args"], b"").stdout;
        assert_eq!(shown.contains("mcp-tier1.json"), is_named, "{tool}: {shown}");
    }
    sandbox.write("mcp.json", "{");
    let run = sandbox.opsctl(&["tier", "1", "--args"], b"");
    assert!(run.stderr.contains("line 1") && run.stderr.ends_with("run `opsctl mcp merge`\n"), "{run:?}");
}

#[test]
fn a_summary_is_for_people() {
    let run = Sandbox::new().opsctl(&["tier", "1"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    for part in ["tier 1\n", "may do    nothing\n", "denied    commands with one of ", "deadline  30m\n"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert_eq!(Sandbox::new().opsctl(&["tier", "9"], b"").code, Some(1));
}
