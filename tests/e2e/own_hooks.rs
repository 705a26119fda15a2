//! Hooks that an operator adds in `hosts.yaml`: the client runs each type, in addition to those of opsctl.

use crate::mcp_server::mcp_server;
use crate::support::{Program, Session, bash, text};
use serde_json::{Value, json};

const INVENTORY: &str = r#"
hosts: {ie01: {address: 127.0.0.11}}
services: {jellyfin: {host: ie01}}
policy: {verify: {grace: 1s}}
hooks:
  PreToolUse:
    - {matcher: Bash, command: own, args: ["two words", $HOME], timeout: 5, statusMessage: checking}
    - {matcher: Bash, command: 'own "in a shell"'}
    - {matcher: Bash, command: own, args: [conditional], if: "Bash(docker ps *)"}
    - {matcher: Read, command: own, args: [never]}
    - {matcher: Bash, type: http, url: "http://127.0.0.1:8080/operators", headers: {X-Who: "$WHO"}, allowedEnvVars: [WHO]}
    - {matcher: Bash, type: mcp_tool, server: notes, tool: note, input: {what: "${tool_input.command}"}}
    - {matcher: Bash, type: prompt, prompt: "Is this polite? $ARGUMENTS", model: haiku}
    - {matcher: Bash, type: agent, prompt: "Is this wise? $ARGUMENTS"}
  PostToolUse:
    - {matcher: Bash, command: own, args: [after], async: true}
  SessionEnd:
    - {command: own, args: [end]}
"#;

/// A service that is not waited for where it is missing.
const JELLYFIN: &str = "services: {jellyfin: {}}\npolicy: {verify: {grace: 1s}}\n";

/// What the tool of the MCP server does: it records its arguments.
const RECORD: &str =
    r#"printf '%s\n' "$line" >> "${0%/bin/*}/calls"; answer '{"content":[{"type":"text","text":"{}"}]}'"#;

fn session(inventory: &str) -> Session {
    let server = json!({"mcpServers": {"notes": {"command": "notes-server"}}});
    Session::new()
        .hosts_yaml(inventory)
        .stub("own", "exit 0")
        .stub("notes-server", &mcp_server("note", RECORD))
        .file("mcp.json", &server.to_string())
        .client_arguments(["--mcp-config", "../mcp.json"])
        .env("WHO", "the guard")
        .answering(|request| {
            let asked = request.conversation();
            (asked.contains("Is this polite?") && request.tools().is_empty()).then(|| text(r#"{"ok": true}"#))
        })
}

#[test]
fn every_type_of_hook_runs_beside_ours() {
    let finished = session(INVENTORY).commands(["docker ps -a", "docker restart jellyfin"]).run();
    for result in finished.tool_results() {
        result.assert_ran();
    }
    let marks = finished.marks("own");
    let times = |mark: &str| marks.iter().filter(|seen| *seen == mark).count();
    assert_eq!(times("two words $HOME"), 2, "no shell comes between: {marks:?}");
    assert_eq!(times("in a shell"), 2, "{marks:?}");
    assert_eq!(times("conditional"), 1, "only for the command that `if` names: {marks:?}");
    assert_eq!(times("never"), 0, "{marks:?}");
    assert_eq!(times("after"), 2, "{marks:?}");
    assert_eq!(times("end"), 1, "{marks:?}");

    let posted: Vec<&Value> = finished.notifications().iter().collect();
    assert_eq!(posted.len(), 2, "{posted:?}");
    assert_eq!(posted[0]["tool_input"]["command"], "docker ps -a");
    let calls = finished.read("calls");
    assert_eq!(calls.lines().filter(|call| call.contains("docker restart jellyfin")).count(), 1, "{calls}");
    let wise = finished.verifier_requests();
    assert!(
        wise.iter().any(|request| request.conversation().contains("Is this wise?")),
        "the agent is asked"
    );

    let ours = finished.rows("SELECT service FROM cooldown_actions");
    assert_eq!(ours, [json!({"service": "jellyfin"})], "and the guard has counted");
}

#[test]
fn an_operators_hook_may_refuse_and_ours_still_does() {
    let inventory = format!("{JELLYFIN}hooks: {{PreToolUse: [{{matcher: Bash, command: own}}]}}\n");
    let finished = Session::new()
        .hosts_yaml(&inventory)
        .stub("own", "grep -q sonarr || exit 0; echo 'not sonarr' >&2; exit 2")
        .commands(["docker restart sonarr", "docker restart jellyfin", "docker restart jellyfin"])
        .step(bash("docker restart jellyfin"))
        .run();
    finished.tool_result(0).assert_refused("not sonarr");
    finished.tool_result(2).assert_ran();
    finished.tool_result(3).assert_refused("Cooldown limit exceeded for jellyfin: 2/2");
}

#[test]
fn a_failing_hook_blocks_if_on_failure_is_block() {
    let inventory = "hooks: {PreToolUse: [{matcher: Bash, command: own, args: [], onFailure: block}]}\n";
    let finished = Session::new().hosts_yaml(inventory).stub("own", "exit 1").step(bash("docker ps")).run();
    finished.tool_result(0).assert_refused("");
    assert_eq!(finished.marks("docker"), [""; 0]);
}

#[test]
fn the_hooks_of_hosts_yaml_are_rendered_into_managed_settings() {
    let inventory = "hooks: {PreToolUse: [{matcher: Bash, command: own, args: [managed]}]}\n";
    let session = Session::new().hosts_yaml(inventory).stub("own", "exit 0");
    let rendered = session.rendered();
    let finished = session
        .managed_settings(rendered)
        .settings(&json!({"disableAllHooks": true}))
        .step(bash("docker ps"))
        .run();
    finished.tool_result(0).assert_ran();
    assert_eq!(finished.marks("own"), ["managed"], "the client takes the mark of the hooks for nothing");
}

/// Rendered settings with a hook of a type that the client does not know.
fn with_unknown_type(event: &str) -> Session {
    let session = Session::new().hosts_yaml(JELLYFIN);
    let mut settings = session.rendered();
    let hooks = settings["hooks"].as_object_mut().unwrap();
    let groups = hooks.entry(event).or_insert_with(|| json!([])).as_array_mut().unwrap();
    groups.insert(0, json!({"hooks": [{"type": "teleport", "where": "home"}]}));
    session.settings(&settings)
}

#[test]
fn an_unknown_hook_type_before_tool_calls_disables_the_file_and_is_not_rendered() {
    let finished = with_unknown_type("PostToolUse").commands(["docker restart jellyfin"; 3]).run();
    finished.tool_result(2).assert_refused("Cooldown limit exceeded for jellyfin: 2/2");

    let finished = with_unknown_type("PreToolUse").commands(["docker restart jellyfin"; 3]).run();
    finished.tool_result(2).assert_ran();
    assert!(!finished.shown_at_start().contains("Cooldown State"), "no hook of the file runs");

    let workspace = finished.into_workspace();
    let project = workspace.project();
    let ran = Program::opsctl(&workspace).args(["render", "--empty", "--out"]).args([&project]).run();
    assert_eq!(ran.exit_code, Some(1));
    let settings = project.join(".claude/settings.json");
    assert_eq!(
        ran.stderr,
        format!(
            "opsctl: {} cannot be kept: with its hook 1 for PreToolUse, which the client cannot read, the client \
             would ignore the whole file; correct it or move it away\n",
            settings.display()
        )
    );
}
