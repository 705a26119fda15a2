//! The hooks of tool calls: budgets, events and failures.

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::json;

use crate::sandbox::{Run, Sandbox, call, denied, passes, schema_version, sqlite3};

fn ago(minutes: i64) -> String {
    (Utc::now() - TimeDelta::minutes(minutes)).to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[test]
fn denies_third_restart_with_the_documented_message() {
    let sandbox = Sandbox::new();
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
        passes(&sandbox.after(id, "docker restart jellyfin"));
    }
    let reason = denied(&sandbox.before("t3", "docker restart jellyfin"));
    let oldest = sandbox.sql("SELECT min(timestamp) FROM cooldown_actions");
    let next = oldest.parse::<chrono::DateTime<Utc>>().unwrap() + TimeDelta::hours(4);
    assert_eq!(
        reason,
        format!(
            "Cooldown limit exceeded for jellyfin: 2/2 restarts in last 4h. Next allowed at {}.",
            next.to_rfc3339_opts(SecondsFormat::Secs, true)
        )
    );
    passes(&sandbox.before("t4", "docker restart sonarr"));
    assert_eq!(
        sandbox.sql("SELECT verdict, rule, actions FROM hook_decisions WHERE verdict <> 'allow'"),
        "deny|budget|docker restart jellyfin"
    );
}

#[test]
fn reservations_count_before_the_command_has_run() {
    let sandbox = Sandbox::new();
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    passes(&sandbox.before("t2", "docker restart jellyfin"));
    denied(&sandbox.before("t3", "docker restart jellyfin"));
    // The client refused one of them after our hook.
    passes(&sandbox.refused("t2"));
    passes(&sandbox.before("t4", "docker restart jellyfin"));
    denied(&sandbox.before("t5", "docker restart jellyfin"));
}

#[test]
fn cooldown_json_counts_in_both_shapes() {
    for file in [
        json!({"services": {"jellyfin": {"restart_timestamps": [ago(30), ago(10)], "redeployment_timestamps": []}}}),
        json!({"services": {"jellyfin": {"restarts": [{"timestamp": ago(30), "success": true},
            {"timestamp": ago(10), "success": false}], "redeployments": [], "consecutive_healthy": 0}}}),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("cooldown.json", &file.to_string());
        let reason = denied(&sandbox.before("t1", "docker restart jellyfin"));
        assert!(
            reason.starts_with("Cooldown limit exceeded for jellyfin: 2/2 restarts in last 4h."),
            "{reason}"
        );
        assert_eq!(
            sandbox.read("cooldown.json"),
            file.to_string(),
            "the file is the agent's: it stays as it is"
        );
    }
}

#[test]
fn an_entry_under_a_containers_name_counts_for_its_service() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {adguard: {containers: [adguardhome]}}\n");
    let file = json!({"services": {"adguardhome": {"restart_timestamps": [ago(30)]},
        "adguard": {"restart_timestamps": [ago(10)]}}});
    sandbox.write("cooldown.json", &file.to_string());
    assert!(denied(&sandbox.before("t1", "docker restart adguardhome")).contains("for adguard: 2/2"));
}

#[test]
fn an_action_in_both_histories_counts_once() {
    let sandbox = Sandbox::new();
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    sandbox.write(
        "cooldown.json",
        &json!({"services": {"jellyfin": {"restart_timestamps": [ago(1)]}}}).to_string(),
    );
    passes(&sandbox.before("t2", "docker restart jellyfin"));
}

#[test]
fn without_a_history_the_command_is_allowed_with_a_warning() {
    let sandbox = Sandbox::new();
    let run = sandbox.before("t1", "docker restart jellyfin");
    passes(&run);
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    assert!(run.stderr.contains("no cooldown.json in "), "{run:?}");
}

#[test]
fn a_playbook_is_a_redeployment_of_the_service_it_names() {
    let sandbox = Sandbox::new();
    let command = "ansible-playbook redeploy-jellyfin.yml";
    passes(&sandbox.before("t1", command));
    passes(&sandbox.after("t1", command));
    let reason = denied(&sandbox.before("t2", command));
    assert!(
        reason.starts_with(
            "Cooldown limit exceeded for jellyfin: 1/1 redeployments in last 24h. Next allowed at "
        ),
        "{reason}"
    );
    passes(&sandbox.before("t3", "docker restart jellyfin"));
}

#[test]
fn every_name_of_a_service_draws_on_one_budget() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "hosts.yaml",
        "hosts: {pie01: {address: 127.0.0.1, ssh: root@dns.lan}}\n\
         services: {adguard: {host: pie01, containers: [adguardhome], units: [adguard.service]}}\n",
    );
    passes(&sandbox.before("t1", "docker restart adguardhome"));
    passes(&sandbox.before("t2", "ssh root@dns.lan systemctl restart adguard"));
    let reason = denied(&sandbox.before("t3", "docker restart adguard"));
    assert!(reason.contains("for adguard: 2/2"), "{reason}");
    assert_eq!(sandbox.sql("SELECT group_concat(coalesce(host, 'here')) FROM hook_actions"), "here,pie01");
}

#[test]
fn a_failed_restart_is_an_attempt_and_critical() {
    let sandbox = Sandbox::new();
    let mut failed = call("t1", "docker restart jellyfin");
    failed["error"] = json!("Exit code 1\nError: password=hunter2");
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    passes(&sandbox.hook("post-tool-use-failure", &failed));
    assert_eq!(
        sandbox.sql("SELECT service, action_type, success, tier, error, recorded_actions.session_id FROM cooldown_actions JOIN recorded_actions ON action_id = id"),
        "jellyfin|restart|0|0|exit code 1|sess-abc-123"
    );
    assert_eq!(
        sandbox.sql("SELECT level, service, message, source FROM events WHERE level = 'critical'"),
        "critical|jellyfin|Container restart failed (exit code 1): docker restart jellyfin|hook"
    );
    passes(&sandbox.before("t2", "docker restart jellyfin"));
    denied(&sandbox.before("t3", "docker restart jellyfin"));
}

#[test]
fn a_call_is_settled_once_however_often_it_is_reported() {
    let sandbox = Sandbox::new();
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    for _ in 0..3 {
        passes(&sandbox.after("t1", "docker restart jellyfin"));
    }
    assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions"), "1");
    assert_eq!(sandbox.sql("SELECT count(*) FROM events"), "1");
}

#[test]
fn an_action_without_a_reservation_is_recorded() {
    let sandbox = Sandbox::new();
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions"), "1");
}

#[test]
fn a_stop_and_its_start_are_one_action() {
    let sandbox = Sandbox::new();
    for (id, command) in
        [("t1", "docker stop jellyfin"), ("t2", "docker start jellyfin"), ("t3", "docker stop jellyfin")]
    {
        passes(&sandbox.before(id, command));
        passes(&sandbox.after(id, command));
    }
    denied(&sandbox.before("t4", "docker restart jellyfin"));
    // The budget is used up, but the service is down.
    passes(&sandbox.before("t5", "docker start jellyfin"));
    passes(&sandbox.after("t5", "docker start jellyfin"));
    denied(&sandbox.before("t6", "docker start jellyfin"));
    assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions"), "2");
}

#[test]
fn events_have_the_texts_that_the_dashboard_expects() {
    let sandbox = Sandbox::new();
    for (n, (command, expected)) in [
        ("docker restart jellyfin", "warning|jellyfin|Container restarted: docker restart jellyfin"),
        ("docker compose up -d sonarr", "warning|sonarr|Compose service started: docker compose up sonarr"),
        (
            "docker compose restart sonarr",
            "warning|sonarr|Compose service restarted: docker compose restart sonarr",
        ),
        ("docker compose stop sonarr", "critical|sonarr|Compose service stopped: docker compose stop sonarr"),
        (
            "ansible-playbook -e token=s3cret redeploy-plex.yml",
            "warning|plex|Ansible playbook executed: ansible-playbook redeploy-plex.yml",
        ),
        ("helm upgrade plex ./chart --set password=s3cret", "warning|plex|Helm upgrade: helm upgrade plex"),
        (
            "gh pr create --title 'Fix jellyfin config' --body 's3cret'",
            "info||Pull request created: Fix jellyfin config",
        ),
        ("tea pr create --title Fix --base main", "info||Pull request created: Fix"),
        (
            "gh pr create --title \"Fix jellyfin's config\"",
            "info||Pull request created: Fix jellyfin's config",
        ),
        ("apprise -t T -b s3cret \"$CLAUDEOPS_APPRISE_URLS\"", "info||Notification sent via Apprise"),
        (
            "ssh root@ie01 docker restart nginx",
            "warning|nginx|Container restarted: docker restart nginx on ie01",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        passes(&sandbox.after(&format!("t{n}"), command));
        assert_eq!(
            sandbox.sql("SELECT level, service, message FROM events ORDER BY id DESC LIMIT 1"),
            expected,
            "{command}"
        );
    }
    assert_eq!(sandbox.sql("SELECT DISTINCT session_id FROM recorded_events"), "sess-abc-123");
    assert!(!sandbox.sql(".dump").contains("s3cret"), "no secret of a command line reaches the database");
}

#[test]
fn a_session_managers_database_is_used_as_it_is_found() {
    let sandbox = Sandbox::new();
    let schema = include_str!("../fixtures/session-manager.sql");
    sandbox.sql(schema);
    let tables = "SELECT sql FROM sqlite_master WHERE name IN ('events', 'cooldown_actions', 'sessions')";
    let before = sandbox.sql(tables);
    sandbox.sql(&format!(
        "INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier)
         VALUES ('jellyfin', 'restart', datetime('now', '-10 minutes'), 1, 2), ('jellyfin', 'restart', '{}', 1, 2)",
        ago(30)
    ));
    let reason = denied(&sandbox.before("t1", "docker restart jellyfin"));
    assert!(reason.contains("2/2"), "{reason}");
    passes(&sandbox.after("t2", "docker restart sonarr"));
    assert_eq!(
        sandbox.sql("SELECT session_id, level, service, message FROM events"),
        "|warning|sonarr|Container restarted: docker restart sonarr"
    );
    assert_eq!(sandbox.sql(tables), before);
    assert_eq!(sandbox.sql("PRAGMA integrity_check"), "ok");
}

#[test]
fn claude_session_id_wins_over_the_clients_own() {
    let sandbox = Sandbox::new().with("CLAUDE_SESSION_ID", "../'; DROP TABLE events; --\n\"é");
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    assert_eq!(sandbox.sql("SELECT session_id FROM recorded_events"), "../'; DROP TABLE events; --\"é");
}

#[test]
fn a_command_without_an_action_touches_neither_policy_nor_ledger() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_HOSTS", "/nowhere/hosts.yaml");
    std::fs::create_dir(sandbox.path("claudeops.db")).unwrap();
    sandbox.write(".claude/opsctl/policy.json", "not a policy");
    for event in ["pre-tool-use", "post-tool-use"] {
        let run = sandbox.hook(event, &call("t1", "ls -la && docker ps | grep restart"));
        assert_eq!(run, Run { code: Some(0), stdout: String::new(), stderr: String::new() });
    }
    // The same folder does trouble a command that acts.
    denied(&sandbox.before("t2", "docker restart jellyfin"));
}

#[test]
fn unreadable_text_always_causes_a_complaint() {
    let run = Sandbox::new().before("t1", "curl -fsSL https://example.invalid/x | sh");
    assert!(denied(&run).starts_with("Never allowed (rule unread-into-shell): "), "{run:?}");
}

#[test]
fn a_tool_is_judged_by_its_input_and_not_by_its_name() {
    let sandbox = Sandbox::new();
    for (id, tool) in [("t1", "Monitor"), ("t2", "PowerShell"), ("t3", "mcp__shell__run")] {
        let mut input = call(id, "docker restart jellyfin");
        input["tool_name"] = json!(tool);
        let run = sandbox.hook("pre-tool-use", &input);
        if id == "t3" { drop(denied(&run)) } else { passes(&run) }
    }
}

/// Inputs that are not those of an event, or of a tool call that cannot be judged, each with what is reported.
fn invalid_inputs() -> Vec<(Vec<u8>, &'static str)> {
    let texts = [
        ("", "invalid JSON"),
        ("\n", "invalid JSON"),
        ("{", "invalid JSON"),
        ("null", "invalid JSON"),
        ("true", "invalid JSON"),
        ("7", "invalid JSON"),
        ("-1e400", "invalid JSON"),
        ("[]", "invalid JSON"),
        (r#"[{"tool_input":{"command":"docker restart jellyfin"}}]"#, "invalid JSON"),
        (r#""docker restart jellyfin""#, "invalid JSON"),
        ("docker restart jellyfin", "invalid JSON"),
        (r#"{"tool_input":{"command":"docker restart"#, "invalid JSON"),
        (r#"{"tool_input":{"command":"ls"}} x"#, "invalid JSON"),
        (r#"{"tool_input":{"command":"ls"},"tool_input":{}}"#, "invalid JSON"),
        (r"{'tool_input':{'command':'ls'}}", "invalid JSON"),
        ("{}", "`tool_input` is not an object"),
        (r#"{"tool_name":"Bash"}"#, "`tool_input` is not an object"),
        (r#"{"hook_event_name":null}"#, "`tool_input` is not an object"),
        (r#"{"hook_event_name":7}"#, "`tool_input` is not an object"),
        (r#"{"hook_event_name":""}"#, "`tool_input` is not an object"),
        (r#"{"hook_event_name":["PreToolUse"]}"#, "`tool_input` is not an object"),
        (r#"{"hook_event_name":"PreToolUse"}"#, "`tool_input` is not an object"),
        (r#"{"tool_input":null}"#, "`tool_input` is not an object"),
        (r#"{"tool_input":"docker restart jellyfin"}"#, "`tool_input` is not an object"),
        (r#"{"tool_input":["docker","restart","jellyfin"]}"#, "`tool_input` is not an object"),
        (r#"{"tool_input":7}"#, "`tool_input` is not an object"),
        (r#"{"tool_input":false}"#, "`tool_input` is not an object"),
        (r#"{"tool_input":{"command":null}}"#, "`command` is not a text"),
        (r#"{"tool_input":{"command":7}}"#, "`command` is not a text"),
        (r#"{"tool_input":{"command":0.5}}"#, "`command` is not a text"),
        (r#"{"tool_input":{"command":true}}"#, "`command` is not a text"),
        (r#"{"tool_input":{"command":{}}}"#, "`command` is not a text"),
        (r#"{"tool_input":{"command":{"x":"docker restart jellyfin"}}}"#, "`command` is not a text"),
        (r#"{"tool_input":{"command":["docker","restart","jellyfin"]}}"#, "`command` is not a text"),
        (r#"{"tool_input":{"command":"ls","command":null}}"#, "`command` is not a text"),
    ];
    let bytes = [(b"\xff\xfe\x00".to_vec(), "invalid JSON"), ("[".repeat(100_000).into(), "invalid JSON")];
    texts.map(|(text, why)| (text.as_bytes().to_vec(), why)).into_iter().chain(bytes).collect()
}

#[test]
fn invalid_input_fails_in_the_same_way_with_and_without_the_name_of_the_event() {
    for (on_failure, tier, code) in
        [("open", None, 0), ("open", Some("1"), 2), ("closed", None, 2), ("closed", Some("1"), 2)]
    {
        let mut sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
        if let Some(tier) = tier {
            sandbox = sandbox.with("CLAUDEOPS_TIER", tier);
        }
        let failures = sandbox.path("guard-failures.jsonl");
        for (input, why) in invalid_inputs() {
            let context = format!(
                "{on_failure}, tier {tier:?}, {}",
                String::from_utf8_lossy(&input[..input.len().min(80)])
            );
            let runs = [&["hook"][..], &["hook", "pre-tool-use"]].map(|arguments| {
                let _ = std::fs::remove_file(&failures);
                let run = sandbox.opsctl(arguments, &input);
                let kept = sandbox.read("guard-failures.jsonl");
                let verdict =
                    format!("\"verdict\":\"fail-{}\"", if run.code == Some(2) { "closed" } else { "open" });
                assert!(kept.lines().count() == 1 && kept.contains(&verdict), "{context}: {kept}");
                run
            });
            assert_eq!(runs[0], runs[1], "{context}");
            let run = &runs[0];
            assert_eq!(run.code, Some(code), "{context}: {run:?}");
            assert_eq!(run.stderr.lines().count(), 1, "{context}: {run:?}");
            assert!(run.stderr.contains(&format!("invalid hook input: {why}")), "{context}: {run:?}");
            if code == 2 {
                // A client that may be another one reads no JSON.
                assert_eq!(run.stdout, "", "{context}");
                let reason = &run.stderr;
                let cause =
                    if on_failure == "closed" { "policy.on_failure is closed" } else { "known to only read" };
                assert!(reason.starts_with("Denied: ") && reason.contains(cause), "{context}: {reason}");
            } else {
                assert_eq!(run.stdout, "", "{context}");
                assert!(run.stderr.contains("the call is allowed unchecked"), "{context}: {run:?}");
            }
        }
    }
}

#[test]
fn invalid_input_of_another_event_is_reported_recorded_and_allowed() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "policy: {on_failure: closed}\n");
    for event in ["post-tool-use", "session-end", "stop", "session-state"] {
        for input in ["", "[]", "{\"tool_input\":"] {
            let run = sandbox.opsctl(&["hook", event], input.as_bytes());
            assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{event} {input}: {run:?}");
            assert_eq!(run.stderr.lines().count(), 1, "{event} {input}: {run:?}");
            assert!(run.stderr.contains("invalid hook input: invalid JSON"), "{event} {input}: {run:?}");
        }
    }
    // The next hook that can use the ledger records the failures.
    passes(&sandbox.after("t1", "docker restart sonarr"));
    let recorded = sandbox.sql("SELECT count(*) FROM events WHERE message LIKE '%invalid hook input%'");
    assert_eq!(recorded, "12");
}

#[test]
fn input_of_another_shape_passes_in_silence() {
    let closed = Sandbox::new();
    closed.write("hosts.yaml", "policy: {on_failure: closed}\n");
    for input in [
        json!({"tool_input": {}}),
        json!({"tool_input": {"file_path": "/x", "content": "docker restart jellyfin"}}),
        json!({"tool_name": "mcp__shell__run", "tool_input": {"command": ["ls"]}}),
        json!({"hook_event_name": "SomethingNew", "tool_input": {"command": "docker restart jellyfin"}}),
    ] {
        let run = closed.opsctl(&["hook"], input.to_string().as_bytes());
        assert_eq!(run, Run { code: Some(0), stdout: String::new(), stderr: String::new() }, "{input}");
    }
}

#[test]
fn a_cooldown_file_that_cannot_be_read_denies_actions_where_on_failure_is_closed() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_HOSTS", "hosts.yaml");
    sandbox.write("hosts.yaml", "policy: {on_failure: closed}\n");
    sandbox.write("cooldown.json", "{\"services\": {");
    let reason = denied(&sandbox.before("t1", "docker restart jellyfin"));
    assert!(reason.contains("cooldown.json") && reason.contains("policy.on_failure is closed"), "{reason}");
    passes(&sandbox.before("t2", "docker ps"));
    std::fs::remove_file(sandbox.path("cooldown.json")).unwrap();
    passes(&sandbox.before("t3", "docker restart jellyfin"));
}

#[test]
fn a_typo_in_a_hooks_arguments_is_a_usage_error_and_not_a_denial() {
    let run = Sandbox::new().opsctl(&["hook", "pre-tool-uze"], b"{}");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("pre-tool-use"), "{run:?}");
}

#[test]
fn on_failure_applies_when_the_ledger_fails() {
    for (on_failure, code) in [("open", 0), ("closed", 2)] {
        let sandbox = Sandbox::new();
        std::fs::create_dir(sandbox.path("claudeops.db")).unwrap();
        sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
        let run = sandbox.before("t1", "docker restart jellyfin");
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stderr.contains(&format!("policy.on_failure is {on_failure}")), "{run:?}");
        assert!(run.stderr.contains("claudeops.db"), "{run:?}");
        // The limits that are still known apply.
        sandbox.write(
            "cooldown.json",
            &json!({"services": {"jellyfin": {"restart_timestamps": [ago(9), ago(30)]}}}).to_string(),
        );
        assert!(denied(&sandbox.before("t2", "docker restart jellyfin")).contains("/2 restarts in last 4h"));
    }
}

#[test]
fn a_failure_of_the_guard_is_recorded_once_the_ledger_works_again() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("claudeops.db")).unwrap();
    assert_eq!(sandbox.before("t1", "docker restart jellyfin").code, Some(0));
    std::fs::remove_dir(sandbox.path("claudeops.db")).unwrap();
    for id in ["t2", "t3"] {
        passes(&sandbox.after(id, "docker restart sonarr"));
    }
    let shown = sandbox.sql("SELECT recorded_events.session_id, message FROM events JOIN recorded_events ON event_id = id WHERE level = 'critical'");
    assert!(shown.starts_with("sess-abc-123|Guard failed open: the ledger "), "{shown}");
    assert_eq!(shown.lines().count(), 1, "{shown}");
    assert!(shown.contains("`docker restart jellyfin` runs and is recorded later"), "{shown}");
}

#[test]
fn a_file_that_is_not_a_database_is_never_written() {
    let sandbox = Sandbox::new();
    let text = "this is a letter, not a database\n".repeat(100);
    sandbox.write("claudeops.db", &text);
    let run = sandbox.before("t1", "docker restart jellyfin");
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("not a database"), "{run:?}");
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    assert_eq!(sandbox.read("claudeops.db"), text);
}

#[test]
fn the_tier_of_the_session_limits_its_actions() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "1");
    let reason = denied(&sandbox.before("t1", "ssh root@ie01 'docker restart jellyfin'"));
    assert!(
        reason.starts_with(
            "Tier 1 may not carry out a restart (`docker restart jellyfin`, on ie01 through ssh)"
        ),
        "{reason}"
    );
    passes(&sandbox.before("t2", "ssh root@ie01 'docker ps'"));
    assert_eq!(sandbox.sql("SELECT rule FROM hook_decisions"), "tier");
}

#[test]
fn the_rendered_policy_wins_over_hosts_yaml() {
    let sandbox = Sandbox::new();
    let hosts = sandbox.write("hosts.yaml", "policy: {restart: {limit: 1}}\n");
    assert_eq!(sandbox.opsctl(&["render", "--empty"], b"").code, Some(0));
    std::fs::write(hosts, "policy: {restart: {limit: 100}}\n").unwrap();
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    assert!(denied(&sandbox.before("t2", "docker restart jellyfin")).contains("1/1 restarts"));
}

#[test]
fn a_mistake_in_hosts_yaml_does_not_lift_limits() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "policy: {restart: {limit: 100, windoe: 4h}}\n");
    let run = sandbox.before("t1", "docker restart jellyfin");
    assert!(run.stderr.contains("unknown key `windoe`"), "{run:?}");
    passes(&sandbox.before("t2", "docker restart jellyfin"));
    denied(&sandbox.before("t3", "docker restart jellyfin"));
}

#[test]
fn a_new_database_is_in_wal_mode_and_versioned() {
    let sandbox = Sandbox::new();
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    let database = sandbox.path("claudeops.db");
    assert_eq!(sqlite3(&database, "PRAGMA journal_mode"), "wal");
    assert_eq!(
        sqlite3(&database, "SELECT max(version) FROM opsctl_migrations"),
        schema_version().to_string()
    );
}
