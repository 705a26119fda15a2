//! `opsctl doctor`: problems of an installation are found, and each finding has a remedy.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::sandbox::{Run, Sandbox};

/// A correct installation on this machine.
fn installation() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "hosts: {here: {address: 127.0.0.1}}\npolicy: {on_failure: closed}\n");
    let run = sandbox.opsctl(&["render"], b"");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    sandbox
}

fn program(sandbox: &Sandbox, name: &str, script: &str) {
    let path = sandbox.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// A finding as (condition, what, remedy).
fn finding(run: &Run, check: &str) -> (String, String, Option<String>) {
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let found: Vec<&Value> = findings.iter().filter(|finding| finding["check"] == check).collect();
    assert_eq!(found.len(), 1, "{check}: {}", run.stdout);
    let text = |key: &str| found[0][key].as_str().map(str::to_owned);
    (text("condition").unwrap(), text("what").unwrap(), text("remedy"))
}

fn quick(sandbox: &Sandbox) -> Run {
    sandbox.opsctl(&["doctor", "--quick", "--json"], b"")
}

#[track_caller]
fn assert_failed(run: &Run, check: &str, what: &str, remedy: &str) {
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    let (condition, said, advice) = finding(run, check);
    assert_eq!(condition, "failed", "{said}");
    assert!(said.contains(what), "{said}");
    assert!(advice.as_deref().unwrap_or_default().contains(remedy), "{advice:?}");
}

#[test]
fn a_sound_installation_passes() {
    let run = quick(&installation());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    for check in ["policy", "settings", "program", "state folder", "ledger"] {
        let (condition, what, remedy) = finding(&run, check);
        assert_eq!((condition.as_str(), remedy), ("ok", None), "{check}: {what}");
    }
}

#[test]
fn what_is_not_understood_runs_only_at_a_tier_that_is_opened_and_that_is_named() {
    let sandbox = Sandbox::new();
    let decides =
        |tier: &str| sandbox.opsctl(&["explain", "--exit-code", "--tier", tier, "homelab status"], b"").code;
    assert_eq!([decides("1"), decides("2"), decides("3")], [Some(2), Some(0), Some(0)], "without a file");
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\n");
    assert_eq!([decides("1"), decides("2"), decides("3")], [Some(2); 3]);
    sandbox.write("hosts.yaml", "policy: {tiers: {2: {effects: [reads, changes, unknown]}}}\n");
    assert_eq!([decides("1"), decides("2"), decides("3")], [Some(2), Some(0), Some(2)]);
    let (_, what, _) = finding(&quick(&sandbox), "policy");
    assert!(what.contains("; tier 2 runs what opsctl does not understand (`effects`)"), "{what}");
    assert!(!what.contains("tier 3 runs"), "{what}");
}

#[test]
fn missing_credentials_are_a_warning() {
    let sandbox = installation();
    let only = ["doctor", "--only", "credentials"];
    let without = sandbox.opsctl(&only, b"");
    let expected = "warning  credentials: none are configured: the client cannot start a session\n           set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, with compose in .env\n";
    assert_eq!((without.code, without.stdout.as_str()), (Some(0), expected));
    for (variable, value, condition) in
        [("CLAUDE_CODE_OAUTH_TOKEN", "x", "ok "), ("ANTHROPIC_API_KEY", "", "warning ")]
    {
        let run = installation().with(variable, value).opsctl(&only, b"");
        assert!(run.stdout.starts_with(condition), "{variable}: {}", run.stdout);
    }
    sandbox.write(".claude/settings.json", r#"{"apiKeyHelper": "cat key"}"#);
    let with_helper = sandbox.opsctl(&only, b"");
    assert!(with_helper.stdout.contains("apiKeyHelper"), "{}", with_helper.stdout);
}

#[test]
fn a_file_that_was_changed_after_rendering_is_named() {
    let sandbox = installation();
    let settings = sandbox.read(".claude/settings.json").replace("pre-tool-use", "notification");
    sandbox.write(".claude/settings.json", &settings);
    let run = quick(&sandbox);
    assert_failed(&run, "settings", ".claude/settings.json", "run `opsctl render`");
    assert!(!finding(&run, "settings").1.contains("policy.json"));
}

#[test]
fn hooks_that_call_a_program_that_is_gone_are_found() {
    let sandbox = installation();
    sandbox.opsctl(&["render", "--opsctl", "/nowhere/opsctl"], b"");
    assert_failed(
        &quick(&sandbox),
        "program",
        "/nowhere/opsctl, which cannot be executed",
        "install opsctl there",
    );
}

#[test]
fn an_installation_without_hooks_fails() {
    let sandbox = installation();
    sandbox.write(".claude/settings.json", "{}");
    assert_failed(&quick(&sandbox), "program", "no hook calls opsctl", "run `opsctl render`");
}

#[test]
fn settings_that_were_never_rendered_can_be_rendered_by_their_owner() {
    let sandbox = installation();
    std::fs::remove_dir_all(sandbox.path(".claude")).unwrap();
    let run = quick(&sandbox);
    assert_failed(&run, "settings", "out of date with", "run `opsctl render`");
    assert!(!finding(&run, "settings").2.unwrap().contains("as root"), "{}", run.stdout);
}

#[test]
fn a_policy_that_cannot_be_used_is_found() {
    let sandbox = installation();
    sandbox.write(".claude/opsctl/policy.json", "{");
    assert_failed(&quick(&sandbox), "policy", "policy.json: not a compiled policy", "render it again");
}

#[test]
fn a_file_that_is_not_a_ledger_is_found() {
    let sandbox = installation();
    sandbox.write(
        "claudeops.db",
        "this is no database, and long enough to be none for sure: no header, nothing",
    );
    assert_failed(&quick(&sandbox), "ledger", "not a database", "");
}

#[test]
fn damage_inside_the_ledger_is_found_by_the_thorough_check() {
    let sandbox = installation();
    for n in 0..40 {
        sandbox.opsctl(&["cooldown", "record", &format!("service-with-a-long-name-{n}")], b"");
    }
    let path = sandbox.path("claudeops.db");
    let status =
        std::process::Command::new("sqlite3").arg(&path).arg("PRAGMA wal_checkpoint(TRUNCATE)").output();
    assert!(status.unwrap().status.success());
    let mut bytes = std::fs::read(&path).unwrap();
    // Every page but the first loses its first bytes.
    for page in bytes.chunks_mut(4096).skip(1) {
        page[..16].fill(0xff);
    }
    std::fs::write(&path, bytes).unwrap();
    let run = sandbox.opsctl(&["doctor", "--json"], b"");
    assert_eq!(run.code, Some(1));
    let (condition, what, _) = finding(&run, "ledger");
    assert_eq!(condition, "failed", "{what}");
}

#[test]
fn another_journal_mode_is_a_warning() {
    let sandbox = installation();
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    let path = sandbox.path("claudeops.db");
    let set =
        std::process::Command::new("sqlite3").arg(path).arg("PRAGMA journal_mode=DELETE").output().unwrap();
    assert!(set.status.success());
    let run = quick(&sandbox);
    let (condition, what, remedy) = finding(&run, "ledger");
    assert_eq!((run.code, condition.as_str()), (Some(0), "warning"), "{what}");
    assert!(what.contains("`delete`") && remedy.unwrap().contains("journal_mode=WAL"), "{what}");
}

#[test]
fn a_state_folder_that_is_missing_is_found() {
    let sandbox = installation().with("CLAUDEOPS_STATE_DIR", "/nowhere/state");
    assert_failed(&quick(&sandbox), "state folder", "/nowhere/state", "CLAUDEOPS_STATE_DIR");
}

#[test]
fn a_cooldown_file_that_cannot_be_read_is_found() {
    let sandbox = installation();
    assert_eq!(finding(&quick(&sandbox), "cooldown file").0, "ok");
    sandbox.write("cooldown.json", "{\"services\": [");
    assert_failed(&quick(&sandbox), "cooldown file", "actions are denied", "fix it or move it away");
    sandbox.write("hosts.yaml", "hosts: {here: {address: 127.0.0.1}}\npolicy: {on_failure: open}\n");
    assert_eq!(sandbox.opsctl(&["render"], b"").code, Some(0));
    let run = quick(&sandbox);
    let (condition, what, _) = finding(&run, "cooldown file");
    assert_eq!((run.code, condition.as_str()), (Some(0), "warning"), "{what}");
}

#[test]
fn a_closed_policy_needs_a_recent_client() {
    for (version, condition) in [("2.1.290", "failed"), ("2.1.295", "ok")] {
        let sandbox = installation();
        program(&sandbox, "claude", &format!("echo '{version} (Claude Code)'"));
        let path = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
        let run = sandbox.with("PATH", &path).opsctl(&["doctor", "--json"], b"");
        let (found, what, _) = finding(&run, "client");
        assert_eq!(found, condition, "{what}");
        assert!(what.starts_with(version), "{what}");
    }
}

#[test]
fn a_missing_client_and_a_missing_apprise_are_found() {
    let sandbox =
        installation().with("PATH", "/nowhere").with("CLAUDEOPS_APPRISE_URLS", "json://127.0.0.1/x");
    let run = sandbox.opsctl(&["doctor", "--json"], b"");
    assert_failed(&run, "client", "no `claude` in PATH", "CLAUDEOPS_CLIENT");
    assert_failed(&run, "notifications", "no `apprise` in PATH", "install it");
    assert!(!run.stdout.contains("json://"), "addresses hold passwords");
}

#[test]
fn people_read_a_line_for_each_finding_and_one_for_its_remedy() {
    let sandbox = installation();
    sandbox.write(".claude/settings.json", "{}");
    let run = sandbox.opsctl(&["doctor", "--quick"], b"");
    assert!(run.stdout.contains("ok       state folder: "), "{}", run.stdout);
    let remedy = "FAILED   program: no hook calls opsctl: the agent is not restricted\n           run `opsctl render`\n";
    assert!(run.stdout.contains(remedy), "{}", run.stdout);
}

#[test]
fn reports_unhealthy_services_as_warning() {
    let sandbox = installation();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap();
    let services = |mail: &str| {
        let yaml = format!(
            "hosts: {{here: {{address: 127.0.0.1}}}}\nservices:\n  shop: {{host: here, tcp: [\"{open}\"]}}\n  mail: {{host: here, tcp: [\"{mail}\"]}}\n"
        );
        sandbox.write("hosts.yaml", &yaml);
        assert_eq!(sandbox.opsctl(&["render"], b"").code, Some(0));
        sandbox.opsctl(&["doctor", "--json"], b"")
    };
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sick = services(&closed.to_string());
    let (condition, what, _) = finding(&sick, "services");
    assert_eq!(condition, "warning", "{}", sick.stdout);
    assert!(what.contains("mail (") && what.contains("refused"), "{what}");
}

/// Settings with a hook of others before a tool call.
const THEIRS: &str = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint", "args": ["two words"]}]}]}}"#;

fn hooks(sandbox: &Sandbox) -> Run {
    sandbox.opsctl(&["doctor", "--hooks"], b"")
}

#[test]
fn hooks_are_listed_by_file_with_what_keeps_them_from_running() {
    let sandbox = installation();
    assert_eq!(finding(&quick(&sandbox), "hooks").0, "ok");
    sandbox.write(
        ".claude/settings.local.json",
        r#"{"hooks": {"NoSuchEvent": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#,
    );
    sandbox.write("home/settings.json", THEIRS);
    let sandbox = sandbox.with("CLAUDE_CONFIG_DIR", "home");
    let run = hooks(&sandbox);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    let here = sandbox.path(".claude").display().to_string();
    assert_eq!(lines[0], format!("local: {here}/settings.local.json"));
    assert_eq!(
        lines[1..3],
        ["  NoSuchEvent: command x (of others)", "    IGNORED: the client has no event of this name"]
    );
    assert_eq!(lines[3], format!("project: {here}/settings.json"));
    let ours = format!("  SessionStart: command {} hook session-start", env!("CARGO_BIN_EXE_opsctl"));
    assert!(ours.starts_with(lines[4].trim_end_matches('…')), "a long line is cut: {}", run.stdout);
    assert!(lines.contains(&"user: home/settings.json"), "{}", run.stdout);
    assert!(lines.contains(&"  PreToolUse Bash: command lint 'two words' (of others)"), "{}", run.stdout);
    let warning = "warning  hooks: a hook from other sources before a tool call, such as `lint 'two words'` in home/settings.json: it may replace the command after opsctl has checked it";
    assert!(lines.contains(&warning), "{}", run.stdout);
    // An operator's own are meant.
    sandbox
        .write("home/settings.json", &THEIRS.replace("\"matcher\"", "\"from\": \"hosts.yaml\", \"matcher\""));
    assert_eq!(finding(&quick(&sandbox), "hooks").0, "ok");
    sandbox.write(
        "home/settings.json",
        &THEIRS.replace("\"command\": \"lint\"", "\"command\": \"lint\", \"async\": true"),
    );
    assert_eq!(finding(&quick(&sandbox), "hooks").0, "ok");
}

#[test]
fn mods_of_the_user_and_of_the_project_are_found_by_file() {
    let manifest = r#"{"name": "m", "hooks": "./other.json"}"#;
    let module = r#"{"modules": ["./register.js"]}"#;
    for (folder, file) in [
        ("home/skills/m", "hooks/hooks.json"),
        ("home/skills/m", "other.json"),
        ("home/plugins/cache/market/m/1.0.0", "hooks/hooks.json"),
        ("home/plugins/synced/m", "hooks/hooks.json"),
        ("home/dev-mods/session/m", "hooks/hooks.json"),
        (".claude/skills/m", "hooks/hooks.json"),
    ] {
        let sandbox = installation().with("CLAUDE_CONFIG_DIR", "home");
        assert_eq!(finding(&quick(&sandbox), "mods").0, "ok");
        sandbox.write(&format!("{folder}/.claude-plugin/plugin.json"), manifest);
        sandbox.write(&format!("{folder}/{file}"), r#"{"hooks": {}}"#);
        assert_eq!(finding(&quick(&sandbox), "mods").0, "ok", "{folder}: a plugin without a module");
        sandbox.write(&format!("{folder}/{file}"), module);
        let found = format!("{folder}/{file}: a mod can silence opsctl's hooks");
        assert_failed(&quick(&sandbox), "mods", &found, "remove its folder, or run `opsctl render --managed");
        let run = hooks(&sandbox);
        assert!(run.code == Some(1) && run.stdout.contains(&found), "{run:?}");
    }
    let sandbox = installation().with("CLAUDE_CONFIG_DIR", "home");
    sandbox.write("home/plugins/marketplaces/official/m/hooks/hooks.json", module);
    assert_eq!(finding(&quick(&sandbox), "mods").0, "ok", "a plugin that is not installed");
}

#[test]
fn hooks_that_are_switched_off_or_lost_are_found() {
    let sandbox = installation().with("CLAUDE_CONFIG_DIR", "home");
    sandbox.write(".claude/settings.local.json", r#"{"disableAllHooks": true}"#);
    let run = quick(&sandbox);
    assert_failed(&run, "hooks", "do not run: `disableAllHooks` in ", "remove the cause");
    assert_eq!(hooks(&sandbox).code, Some(1));
    sandbox.write(".claude/settings.local.json", "{");
    let (condition, what, _) = finding(&quick(&sandbox), "hooks");
    assert_eq!(condition, "warning");
    assert!(what.contains("the client ignores ") && what.contains("it is not JSON"), "{what}");
    let broken =
        sandbox.read(".claude/settings.json").replace("\"timeout\": ", "\"timeout\": \"x\", \"was\": ");
    sandbox.write(".claude/settings.json", &broken);
    assert_failed(&quick(&sandbox), "hooks", "the client cannot read its hook 1 for PreToolUse", "");
}

#[test]
fn sources_of_the_command_line_are_only_in_the_list() {
    let sandbox = installation();
    sandbox.write("more.json", THEIRS);
    let run = sandbox.opsctl(&["doctor", "--hooks", "--json", "--settings", "more.json"], b"");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["sources"][0]["source"], "command line");
    assert_eq!(report["hooks"][0]["of"], "others");
    assert_eq!(report["finding"]["condition"], "warning");
    assert_eq!(sandbox.opsctl(&["doctor", "--settings", "more.json"], b"").code, Some(1));
}

#[test]
fn settings_that_weaken_the_guard_are_named_with_the_remedy() {
    let weaker = r#"{"apiKeyHelper": "x", "env": {"CLAUDEOPS_TIER": "3"}}"#;
    let sandbox = installation();
    sandbox.write(".claude/settings.local.json", weaker);
    let run = quick(&sandbox);
    assert_failed(&run, "client settings", "`apiKeyHelper` in ", "run `opsctl render`");
    assert_failed(&run, "client settings", "`env.CLAUDEOPS_TIER` in ", "under `settings` in hosts.yaml");
    let sandbox = installation();
    let home = sandbox.path("home");
    sandbox.write("home/.claude/settings.json", weaker);
    let run = quick(&sandbox.with("HOME", home.to_str().unwrap()));
    let (condition, what, remedy) = finding(&run, "client settings");
    assert_eq!(condition, "warning", "{what}");
    assert!(
        what.contains("home/.claude/settings.json") && remedy.unwrap().contains("`opsctl session`"),
        "{what}"
    );
}

#[test]
fn an_mcp_server_that_is_left_out_is_named_with_the_remedy() {
    let sandbox = installation();
    let repos = sandbox.path("repos");
    sandbox.write("repos/media/.claude-ops/mcp.json", r#"{"mcpServers": {"lab": {"command": "sh"}}}"#);
    let run = quick(&sandbox.with("CLAUDEOPS_REPOS_DIR", repos.to_str().unwrap()));
    let (condition, what, remedy) = finding(&run, "mcp servers");
    let expected = "the MCP server `lab` of the repository `media` is left out: hosts.yaml does not list it";
    assert_eq!((condition.as_str(), what.as_str()), ("warning", expected));
    assert_eq!(remedy.as_deref(), Some("add it to `repositories.media.servers` if it may run"));
}

#[test]
fn an_mcp_server_without_its_program_is_left_out_with_a_warning_an_event_and_a_finding() {
    let sandbox = installation();
    sandbox.write(
        ".claude/mcp.json",
        r#"{"mcpServers": {"web": {"command": "no-such-npx", "args": ["-y", "web"]}}}"#,
    );
    let out = sandbox.path("mcp.json");
    let run = sandbox.opsctl(&["mcp", "merge", "--repos", "none", "--out", out.to_str().unwrap()], b"");
    let what = "the MCP server `web` of the baseline is left out: its program `no-such-npx` is not installed";
    let remedy = "install it in the image, or remove the server";
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), format!("opsctl: {what}; {remedy}\n").as_str()));
    assert!(!out.exists(), "no server is left");
    assert_eq!(sandbox.sql("SELECT level, message FROM events"), format!("warning|{what}; {remedy}"));
    let (condition, said, advice) = finding(&quick(&sandbox), "mcp servers");
    assert_eq!((condition.as_str(), said.as_str(), advice.as_deref()), ("warning", what, Some(remedy)));
}

#[test]
fn prompts_that_do_what_opsctl_does_are_a_warning() {
    let sandbox = installation();
    let only = ["doctor", "--only", "prompts"];
    let sound = sandbox.opsctl(&only, b"");
    assert_eq!(sound.stdout, "ok       prompts: no instructions that opsctl replaces\n", "{sound:?}");
    sandbox.write(".claude/hooks/event-emit.sh", "#!/bin/sh\n");
    sandbox.write(
        "prompts/tier2.md",
        "# Tier 2\n\nRead the cooldown state.\nUpdate the cooldown state file.\n[COOLDOWN:restart:x] success\n",
    );
    sandbox.write("skills/state.md", "jq . /state/cooldown.json\n");
    sandbox.write("CLAUDE.md", "Never update the cooldown state file.\n");
    let run = sandbox.opsctl(&["doctor", "--only", "prompts", "--json"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    let (condition, what, remedy) = finding(&run, "prompts");
    assert_eq!(condition, "warning");
    assert_eq!(
        what,
        ".claude/hooks/event-emit.sh is left; prompts/tier2.md:4 edits cooldown.json; \
         prompts/tier2.md:5 writes a cooldown marker; skills/state.md:1 reads state with sqlite3 or jq"
    );
    let remedy = remedy.unwrap();
    for part in ["`opsctl verify`", "remove the marker", "`opsctl events` read state", "delete the scripts"] {
        assert!(remedy.contains(part), "{part}: {remedy}");
    }
}

#[test]
fn two_containers_with_one_agent_name_are_a_warning_and_a_recreated_container_is_none() {
    let sandbox = installation().with("CLAUDEOPS_AGENT", "nas");
    for (session, process, ago) in [("s1", "7 1 boot pid:[1] 5", 30), ("s2", "9 3 boot pid:[2] 6", 20)] {
        let start = serde_json::json!({"session_id": session, "cwd": "/app", "source": "startup"});
        assert_eq!(sandbox.hook("session-start", &start).code, Some(0));
        sandbox.sql(&format!(
            "UPDATE hook_sessions SET process = '{process}',
                 last_seen_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-{ago} minutes') WHERE session_id = '{session}'"
        ));
    }
    let name = || finding(&quick(&sandbox), "agent name");
    assert_eq!(name(), ("ok".to_owned(), "nas".to_owned(), None));
    sandbox.sql(
        "UPDATE hook_sessions SET last_seen_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE session_id = 's1';
         INSERT INTO hook_sessions (session_id, process, agent, started_at, last_seen_at, reminded_at, state)
             SELECT 's0', '6 1 boot pid:[1] 5', agent, started_at, strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 hour'), reminded_at, state
             FROM hook_sessions WHERE session_id = 's1'",
    );
    let (condition, what, remedy) = name();
    assert_eq!(condition, "warning", "{what}");
    assert_eq!(what, "sessions of several machines or containers in turn have the name nas");
    assert!(remedy.unwrap().contains("CLAUDEOPS_AGENT"));
}

/// podman-compose ignores `COMPOSE_FILE` of .env, so that the agent would run without its guard.
#[test]
fn a_compose_file_that_is_not_in_use_fails_in_the_agents_container() {
    let with = |variables: &[(&str, &str)]| {
        let sandbox = variables.iter().fold(installation(), |it, (name, value)| it.with(name, value));
        sandbox.opsctl(&["doctor", "--only", "compose files", "--json"], b"")
    };
    let both = ("COMPOSE_FILE", "compose.yaml:egress.yaml:guard.yaml");
    let ignored = with(&[both, ("HTTPS_PROXY", "http://egress:8888")]);
    assert_failed(
        &ignored,
        "compose files",
        "guard.yaml in COMPOSE_FILE of .env is not in use",
        "`export COMPOSE_FILE=",
    );
    let used = ("CLAUDEOPS_GUARD", "unix:/guard/run/opsctl.sock");
    for sound in [
        &[][..],
        &[("COMPOSE_FILE", "compose.yaml")],
        &[both, ("HTTPS_PROXY", "http://egress:8888"), used],
        &[both, ("CLAUDEOPS_GUARD_UIDS", "1000")],
    ] {
        let run = with(sound);
        assert_eq!((run.code, finding(&run, "compose files").0.as_str()), (Some(0), "ok"), "{run:?}");
    }
}

#[test]
fn the_project_that_was_rendered_below_is_found() {
    let sandbox = Sandbox::new();
    sandbox.opsctl(&["init", "lab"], b"");
    for file in ["hosts.yaml", "hosts.schema.json"] {
        std::fs::copy(sandbox.path("lab").join(file), sandbox.path(file)).unwrap();
    }
    let settings = |arguments: &[&str]| {
        let run = sandbox.opsctl(&[&["doctor", "--quick", "--only", "settings"], arguments].concat(), b"");
        (run.code, run.stdout)
    };
    assert_eq!(settings(&[]).0, Some(1), "nothing is rendered");
    sandbox.opsctl(&["render", "--out", "one"], b"");
    let found = (Some(0), "ok       settings: up to date with hosts.yaml\n".to_owned());
    assert_eq!(settings(&[]), found);
    sandbox.opsctl(&["render", "--out", "two"], b"");
    assert_eq!(settings(&[]).0, Some(1), "one of two");
    assert_eq!(settings(&["--project", "two"]), found);
    let nowhere = sandbox.opsctl(&["doctor", "--project", "/nowhere"], b"");
    let expected = "opsctl: there is no folder /nowhere; name one that was rendered\n";
    assert_eq!((nowhere.code, nowhere.stderr.as_str(), nowhere.stdout.as_str()), (Some(1), expected, ""));
}
