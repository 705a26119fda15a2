//! `opsctl rehearse` on Codex CLI and Gemini CLI: what their hooks enforce, and what the clients do with other answers.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Program, Ran, Workspace, codex, gemini};
use crate::{CHANGES, CLOSED, CRASH, OPEN, OVER_BUDGET, OVER_SSH, REWRITING, outcomes, rehearse};

/// Renders the hooks of this client from this inventory.
fn rendered(client: &str, hosts: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("hosts.yaml", hosts);
    let render = Program::opsctl(&workspace).args(["render", "--empty", "--for", client, "--hosts"]);
    let ran = render.args([workspace.path("hosts.yaml")]).run();
    assert_eq!(ran.exit_code, Some(0), "{}", ran.stderr);
    workspace
}

fn rehearsed(workspace: &Workspace, client: &Path, guarantees: &[&str]) -> Ran {
    let only = guarantees.iter().flat_map(|text| ["--only", text]);
    rehearse(workspace, client).args(only.collect::<Vec<_>>()).run()
}

#[track_caller]
fn assert_each(ran: &Ran, guarantees: &[&str], expected: &str) {
    let outcomes = outcomes(ran);
    assert_eq!(outcomes.len(), guarantees.len(), "{}", ran.stdout);
    assert!(outcomes.values().all(|outcome| outcome == expected), "{}", ran.stdout);
}

/// A hook of the client in place of the rendered ones.
fn with_hook(workspace: &Workspace, file: &str, event: &str, script: &str) {
    let mut settings: Value = serde_json::from_str(&workspace.read(file)).unwrap();
    let command = format!("/bin/sh -c '{script}'");
    settings["hooks"] = json!({event: [{"hooks": [{"type": "command", "command": command}]}]});
    workspace.write(file, &settings.to_string());
}

const CODEX_HOOKS: &str = "project/.codex/hooks.json";
const GEMINI_HOOKS: &str = "project/.gemini/settings.json";

/// A restart over the budget, commands of tier 1 and writes of protected files are denied; a guard that fails denies.
const ENFORCED: [&str; 5] = [OVER_BUDGET, OVER_SSH, CHANGES, REWRITING, CRASH];

#[test]
fn codex_enforces_what_the_guard_decides() {
    let workspace = rendered("codex", CLOSED);
    assert_each(&rehearsed(&workspace, &codex(), &ENFORCED), &ENFORCED, "pass");
}

#[test]
fn gemini_enforces_what_the_guard_decides() {
    let workspace = rendered("gemini", CLOSED);
    assert_each(&rehearsed(&workspace, &gemini(), &ENFORCED), &ENFORCED, "pass");
}

#[test]
fn codex_runs_a_command_whose_hook_crashes() {
    let workspace = rendered("codex", OPEN);
    for crash in ["kill -9 $$", "exit 2"] {
        with_hook(&workspace, CODEX_HOOKS, "PreToolUse", crash);
        assert_each(&rehearsed(&workspace, &codex(), &[OVER_SSH]), &[OVER_SSH], "fail");
    }
}

#[test]
fn gemini_runs_a_command_whose_hook_crashes_or_answers_as_for_claude_code() {
    let workspace = rendered("gemini", OPEN);
    let as_for_claude_code = r#"echo "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"}}"; echo no >&2; exit 2"#;
    for script in ["kill -9 $$", as_for_claude_code] {
        with_hook(&workspace, GEMINI_HOOKS, "BeforeTool", script);
        assert_each(&rehearsed(&workspace, &gemini(), &[OVER_SSH]), &[OVER_SSH], "fail");
    }
}
