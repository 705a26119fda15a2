//! The loop of the container, with the real client and a scripted model.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Program, Ran, Workspace, bash, text, tool};

/// The time that a container has before SIGKILL.
const GRACE: Duration = Duration::from_secs(10);

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("hosts.yaml", include_str!("hosts.yaml"));
    workspace
}

/// A hand-over, as a model writes it.
fn handoff(to: u8) -> String {
    let text = json!({
        "schema_version": 1, "recommended_tier": to, "services_affected": ["jellyfin"],
        "check_results": [{"service": "jellyfin", "check_type": "http", "status": "unhealthy", "error": "502"}],
        "investigation_findings": format!("found on the way to tier {to}"),
    });
    format!("opsctl handoff write <<'JSON'\n{text}\nJSON")
}

fn logs(workspace: &Workspace, ending: &str) -> Vec<PathBuf> {
    let mut logs: Vec<PathBuf> =
        fs::read_dir(workspace.path("results")).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.to_str().unwrap().ends_with(ending));
    logs.sort();
    logs
}

fn runs(workspace: &Workspace) -> Vec<Value> {
    workspace.rows("SELECT tier, model, outcome, exit_code FROM client_runs ORDER BY id")
}

fn completed(tier: u8, model: &str) -> Value {
    json!({"tier": tier, "model": model, "outcome": "completed", "exit_code": 0})
}

#[track_caller]
fn assert_ended(ran: &Ran, code: i32) {
    assert_eq!(ran.exit_code, Some(code), "{ran:#?}");
}

#[test]
fn a_healthy_round_is_one_session_of_tier_one() {
    let workspace = workspace();
    // An earlier cycle was cut off.
    workspace.write("state/handoff.json", "stale");
    let program = Program::entrypoint(&workspace).env("CLAUDEOPS_ONCE", "true").operators_listen();
    let asked = program.asked();
    let steps = [bash("docker ps"), text("All is well.\n[EVENT:info:jellyfin] healthy, 40 ms")];
    let ran = program.at_tier(1, steps).run();

    assert_ended(&ran, 0);
    assert_eq!(runs(&workspace), [completed(1, "haiku")]);
    let row = &workspace
        .rows("SELECT session_id, turns, cost_usd, input_tokens, duration_ms, log_path FROM client_runs")[0];
    assert!(row["turns"].as_i64() > Some(0) && row["cost_usd"].as_f64() > Some(0.0), "{row}");
    assert!(row["input_tokens"].as_i64() > Some(0) && row["duration_ms"].as_i64() > Some(0), "{row}");

    let logs = logs(&workspace, ".jsonl");
    assert_eq!(logs.len(), 1, "{logs:?}");
    assert_eq!(row["log_path"], logs[0].to_str().unwrap());
    let log = fs::read_to_string(&logs[0]).unwrap();
    let session = row["session_id"].as_str().unwrap();
    assert!(log.contains(session), "the client uses the id that the ledger has");
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
    let events = workspace.rows("SELECT level, service, message, events.source, recorded_events.session_id FROM events JOIN recorded_events ON event_id = id");
    let event = json!({"level": "info", "service": "jellyfin", "message": "healthy, 40 ms", "source": "llm",
                       "session_id": session});
    assert_eq!(events, [event]);

    assert!(ran.stdout.contains("  Bash: docker ps\n    ok\n  All is well."), "{}", ran.stdout);
    assert!(ran.stdout.contains("Session of tier 1 completed"), "{}", ran.stdout);
    let prompts = asked.prompts();
    assert_eq!(prompts.len(), 1);
    assert!(prompts[0].contains("# Tier 1: observe") && prompts[0].contains("- jellyfin on ie01"));
    assert!(!workspace.path("state/handoff.json").exists());
    assert_eq!(ran.notifications, Vec::<Value>::new());
}

#[test]
fn a_round_begins_with_the_daily_digest_if_it_is_due() {
    let workspace = workspace();
    workspace.write("hosts.yaml", &(include_str!("hosts.yaml").to_owned() + "  digest: 00:00\n"));
    let program = Program::entrypoint(&workspace).env("CLAUDEOPS_ONCE", "true").operators_listen();
    let ran = program.at_tier(1, [text("all is well")]).run();
    assert_ended(&ran, 0);
    let titles: Vec<&Value> = ran.notifications.iter().map(|notice| &notice["title"]).collect();
    assert_eq!(titles, ["opsctl: daily digest"]);
}

#[test]
fn a_round_follows_hand_overs_to_higher_tiers() {
    let workspace = workspace();
    let program = Program::entrypoint(&workspace).env("CLAUDEOPS_ONCE", "true").operators_listen();
    let asked = program.asked();
    let restart = "docker restart jellyfin";
    let ran = program
        .at_tier(1, [bash("ssh root@ie01 docker restart jellyfin"), bash(&handoff(2)), text("handed over")])
        .at_tier(2, [bash(restart), bash(restart), bash(restart), bash(&handoff(3)), text("handed over")])
        .at_tier(
            3,
            [bash("ansible-playbook redeploy-jellyfin.yml"), text("[EVENT:warning:jellyfin] redeployed")],
        )
        .run();

    assert_ended(&ran, 0);
    assert_eq!(runs(&workspace), [completed(1, "haiku"), completed(2, "sonnet"), completed(3, "opus")]);
    assert_eq!(logs(&workspace, ".jsonl").len(), 3);
    assert_eq!(logs(&workspace, "-handoff-taken.json").len(), 2);
    // What really ran, at which tier.
    assert_eq!(workspace.marks("ssh"), [""; 0]);
    assert_eq!(workspace.marks("docker"), ["restart jellyfin"; 2]);
    assert_eq!(workspace.marks("ansible-playbook"), ["redeploy-jellyfin.yml"]);
    let actions = workspace.rows("SELECT action_type, tier FROM cooldown_actions ORDER BY id");
    let restarted = json!({"action_type": "restart", "tier": 2});
    assert_eq!(actions, [restarted.clone(), restarted, json!({"action_type": "redeployment", "tier": 3})]);
    assert!(ran.stdout.contains("    denied: ") && ran.stdout.contains("Tier 1 may not carry out a restart"));

    let shown = workspace.rows("SELECT message FROM events WHERE source IN ('opsctl', 'llm') ORDER BY id");
    let expected =
        ["Tier 1 handed over to tier 2: jellyfin", "Tier 2 handed over to tier 3: jellyfin", "redeployed"];
    assert_eq!(shown, expected.map(|message| json!({"message": message})));
    let chain = workspace.rows(
        "SELECT coalesce(parent_session = lag(session_id) OVER (ORDER BY id), parent_session IS NULL) AS linked, \
         first_session = first_value(session_id) OVER (ORDER BY id) AS same_chain FROM client_runs ORDER BY id",
    );
    assert_eq!(
        chain,
        [
            json!({"linked": 1, "same_chain": 1}),
            json!({"linked": 1, "same_chain": 1}),
            json!({"linked": 1, "same_chain": 1})
        ]
    );
    let listed = Program::opsctl(&workspace).args(["sessions", "--json"]).run();
    let mut listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    // Sessions of stand-ins may be last seen in the same second, within which the order is open.
    let listed = listed["sessions"].as_array_mut().unwrap();
    listed.sort_by_key(|session| std::cmp::Reverse(session["chain"]["place"].as_u64()));
    let cost: f64 = listed.iter().map(|session| session["cost_usd"].as_f64().unwrap()).sum();
    assert_eq!(listed.len(), 3);
    for (session, place) in listed.iter().zip([3, 2, 1]) {
        let chain = &session["chain"];
        assert_eq!((&chain["place"], &chain["sessions"]), (&json!(place), &json!(3)), "{session}");
        assert!((chain["cost_usd"].as_f64().unwrap() - cost).abs() < 1e-9, "{session}");
    }
    assert_eq!(listed[0]["chain"]["parent_session"], listed[1]["id"]);
    let prompts = asked.prompts();
    assert_eq!(prompts.len(), 3, "a session for each tier");
    for (prompt, from_below) in
        prompts.iter().zip([None, Some("found on the way to tier 2"), Some("found on the way to tier 3")])
    {
        assert_eq!(prompt.contains("## Hand-over of the lower tier"), from_below.is_some());
        assert!(from_below.is_none_or(|words| prompt.contains(words)));
    }
    assert!(
        !workspace.path("state/handoff.json").exists()
            && !workspace.path("state/handoff-taken.json").exists()
    );
    let titles: Vec<&str> = ran.notifications.iter().filter_map(|notice| notice["title"].as_str()).collect();
    assert!(
        titles.iter().any(|title| title.contains("jellyfin")),
        "the exhausted budget is reported: {titles:?}"
    );
}

#[test]
fn an_invalid_hand_over_ends_the_round_and_is_reported() {
    for (written, why) in [
        (
            json!({"schema_version": 1, "recommended_tier": 9, "services_affected": ["jellyfin"]})
                .to_string(),
            "recommends tier 9",
        ),
        (
            json!({"schema_version": 1, "recommended_tier": 2, "services_affected": []}).to_string(),
            "names no service",
        ),
        ("{ half a".to_owned(), "not a hand-over"),
    ] {
        let workspace = workspace();
        let write = format!("cat > \"$CLAUDEOPS_STATE_DIR/handoff.json\" <<'JSON'\n{written}\nJSON");
        let program = Program::entrypoint(&workspace).env("CLAUDEOPS_ONCE", "true").operators_listen();
        let ran = program.at_tier(1, [bash(&write), text("done")]).run();
        assert_ended(&ran, 0);
        assert_eq!(runs(&workspace), [completed(1, "haiku")], "{why}");
        let events = workspace.rows("SELECT level, message FROM events WHERE source = 'opsctl'");
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(
            events[0]["level"] == "critical" && events[0]["message"].as_str().unwrap().contains(why),
            "{events:?}"
        );
        assert!(!workspace.path("state/handoff.json").exists());
        assert_eq!(ran.notifications.len(), 1, "{why}: {:?}", ran.notifications);
        let message = ran.notifications[0]["message"].as_str().unwrap();
        assert!(message.contains(why) && message.contains("-handoff-refused.json"), "{message}");
    }
}

#[test]
fn a_structured_result_hands_over() {
    let workspace = workspace();
    let hosts = include_str!("hosts.yaml").to_owned() + "  tiers: {1: {structured_result: true}}\n";
    workspace.write("hosts.yaml", &hosts);
    let program = Program::entrypoint(&workspace).env("CLAUDEOPS_ONCE", "true");
    let handoff = json!({"schema_version": 1, "recommended_tier": 2, "services_affected": ["jellyfin"],
                         "check_results": null, "investigation_findings": "502 since noon"});
    let result = tool("StructuredOutput", &json!({"summary": "one is down", "handoff": handoff}));
    let ran = program
        .at_tier(1, [bash("docker ps"), text("502 since noon"), result])
        .at_tier(2, [text("[EVENT:info:jellyfin] looked at")])
        .run();
    assert_ended(&ran, 0);
    assert_eq!(runs(&workspace), [completed(1, "haiku"), completed(2, "sonnet")]);
    let events = workspace.rows("SELECT level, message FROM events WHERE source = 'opsctl'");
    assert_eq!(events, [json!({"level": "info", "message": "Tier 1 handed over to tier 2: jellyfin"})]);
    let linked = workspace.rows("SELECT count(*) AS n FROM client_runs AS child JOIN client_runs AS parent ON child.parent_session = parent.session_id");
    assert_eq!(linked, [json!({"n": 1})]);
}

#[test]
fn the_highest_tier_and_a_dry_run_block_a_hand_over() {
    for (name, value, level) in
        [("CLAUDEOPS_MAX_TIER", "1", "critical"), ("CLAUDEOPS_DRY_RUN", "true", "info")]
    {
        let workspace = workspace();
        let program = Program::entrypoint(&workspace).env("CLAUDEOPS_ONCE", "true").env(name, value);
        // Put there by hand: a dry run does not let the agent write it.
        let hand =
            "printf '%s' '{\"schema_version\": 1, \"recommended_tier\": 2, \"services_affected\": [\"x\"]}'";
        workspace.put_stub("claude-like", "");
        workspace.write(
            "bin/client",
            &format!("#!/bin/sh\ncat >/dev/null\n{hand} > \"$CLAUDEOPS_STATE_DIR/handoff.json\"\necho '{{\"type\": \"result\"}}'\n"),
        );
        let client = workspace.path("bin/client");
        fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
        let ran = program.env("CLAUDEOPS_CLIENT", client.to_str().unwrap()).run();
        assert_ended(&ran, 0);
        let said = "entrypoint: dry run: nothing is changed; CLAUDEOPS_DRY_RUN=false ends it";
        assert_eq!(ran.stderr.lines().next() == Some(said), name == "CLAUDEOPS_DRY_RUN", "{}", ran.stderr);
        assert_eq!(runs(&workspace).len(), 1, "{name}: no second session");
        let events = workspace.rows("SELECT level FROM events WHERE source = 'opsctl'");
        assert_eq!(events, [json!({"level": level})], "{name}");
    }
}

/// A round that waits in its session of tier 1 until it is stopped.
fn busy(workspace: &Workspace) -> Program<'_> {
    workspace.put_stub("docker", "exec sleep 300");
    Program::entrypoint(workspace).at_tier(1, [bash("docker ps")])
}

#[track_caller]
fn assert_ended_in_time(ran: &Ran) {
    assert_ended(ran, 0);
    let after = ran.ended_after.expect("it was asked to end");
    assert!(after < GRACE, "it took {after:?}");
}

#[test]
fn sigterm_ends_the_client_before_it() {
    let workspace = workspace();
    let ran = busy(&workspace).ended_when(|workspace| !workspace.marks("docker").is_empty()).run();
    assert_ended_in_time(&ran);
    assert_eq!(workspace.rows("SELECT outcome FROM client_runs"), [json!({"outcome": "signalled"})]);
    assert!(ran.stdout.contains("Session of tier 1 was ended"), "{ran:?}");
}

#[test]
fn sigterm_ends_it_at_once_while_it_sleeps() {
    let workspace = workspace();
    workspace.put_stub("sleep", "exec /bin/sleep \"$@\"");
    let program = Program::entrypoint(&workspace).at_tier(1, [text("all is well")]);
    let ran = program.ended_when(|workspace| workspace.marks("sleep") == ["300"]).run();
    assert_ended_in_time(&ran);
}

#[test]
fn sigterm_ends_it_while_an_opsctl_command_runs() {
    for slow in ["render", "mcp", "handoff", "notify"] {
        let workspace = workspace();
        let opsctl = env!("CARGO_BIN_EXE_opsctl");
        // The real one, after a while.
        workspace.put_program("opsctl", std::path::Path::new("/nonexistent"));
        fs::remove_file(workspace.path("bin/opsctl")).unwrap();
        workspace.put_stub("opsctl", &format!("[ \"$1\" != {slow} ] || sleep 1; exec {opsctl} \"$@\""));
        let program = Program::entrypoint(&workspace).at_tier(1, [text("all is well")]);
        let ran = program
            .ended_when(move |workspace| workspace.marks("opsctl").iter().any(|call| call.starts_with(slow)))
            .run();
        assert_ended_in_time(&ran);
    }
}

#[test]
fn a_client_that_crashes_does_not_end_the_loop() {
    let workspace = workspace();
    workspace.put_stub("crash", "kill -SEGV $$");
    let crash = workspace.path("bin/crash");
    let ran = Program::entrypoint(&workspace)
        .env("CLAUDEOPS_CLIENT", crash.to_str().unwrap())
        .env("CLAUDEOPS_INTERVAL", "1")
        .operators_listen()
        .ended_when(|workspace| workspace.marks("crash").len() >= 2)
        .run();
    assert_ended_in_time(&ran);
    let failed = workspace.rows("SELECT outcome FROM client_runs WHERE outcome = 'failed'");
    assert!(!failed.is_empty(), "{ran:?}");
    assert_eq!(ran.notifications.len(), 1, "two equal failures are reported once: {:?}", ran.notifications);
}

#[test]
fn a_failed_round_is_reported_in_the_exit_code() {
    let workspace = workspace();
    let ran = Program::entrypoint(&workspace)
        .env("CLAUDEOPS_ONCE", "true")
        .env("CLAUDEOPS_CLIENT", "/no/such/claude")
        .run();
    assert_ended(&ran, 1);
    assert_eq!(workspace.rows("SELECT outcome FROM client_runs"), [json!({"outcome": "not_started"})]);
}

#[test]
fn a_mistake_in_hosts_yaml_stops_the_start_with_its_place() {
    let workspace = workspace();
    workspace.write("hosts.yaml", "hosts:\n  ie01: {adress: 127.0.0.1}\n");
    let ran = Program::entrypoint(&workspace).run();
    assert_ended(&ran, 1);
    assert!(ran.stderr.contains("unknown key `adress`") && ran.stderr.contains("line 2"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 4, "the message, and the line with its mark: {}", ran.stderr);
}

#[test]
fn limits_of_the_environment_hold_in_every_tier() {
    let workspace = workspace();
    let program = Program::entrypoint(&workspace)
        .env("CLAUDEOPS_ONCE", "true")
        .env("CLAUDEOPS_ALLOWED_TOOLS", "Bash,Read,Write")
        .env("CLAUDEOPS_DISALLOWED_TOOLS", "Bash(docker stop:*),Write");
    let write = tool("Write", &json!({"file_path": workspace.path("results/written"), "content": "x"}));
    let ran = program
        .at_tier(1, [bash("docker ps"), bash(&handoff(2)), text("handed over")])
        .at_tier(2, [bash("docker stop jellyfin"), write, bash("docker restart jellyfin"), text("done")])
        .run();
    assert_ended(&ran, 0);
    assert_eq!(workspace.marks("docker"), ["ps", "restart jellyfin"], "{}", ran.stdout);
    assert!(!workspace.path("results/written").exists());
    let warning = "tier 1 does not get Write; list them in `policy.tiers.1.tools` of hosts.yaml";
    assert!(ran.stderr.contains(warning) && !ran.stderr.contains("tier 2 does not"), "{}", ran.stderr);
}

#[test]
fn a_mod_of_the_project_is_reported_before_the_first_session() {
    let workspace = workspace();
    let file = "project/.claude/skills/m/hooks/hooks.json";
    workspace.write(file, r#"{"modules": ["./register.js"]}"#);
    let ran = Program::entrypoint(&workspace).env("CLAUDEOPS_ONCE", "true").run();
    let reported = format!("{}: a mod can silence opsctl's hooks", workspace.path(file).display());
    assert!(
        ran.stderr.contains("entrypoint: FAILED   mods: ") && ran.stderr.contains(&reported),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_variable_that_cannot_be_obeyed_stops_the_start_with_its_replacement() {
    for (variable, value, replacement) in [
        ("CLAUDEOPS_PROMPT", "/app/prompts/mine.md", "`policy.tiers.1.prompt`"),
        ("CLAUDEOPS_ALLOWED_TOOLS", "Bash(docker ps:*)", "`policy.tiers.N.tools`"),
        ("CLAUDEOPS_DISALLOWED_TOOLS", "docker stop", "`policy.tiers.N.deny`"),
    ] {
        let workspace = workspace();
        let ran = Program::entrypoint(&workspace).env(variable, value).run();
        assert_ended(&ran, 1);
        assert!(ran.stderr.contains(variable) && ran.stderr.contains(replacement), "{}", ran.stderr);
        let others =
            ran.stderr.lines().filter(|line| !line.contains("a mod of the client can silence the hooks"));
        assert_eq!(others.count(), 1, "{}", ran.stderr);
        assert!(!workspace.path("state/claudeops.db").exists(), "no session was started");
    }
}

#[test]
fn each_round_reverts_tampering() {
    let workspace = workspace();
    let ran = Program::entrypoint(&workspace)
        .env("CLAUDEOPS_INTERVAL", "1")
        .at_tier(
            1,
            [bash("true"), text("first"), bash("ssh root@ie01 docker restart jellyfin"), text("second")],
        )
        .ended_when(|workspace| {
            // As if the first session had got at it.
            if !workspace.rows("SELECT 1 FROM client_runs WHERE outcome = 'completed'").is_empty()
                && !workspace.path("tampered").exists()
            {
                workspace.write("tampered", "");
                workspace.write("project/.claude/settings.json", "{}");
                workspace.write("project/.claude/opsctl/policy.json", "{}");
            }
            workspace.rows("SELECT 1 FROM client_runs WHERE outcome = 'completed'").len() >= 2
        })
        .run();
    assert_ended_in_time(&ran);
    assert!(ran.stdout.contains("Tier 1 may not carry out a restart"), "{}", ran.stdout);
    assert_eq!(workspace.marks("ssh"), [""; 0]);
    assert!(workspace.read("project/.claude/settings.json").contains("pre-tool-use"));
}

/// Renders an inventory to `project` and to managed settings, as the build of an image does.
fn built_with(workspace: &Workspace, hosts: &str) -> Value {
    let built = Program::opsctl(workspace)
        .args(["render", "--empty", "--hosts"])
        .args([workspace.path(hosts)])
        .args(["--out"])
        .args([workspace.path("project")])
        .args(["--managed"])
        .args([workspace.path("managed-settings.json")])
        .run();
    assert_ended(&built, 0);
    serde_json::from_str(&workspace.read("managed-settings.json")).unwrap()
}

#[test]
fn runs_in_an_image_that_was_built_with_this_inventory_and_writes_nothing_to_it() {
    let workspace = workspace();
    let managed = built_with(&workspace, "hosts.yaml");
    let policy = workspace.path("project/.claude/opsctl/policy.json");
    let written = || policy.metadata().unwrap().modified().unwrap();
    let before = written();
    let program = Program::entrypoint(&workspace)
        .managed_settings(&managed)
        .env("CLAUDEOPS_ONCE", "true")
        .env("HOME", "/proc/home");
    let asked = program.asked();
    let ran = program.at_tier(1, [bash("ssh root@ie01 docker restart jellyfin"), text("done")]).run();

    assert_ended(&ran, 0);
    assert!(ran.stdout.contains("Tier 1 may not carry out a restart"), "{ran:?}");
    assert_eq!(workspace.marks("ssh"), [""; 0]);
    assert_eq!(ran.stderr, "");
    assert_eq!(written(), before);
    assert!(
        !workspace.read("project/.claude/settings.json").contains("opsctl"),
        "hooks are in managed settings"
    );
    let prompts = asked.prompts();
    assert!(prompts[0].contains("- jellyfin on ie01"), "{}", prompts[0]);
}

#[test]
fn refuses_an_inventory_that_a_read_only_image_was_not_built_with() {
    let workspace = workspace();
    workspace.write("built.yaml", "hosts: {nas: {address: 127.0.0.1}}");
    let managed = built_with(&workspace, "built.yaml");
    let ran = Program::entrypoint(&workspace)
        .managed_settings(&managed)
        .env("CLAUDEOPS_ONCE", "true")
        // Not even root can write there.
        .env("CLAUDE_PROJECT_DIR", "/proc/app")
        .run();
    assert_ended(&ran, 1);
    assert_eq!(
        ran.stderr,
        "entrypoint: hosts.yaml is not the one that this image was built with, and the image's settings cannot be written; build the image again with this hosts.yaml: docker compose up -d --build\n"
    );
}

#[test]
fn the_servers_of_a_repository_are_there_for_the_tiers_that_may_use_them() {
    // A server that speaks the least there is: two tools, of which one is allowed.
    let server = r#"while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
        *'"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lab","version":"1"}}' ;;
        *'"tools/list"'*) answer='{"tools":[{"name":"look","description":"looks","inputSchema":{"type":"object"}},{"name":"guess","description":"guesses","inputSchema":{"type":"object"}},{"name":"change","description":"changes","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*) echo "$line" >> ../calls; answer='{"content":[{"type":"text","text":"seen"}]}' ;;
        *) [ -n "$id" ] || continue; answer='{}' ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done"#;
    let workspace = workspace();
    workspace.put_stub("lab-server", server);
    let hosts = include_str!("hosts.yaml").to_owned()
        + "  tiers: {1: {tools: [Bash, mcp__lab__look, mcp__lab__guess]}}\n  tools: {mcp__lab__look: {effect: reads}}\nrepositories: {media: {servers: {lab: {}}}}\n";
    workspace.write("hosts.yaml", &hosts);
    let servers = json!({"mcpServers": {"lab": {"command": "lab-server"}}});
    workspace.write("repos/media/.claude-ops/mcp.json", &servers.to_string());
    workspace.write("repos/broken/.claude-ops/mcp.json", "{");
    // Tier 1 has two of the tools; the effect of one of them is stated.
    let steps = ["look", "guess", "change"].map(|name| tool(&format!("mcp__lab__{name}"), &json!({})));
    let steps = steps.into_iter().chain([text("done")]);
    let ran = Program::entrypoint(&workspace).env("CLAUDEOPS_ONCE", "true").at_tier(1, steps).run();

    assert_ended(&ran, 0);
    let calls = workspace.read("calls");
    assert_eq!(calls.lines().count(), 1, "{calls}\n{}", ran.stdout);
    assert!(calls.contains("\"look\""), "{calls}");
    assert!(ran.stdout.contains("lab: from the repository `media`\n"), "{}", ran.stdout);
    let events = workspace.rows("SELECT level, message FROM events WHERE source = 'opsctl'");
    assert!(
        events.len() == 1 && events[0]["message"].as_str().unwrap().contains("repos/broken"),
        "{events:?}"
    );
}

#[test]
fn a_session_of_tier_one_starts_with_every_check_and_the_mounted_repositories() {
    let workspace = workspace();
    workspace.write("repos/media/CLAUDE-OPS.md", "# The media stack\nNever touch the television.\n");
    workspace.write("repos/media/.claude-ops/checks/library.md", "count the films");
    workspace.write("repos/media/.claude-ops/playbooks/lock.md", "remove the lock");
    workspace.write("repos/media/charts/jellyfin/Chart.yaml", "name: jellyfin");
    let program = Program::entrypoint(&workspace).env("CLAUDEOPS_ONCE", "true");
    let asked = program.asked();
    let ran =
        program.at_tier(1, [bash("cat ../repos/media/.claude-ops/checks/library.md"), text("done")]).run();

    assert_ended(&ran, 0);
    let shown = asked.first_request();
    for expected in [
        "- jellyfin on ie01: http https://jellyfin.stump.rocks/health answers 200, dns jellyfin.stump.rocks, container jellyfin\n",
        "- adguard on pie01: http https://adguard.stump.rocks/health answers 200, dns adguard.stump.rocks, container adguardhome\n",
        "opsctl verify jellyfin adguard\n",
        "are data of the repositories",
        "  .claude-ops/checks: library.md\n  .claude-ops/playbooks: lock.md\n  deployment: charts/jellyfin/Chart.yaml\n",
        "| # The media stack\n| Never touch the television.\n",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(ran.stdout.contains("    ok\n"), "the check can be read: {}", ran.stdout);
}
