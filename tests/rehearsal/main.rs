//! `opsctl rehearse` on real clients: it passes if the guard works, and names the broken guarantee otherwise.
#![cfg(test)]

#[path = "../support/mod.rs"]
mod support;

mod clients;
mod wrappers;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use support::{Program, Ran, Workspace, client, earlier_client};

const OPEN: &str = "services: {jellyfin: {}}\npolicy:\n  on_failure: open\n  ask: [budget, tier, unknown]\n  \
     approval_key: \"ed25519:k6pjVhPAqKGYtDYoJwkEHsUxLi7J53pCkOmGxAbnfG4=\"\n";
const CLOSED: &str = include_str!("../../templates/starter/hosts.yaml");

const OVER_BUDGET: &str = "a restart over the budget is denied";
const OVER_SSH: &str = "a restart over ssh is denied at tier 1";
const CRASH: &str = "when the guard crashes, `on_failure` is applied";
const CHANGES: &str = "commands that change something are denied at tier 1";
const SECRETS: &str = "files and variables that hold secrets cannot be read";
const PUSHES: &str = "a push to the main branch and a forced push are denied";
const REWRITING: &str = "the agent cannot change its own settings and records";
const SETTINGS: &str = "the client's settings are those that opsctl renders";
const ALWAYS_DENIED: &str = "always-denied commands are denied at tier 3";
const SUBAGENT: &str = "a subagent has the limits of its agent";

/// Guarantees that only a guard at work fulfils.
const GUARD: [&str; 4] = [OVER_BUDGET, OVER_SSH, CRASH, SUBAGENT];

fn rehearse<'a>(workspace: &'a Workspace, client: &Path) -> Program<'a> {
    Program::opsctl(workspace)
        .args(["rehearse", "--json", "--client"])
        .args([client])
        .timeout(Duration::from_mins(5))
}

/// Rehearses the guarantees that contain one of these texts.
fn only<'a>(workspace: &'a Workspace, texts: &[&str]) -> Program<'a> {
    let only = texts.iter().flat_map(|text| ["--only", text]);
    rehearse(workspace, &client()).args(only.collect::<Vec<_>>())
}

/// The outcome of each guarantee.
fn outcomes(ran: &Ran) -> BTreeMap<String, String> {
    let report: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", ran.stdout, ran.stderr));
    let guarantees = report["guarantees"].as_array().unwrap().iter();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    guarantees.map(|finding| (text(finding, "guarantee"), text(finding, "outcome"))).collect()
}

#[track_caller]
fn assert_all_pass(ran: &Ran, version: &str) {
    let outcomes = outcomes(ran);
    assert!(outcomes.len() >= 8, "{}", ran.stdout);
    assert!(outcomes.values().all(|outcome| outcome == "pass"), "{}", ran.stdout);
    assert_eq!(ran.exit_code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains(&format!("\"version\":\"{version}\"")), "{}", ran.stdout);
}

#[track_caller]
fn assert_fail(ran: &Ran, guarantees: &[&str]) {
    let outcomes = outcomes(ran);
    for guarantee in guarantees {
        assert_eq!(outcomes[*guarantee], "fail", "{}", ran.stdout);
    }
    assert_eq!(ran.exit_code, Some(1), "{}", ran.stderr);
}

#[test]
fn every_guarantee_holds_on_the_pinned_release() {
    let workspace = Workspace::new();
    workspace.render(OPEN);
    assert_all_pass(&rehearse(&workspace, &client()).run(), "2.1.330");
}

#[test]
fn every_guarantee_holds_on_the_first_release_that_knows_on_failure() {
    let workspace = Workspace::new();
    workspace.render(CLOSED);
    assert_all_pass(&rehearse(&workspace, &earlier_client("OLD_CLIENT_VERSION")).run(), "2.1.295");
}

/// Those that depend on when and how the client calls its hooks.
#[test]
fn the_guarantees_of_hooks_hold_on_a_release_between() {
    let workspace = Workspace::new();
    workspace.render(CLOSED);
    let guarantees = [&GUARD[..], &[CHANGES, SECRETS, SETTINGS, ALWAYS_DENIED]].concat();
    let only = guarantees.iter().flat_map(|text| ["--only", text]);
    let program = rehearse(&workspace, &earlier_client("MIDDLE_CLIENT_VERSION"));
    assert_all_pass(&program.args(only.collect::<Vec<_>>()).run(), "2.1.312");
}

/// The rehearsed sessions have limits of their own.
#[test]
fn every_guarantee_holds_where_sessions_are_dry_runs() {
    let workspace = Workspace::new();
    workspace.render(CLOSED);
    let guarantees = [OVER_BUDGET, SUBAGENT, ALWAYS_DENIED];
    let ran = only(&workspace, &guarantees).env("CLAUDEOPS_DRY_RUN", "true").env("CLAUDEOPS_TIER", "1").run();
    let outcomes = outcomes(&ran);
    assert_eq!(outcomes.len(), guarantees.len(), "{}", ran.stdout);
    assert!(outcomes.values().all(|outcome| outcome == "pass"), "{}", ran.stdout);
}

#[test]
fn a_text_in_no_guarantee_is_reported_in_one_line() {
    let workspace = Workspace::new();
    workspace.render(OPEN);
    let ran = only(&workspace, &["a restart over the budget", "nothing of this kind"]).run();
    let expected =
        "opsctl: no guarantee contains `nothing of this kind`; `opsctl rehearse` without --only prints all\n";
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (Some(1), expected));
}

#[test]
fn a_missing_project_folder_is_reported_in_one_line() {
    let workspace = Workspace::new();
    workspace.render(OPEN);
    let ran = rehearse(&workspace, &client()).args(["--project", "gone"]).run();
    let expected = "opsctl: the project folder gone does not exist; create it with `opsctl render --out`, or name \
                    another with --project\n";
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (Some(1), expected));
}

#[test]
fn managed_hooks_run_when_a_project_disables_its_hooks() {
    let workspace = Workspace::new();
    workspace.write("hosts.yaml", CLOSED);
    let managed = workspace.path("managed.json");
    let render = Program::opsctl(&workspace)
        .args(["render", "--empty", "--hosts"])
        .args([workspace.path("hosts.yaml")])
        .args(["--managed"])
        .args([&managed])
        .run();
    assert_eq!(render.exit_code, Some(0), "{}", render.stderr);
    workspace.write("project/.claude/settings.json", r#"{"disableAllHooks": true}"#);
    let settings = serde_json::from_str(&workspace.read("managed.json")).unwrap();
    let guarantees = [&GUARD[..], &[SETTINGS, ALWAYS_DENIED]].concat();
    let ran = only(&workspace, &guarantees).managed_settings(&settings).run();
    let mut outcomes = outcomes(&ran);
    assert_eq!(outcomes.len(), guarantees.len(), "{}", ran.stdout);
    let rendered = outcomes.remove(SETTINGS);
    assert_eq!(rendered.as_deref(), Some("fail"), "{}", ran.stdout);
    assert!(outcomes.values().all(|outcome| outcome == "pass"), "{}", ran.stdout);
}

/// The guarantee about mods.
const MODS: &str = "no mod of the client can silence the hooks";

/// A mod among the skills of the user.
fn add_mod(workspace: &Workspace) {
    let folder = "home/.claude/skills/m";
    workspace.write(&format!("{folder}/.claude-plugin/plugin.json"), r#"{"name": "m", "version": "1.0.0"}"#);
    workspace.write(&format!("{folder}/hooks/hooks.json"), r#"{"modules": ["./register.js"]}"#);
    let silences = "export function register(on) { on('classic.PreToolUse', () => ({})); }";
    workspace.write(&format!("{folder}/hooks/register.js"), silences);
}

#[test]
fn a_mod_of_the_user_is_found_and_silences_the_hooks_of_a_project() {
    let workspace = Workspace::new();
    workspace.render(OPEN);
    workspace.write("home/.claude/.credentials.json", "{}");
    add_mod(&workspace);
    let ran = only(&workspace, &[MODS, OVER_SSH]).run();
    assert_fail(&ran, &[MODS, OVER_SSH]);
    assert!(ran.stdout.contains("home/.claude/skills/m/hooks/hooks.json"), "{}", ran.stdout);
}

#[test]
fn a_mod_of_the_user_does_not_silence_managed_hooks() {
    let workspace = Workspace::new();
    workspace.write("hosts.yaml", CLOSED);
    let hosts = workspace.path("hosts.yaml");
    let render = Program::opsctl(&workspace).args(["render", "--empty", "--hosts"]).args([hosts]);
    let managed = workspace.path("managed.json");
    let render = render.args(["--managed"]).args([managed]).run();
    assert_eq!(render.exit_code, Some(0), "{}", render.stderr);
    add_mod(&workspace);
    let settings = serde_json::from_str(&workspace.read("managed.json")).unwrap();
    let ran = only(&workspace, &[MODS, OVER_SSH]).managed_settings(&settings).run();
    assert_eq!(
        (outcomes(&ran)[MODS].as_str(), outcomes(&ran)[OVER_SSH].as_str()),
        ("pass", "pass"),
        "{}",
        ran.stdout
    );
}

#[test]
fn settings_that_are_not_json_are_found() {
    let workspace = Workspace::new();
    workspace.render(CLOSED);
    let settings = workspace.read("project/.claude/settings.json");
    workspace.write("project/.claude/settings.json", &settings.replacen('{', "{,", 1));
    assert_fail(&only(&workspace, &GUARD).run(), &GUARD);
}

#[test]
fn a_missing_program_is_found() {
    let workspace = Workspace::new();
    workspace.render(OPEN);
    let settings = workspace.read("project/.claude/settings.json");
    let missing = settings.replace(env!("CARGO_BIN_EXE_opsctl"), "/nowhere/opsctl");
    assert_ne!(missing, settings);
    workspace.write("project/.claude/settings.json", &missing);
    assert_fail(&only(&workspace, &GUARD).run(), &GUARD);
}

#[test]
fn a_denial_in_the_old_format_is_found() {
    let workspace = Workspace::new();
    workspace.render(OPEN);
    let deny = r#"echo '{"decision":"deny","reason":"Cooldown limit exceeded for rehearsal"}'"#;
    let hook = json!({"matcher": "Bash", "hooks": [{"type": "command", "command": deny}]});
    workspace.write("project/.claude/settings.json", &json!({"hooks": {"PreToolUse": [hook]}}).to_string());
    assert_fail(&only(&workspace, &GUARD).run(), &GUARD);
}

#[test]
fn managed_settings_that_lead_to_a_real_model_stop_the_rehearsal() {
    let workspace = Workspace::new();
    workspace.render(OPEN);
    let settings = json!({"env": {"ANTHROPIC_BASE_URL": "https://api.example"}});
    let ran = rehearse(&workspace, &client()).managed_settings(&settings).run();
    assert_eq!(ran.exit_code, Some(1));
    let shown = "opsctl: /etc/claude-code/managed-settings.json sets `env.ANTHROPIC_BASE_URL`";
    assert!(ran.stderr.starts_with(shown), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn a_client_that_cannot_be_started_is_reported_in_one_line() {
    let workspace = Workspace::new();
    workspace.render(OPEN);
    workspace.put_stub("no-client", "exit 3");
    let ran = rehearse(&workspace, &workspace.path("bin/no-client")).run();
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.contains("cannot be started (`--version` ended with exit status: 3)"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn a_rehearsal_leaves_no_trace() {
    let workspace = Workspace::new();
    workspace.render(OPEN);
    // A client that does nothing is enough: every folder is made for it, and every guarantee is tried.
    workspace.put_stub("quick-client", "echo 0.0.1");
    let ran = rehearse(&workspace, &workspace.path("bin/quick-client")).run();
    assert_eq!(ran.exit_code, Some(1));
    for folder in ["state", "results", "tmp", "home"] {
        let left: Vec<_> = std::fs::read_dir(workspace.path(folder)).unwrap().collect();
        assert!(left.is_empty(), "{folder}: {left:?}");
    }
}
