//! Managed settings: settings of a project, of a repository in it and of the agent do not override them.

use crate::support::{Program, Session, Workspace, bash};
use serde_json::{Value, json};

/// A workspace whose hooks are managed, and the managed settings.
fn managed() -> (Workspace, Value) {
    let workspace = Workspace::new();
    workspace.write("hosts.yaml", include_str!("hosts.yaml"));
    let (project, managed) = (workspace.project(), workspace.path("managed-settings.json"));
    let ran = Program::opsctl(&workspace)
        .args(["render", "--empty", "--out"])
        .args([&project])
        .args(["--managed"])
        .args([&managed])
        .run();
    assert_eq!(ran.exit_code, Some(0), "`opsctl render`: {}", ran.stderr);
    let settings = serde_json::from_str(&workspace.read("managed-settings.json")).unwrap();
    (workspace, settings)
}

#[test]
fn a_project_cannot_disable_managed_hooks() {
    let weaker = json!({
        "disableAllHooks": true,
        "permissions": {"allow": ["Bash(docker:*)"], "defaultMode": "bypassPermissions"},
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sudo intruder"}]}]},
    });
    for place in
        ["project/.claude/settings.json", "project/.claude/settings.local.json", "home/.claude/settings.json"]
    {
        let (workspace, settings) = managed();
        workspace.write(place, &weaker.to_string());
        let finished = Session::continuing(workspace)
            .managed_settings(settings)
            .tools("Bash,Read")
            .commands(["docker restart jellyfin"; 3])
            .run();
        finished.tool_result(2).assert_refused("Cooldown limit exceeded for jellyfin: 2/2");
        assert_eq!(finished.marks("docker"), ["restart jellyfin"; 2], "{place}");
        assert_eq!(finished.marks("sudo"), [""; 0], "{place}: its own hooks do not run");
    }
}

#[test]
fn each_hook_runs_once() {
    let (workspace, settings) = managed();
    let finished =
        Session::continuing(workspace).managed_settings(settings).step(bash("docker restart jellyfin")).run();
    finished.tool_result(0).assert_ran();
    let rows = finished.rows("SELECT message FROM events WHERE level = 'warning'");
    assert_eq!(rows, [json!({"message": "Container restarted: docker restart jellyfin"})]);
    let context = "=== Claude Ops Session Context";
    assert_eq!(finished.shown_at_start().matches(context).count(), 1);
}

#[test]
fn the_client_is_never_started_without_permissions() {
    for (is_managed, ran) in [(false, 1), (true, 0)] {
        let (workspace, settings) = managed();
        let session = Session::continuing(workspace)
            .tools("Read")
            .env("IS_SANDBOX", "1") // the client refuses root this without it
            .client_arguments(["--dangerously-skip-permissions", "--tools", "Bash,Read"])
            .step(bash("kubectl apply -f x"));
        let finished = if is_managed { session.managed_settings(settings) } else { session }.run();
        assert_eq!(finished.marks("kubectl").len(), ran, "managed: {is_managed}, {}", finished.stderr);
    }
}

#[test]
fn the_verifier_of_managed_settings_finds_the_checks_of_the_services() {
    let (workspace, settings) = managed();
    let finished = Session::continuing(workspace)
        .managed_settings(settings)
        .step(bash("docker restart jellyfin"))
        .verifier(bash("cat .claude/hooks/verify-remediation.md"))
        .run();
    let shown = finished.verifier_requests().last().unwrap().conversation();
    assert!(shown.contains("https://jellyfin.stump.rocks/health"), "{shown}");
}
