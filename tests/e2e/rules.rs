//! Rules about commands, files and tools, in sessions of the real client.

use crate::guard::guarded;
use crate::support::{Session, bash, tool};
use serde_json::json;

#[test]
fn no_tool_or_shell_command_can_write_the_agents_own_limits() {
    let session = guarded().tools("Bash,Read,Write,Edit").file("state/cooldown.json", "{}");
    let session = session.step(bash("docker restart jellyfin"));
    let workspace = session.workspace();
    let settings = workspace.path("project/.claude/settings.json");
    let cooldown = workspace.path("state/cooldown.json");
    let ledger = workspace.path("state/claudeops.db");
    let before = std::fs::read_to_string(&settings).unwrap();
    std::os::unix::fs::symlink("../state", workspace.path("project/innocent")).unwrap();
    let state = workspace.state().display().to_string();
    let read = |path: &std::path::Path| tool("Read", &json!({"file_path": path}));
    let write = |path: &std::path::Path| tool("Write", &json!({"file_path": path, "content": "{}"}));
    let finished = session
        .client_arguments(["--add-dir", &state])
        .step(read(&settings))
        .step(write(&settings))
        .step(read(&cooldown))
        .step(tool("Edit", &json!({"file_path": cooldown, "old_string": "services", "new_string": "none"})))
        .step(write(&cooldown))
        .step(write(&ledger))
        .commands([
            "echo '{\"disableAllHooks\": true}' > .claude/settings.local.json",
            "cd .claude && sed -i s/PreToolUse/Nothing/ settings.json",
            "bash -c 'mv .claude elsewhere'",
            "python3 -c \"open('.claude/settings.json', 'w').write('{}')\"",
            "echo '{}' | tee \"$CLAUDEOPS_STATE_DIR/cooldown.json\"",
            "sqlite3 \"$CLAUDEOPS_STATE_DIR/claudeops.db\" 'DELETE FROM cooldown_actions WHERE 1'",
            "rm -f ../state/claudeops.db-wal",
            "ln -s ../state other; true",
            "echo '{}' > innocent/cooldown.json",
            "sqlite3 \"$CLAUDEOPS_STATE_DIR/claudeops.db\" 'SELECT count(*) FROM cooldown_actions'",
            "echo done > report.md",
        ])
        .run();
    let results = finished.tool_results();
    results[0].assert_ran();
    results[1].assert_ran();
    for refused in [2, 4, 5, 6] {
        results[refused].assert_refused("Protected: `");
    }
    results[3].assert_ran();
    for result in &results[7..16] {
        result.assert_refused("Protected: `");
    }
    results[16].assert_refused("Secret: `");
    results[17].assert_ran();
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), before);
    assert!(!finished.path("project/.claude/settings.local.json").exists());
    assert_eq!(finished.read("project/report.md"), "done\n");
    assert_eq!(finished.rows("SELECT service FROM cooldown_actions"), [json!({"service": "jellyfin"})]);
}

#[test]
fn no_tool_or_shell_command_may_read_a_secret_file() {
    let session = guarded().tools("Bash,Read,Grep").file("project/.env", "PASSWORD=hunter2\n");
    let env = session.workspace().path("project/.env");
    let finished = session
        .step(tool("Read", &json!({"file_path": env})))
        .step(tool("Grep", &json!({"pattern": "PASSWORD", "path": env, "output_mode": "content"})))
        .commands([
            "cat .env",
            "grep PASS .e*",
            "base64 < .env",
            "set -a; . ./.env; echo $PASSWORD",
            "ls -la .env",
        ])
        .run();
    for refused in 0..6 {
        finished.tool_result(refused).assert_refused("Secret: `");
    }
    finished.tool_result(6).assert_ran();
    assert!(!finished.shown_at_end().contains("hunter2"));
}

/// An MCP server over stdio with one tool, which leaves a mark as the stub programs do.
const SERVER: &str = r#"
import json, subprocess, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "docker", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"container_name": {"type": "string"}}}
        result = {"tools": [{"name": "restart_container", "description": "restarts", "inputSchema": schema}]}
    elif method == "tools/call":
        subprocess.run(["docker", "restarted-by-mcp", params["arguments"]["container_name"]])
        result = {"content": [{"type": "text", "text": "restarted"}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

#[test]
fn a_restart_by_an_mcp_server_is_counted() {
    let hosts = format!(
        "{}policy: {{verify: {{grace: 1s}}, tools: {{mcp__docker__restart_container: {{action: restart, service: container_name}}}}}}\n",
        include_str!("hosts.yaml").split("policy:").next().unwrap()
    );
    let restart = || tool("mcp__docker__restart_container", &json!({"container_name": "jellyfin"}));
    let session = Session::new().hosts_yaml(&hosts).file("server.py", SERVER);
    let server = session.workspace().path("server.py");
    let servers = json!({"mcpServers": {"docker": {"command": "python3", "args": [server]}}});
    let config = session.workspace().path("mcp.json").display().to_string();
    let finished = session
        .file("mcp.json", &servers.to_string())
        .client_arguments(["--mcp-config", &config, "--strict-mcp-config", "--allowedTools", "mcp__docker"])
        .step(restart())
        .step(restart())
        .step(restart())
        .step(bash("docker restart jellyfin"))
        .run();
    finished.tool_result(0).assert_ran();
    finished.tool_result(1).assert_ran();
    for refused in [2, 3] {
        finished.tool_result(refused).assert_refused("Cooldown limit exceeded for jellyfin: 2/2 restarts");
    }
    assert_eq!(finished.marks("docker"), ["restarted-by-mcp jellyfin"; 2]);
    let events = finished.rows("SELECT message FROM events WHERE level = 'warning'");
    assert_eq!(events[0]["message"], "Tool called: mcp__docker__restart_container jellyfin");
}

#[test]
fn a_dry_run_restarts_nothing() {
    let finished = guarded()
        .tools("Bash,Read,Write")
        .env("CLAUDEOPS_DRY_RUN", "true")
        .commands(["docker restart jellyfin", "ssh root@ie01 'docker restart jellyfin'", "docker ps"])
        .step(tool("Write", &json!({"file_path": "/srv/opsctl-dry-run", "content": "x"})))
        .run();
    for refused in [0, 1, 3] {
        finished.tool_result(refused).assert_refused("Dry run (CLAUDEOPS_DRY_RUN)");
    }
    finished.tool_result(2).assert_ran();
    assert_eq!(finished.marks("docker"), ["ps"]);
    assert!(finished.rows("SELECT * FROM hook_actions").is_empty());
}
