//! Layers 1 and 2: the client's own limits, as `opsctl tier N --args` states them.

use crate::guard::guarded;
use crate::support::{bash, tool};
use serde_json::json;

#[test]
fn tier_1_has_no_tool_that_writes_files() {
    let write = json!({"file_path": "/tmp/x", "content": "x"});
    let finished = guarded().run_at_tier(1).step(tool("Write", &write)).step(bash("uptime")).run();
    finished.tool_result(0).assert_refused("No such tool available: Write");
    finished.tool_result(1).assert_ran();
    let requests = finished.agent_requests();
    let tools = requests[0].tools();
    assert!(tools.contains(&"Bash") && tools.contains(&"Grep") && !tools.contains(&"Edit"), "{tools:?}");
    assert_eq!(requests[0].body["model"].as_str().map(|model| model.contains("haiku")), Some(true));
}

#[test]
fn denied_prefixes_apply_without_a_hook() {
    // No settings are rendered: only the arguments limit the session.
    let finished = crate::support::Session::new()
        .run_at_tier(1)
        .commands(["docker restart jellyfin", "cd /tmp && docker  compose up -d", "docker ps"])
        .run();
    finished.tool_result(0).assert_refused("Permission to use Bash");
    finished.tool_result(1).assert_refused("Permission to use Bash");
    finished.tool_result(2).assert_ran();
    assert_eq!(finished.marks("docker"), ["ps"]);
}

#[test]
fn only_tier_3_may_run_a_playbook() {
    for (tier, ran) in [(2, 0), (3, 1)] {
        let finished = guarded().run_at_tier(tier).step(bash("ansible-playbook redeploy-jellyfin.yml")).run();
        assert_eq!(finished.marks("ansible-playbook").len(), ran, "tier {tier}");
    }
}

#[test]
fn settings_in_the_home_of_the_agent_are_not_read() {
    let finished = guarded()
        .file("home/.claude/settings.json", r#"{"disableAllHooks": true}"#)
        .file("project/.claude/settings.local.json", r#"{"disableAllHooks": true}"#)
        .run_at_tier(1)
        .step(bash("ssh root@ie01 docker restart jellyfin"))
        .run();
    finished.tool_result(0).assert_refused("Tier 1 may not carry out a restart");
    assert_eq!(finished.marks("ssh"), [""; 0]);
}

#[test]
fn a_server_that_a_folder_brings_along_is_not_started() {
    let servers = json!({"mcpServers": {"intruder": {"command": "sudo", "args": ["intruder"]}}});
    let finished = guarded()
        .file("project/.mcp.json", &servers.to_string())
        .file("project/.claude/settings.local.json", r#"{"enableAllProjectMcpServers": true}"#)
        .run_at_tier(3)
        .step(bash("uptime"))
        .run();
    finished.tool_result(0).assert_ran();
    assert_eq!(finished.marks("sudo"), [""; 0]);
}
