//! Rights of roles, as `opsctl db grant` gives them, and what `opsctl doctor` says of a server.

use serde_json::json;

use crate::database_server::{DatabaseServer, PASSWORD};
use crate::sandbox::on_file::Sandbox;
use crate::sandbox::{of_any_event, passes};

const HISTORY: [&str; 20] = [
    "notices",
    "notice_attempts",
    "notice_deliveries",
    "service_checks",
    "verified_checks",
    "allowed_requests",
    "events",
    "cooldown_actions",
    "hook_decisions",
    "hook_times",
    "hook_settled",
    "recorded_actions",
    "recorded_events",
    "budget_resets",
    "verifications",
    "api_requests",
    "question_answers",
    "grants",
    "grant_uses",
    "opsctl_migrations",
];

fn agent(url: &str) -> Sandbox {
    Sandbox::new().with("CLAUDEOPS_DB_URL", url).with("CLAUDEOPS_AGENT", "nas")
}

/// The URL of a role that has been given what `opsctl db grant` prints.
fn granted(server: &DatabaseServer) -> String {
    let owner = agent(&server.database("ops"));
    server.psql("ops", &format!("CREATE ROLE nas LOGIN PASSWORD '{}'", PASSWORD.replace('\'', "''")));
    // Twice, as after an upgrade.
    for _ in 0..2 {
        let printed = owner.opsctl(&["db", "grant", "--role", "nas"], b"");
        passes_with_text(&printed);
        server.psql("ops", &printed.stdout);
    }
    server.url("nas", PASSWORD, "ops")
}

fn passes_with_text(run: &crate::sandbox::Run) {
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
}

#[test]
fn a_granted_role_is_enough_for_an_agent_and_changes_no_history() {
    let server = DatabaseServer::new();
    let url = granted(&server);
    let agent = agent(&url).with("CLAUDE_SESSION_MODE", "background");
    agent.write(
        "hosts.yaml",
        "services:\n  jellyfin: {health: {command: 'true'}}\npolicy: {restart: {limit: 2, window: 1h}}\n",
    );
    let session = of_any_event();
    let quiet = |event: &str| {
        let run = agent.hook(event, &session);
        assert!([Some(0), Some(2)].contains(&run.code), "{event}: {run:?}");
        for word in ["denied", "ledger", "permission"] {
            assert!(!run.stderr.contains(&format!("{word} ")) || run.code == Some(2), "{event}: {run:?}");
        }
    };
    for event in ["session-start", "user-prompt-submit", "session-state", "subagent-start"] {
        quiet(event);
    }
    for id in ["t1", "t2"] {
        passes(&agent.before(id, "docker restart jellyfin"));
        passes(&agent.after(id, "docker restart jellyfin"));
    }
    assert_eq!(agent.before("t3", "docker restart jellyfin").code, Some(2));
    for event in
        ["post-tool-batch", "subagent-stop", "notification", "stop", "stop", "stop-failure", "session-end"]
    {
        quiet(event);
    }
    for verb in [
        &["cooldown", "show", "jellyfin"][..],
        &["cooldown", "record", "jellyfin"],
        &["cooldown", "healthy", "jellyfin"],
        &["cooldown", "unhealthy", "jellyfin"],
        &["events"],
        &["events", "--json"],
        &["status", "--no-hosts"],
        &["audit"],
        &["stats"],
        &["suggest"],
        &["approvals"],
        &["metrics"],
        &["sessions"],
        &["report", "--html", "-", "--no-hosts"],
        &["explain", "docker restart jellyfin"],
    ] {
        let run = agent.opsctl(verb, b"");
        assert_eq!(run.code, Some(0), "{verb:?}: {run:?}");
        assert!(!run.stderr.contains("ledger"), "{verb:?}: {run:?}");
    }
    for table in HISTORY {
        for statement in [
            format!("DELETE FROM {table}"),
            format!("TRUNCATE {table}"),
            format!("DROP TABLE {table}"),
            format!("ALTER TABLE {table} ADD COLUMN x TEXT"),
        ] {
            let refusal = server.refusal("nas", "ops", &statement);
            assert!(
                refusal.contains("permission denied") || refusal.contains("must be owner"),
                "{statement}: {refusal}"
            );
        }
    }
    for statement in [
        "UPDATE events SET message = ''",
        "UPDATE cooldown_actions SET timestamp = now() - interval '1 day'",
        "UPDATE hook_actions SET service = 'x'",
        "UPDATE hook_actions SET reserved_at = now() - interval '1 day'",
        "UPDATE hook_actions SET reserved_at = now()",
        "INSERT INTO budget_resets (service, at, why) VALUES ('jellyfin', now(), 'reset')",
        "INSERT INTO verified_checks VALUES (1)",
        "UPDATE service_checks SET healthy = TRUE",
        "DELETE FROM service_checks",
        "UPDATE allowed_requests SET at = now()",
        "UPDATE notices SET state = 'delivered'",
        "DELETE FROM notices",
        "INSERT INTO notice_deliveries VALUES (1, now(), 'delivered', NULL)",
        "UPDATE notice_attempts SET state = 'sent'",
        "UPDATE hook_decisions SET verdict = 'allow'",
        "UPDATE questions SET command = 'x'",
        "UPDATE hook_settled SET actions = ''",
        "UPDATE recorded_actions SET session_id = NULL",
        "UPDATE budget_resets SET last_action = 0",
        "INSERT INTO question_answers VALUES (1, 'approve', 'x', now(), now(), NULL, '')",
        "INSERT INTO grants (service) VALUES ('x')",
        "SELECT * FROM desk_logins",
        "CREATE TABLE x (y INTEGER)",
    ] {
        let refusal = server.refusal("nas", "ops", statement);
        assert!(refusal.contains("permission denied"), "{statement}: {refusal}");
    }
    assert_eq!(server.psql("ops", "SELECT count(*) FROM cooldown_actions"), "3");
}

/// Two verifications of a healthy service, in two sessions, forty minutes apart.
fn verified_twice(sandbox: &Sandbox, server: &DatabaseServer) {
    for session in ["one", "two"] {
        sandbox.hook("session-start", &json!({"session_id": session, "cwd": "/app", "source": "startup"}));
        server.psql("ops", "UPDATE service_checks SET at = at - interval '40 minutes'");
        let run = sandbox.command_with(&["verify", "jellyfin"], &[("CLAUDE_CODE_SESSION_ID", session)]);
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        assert_eq!(String::from_utf8_lossy(&run.stderr), "", "{run:?}");
    }
}

#[test]
fn only_the_role_of_guards_clears_budgets_and_records_deliveries() {
    let server = DatabaseServer::new();
    let url = granted(&server);
    server.psql("ops", &format!("CREATE ROLE keeper LOGIN PASSWORD '{}'", PASSWORD.replace('\'', "''")));
    let owner = agent(&server.url("postgres", PASSWORD, "ops"));
    let printed = owner.opsctl(&["db", "grant", "--role", "nas", "--guard", "keeper"], b"");
    passes_with_text(&printed);
    server.psql("ops", &printed.stdout);
    let (agent, guard) = (agent(&url), agent(&server.url("keeper", PASSWORD, "ops")));
    for sandbox in [&agent, &guard] {
        sandbox.write(
            "hosts.yaml",
            "services: {jellyfin: {health: none, dns: none, guests: [vm], check: {command: ['true'], where: local}}}",
        );
    }
    for id in ["t1", "t2"] {
        passes(&agent.before(id, "docker restart jellyfin"));
        passes(&agent.after(id, "docker restart jellyfin"));
    }
    server.psql("ops", "UPDATE hook_actions SET reserved_at = reserved_at - interval '2 hours', settled_at = settled_at - interval '2 hours'");
    verified_twice(&agent, &server);
    assert_eq!(agent.before("t3", "docker restart jellyfin").code, Some(2));
    let reset = agent.opsctl(&["cooldown", "reset", "jellyfin"], b"");
    assert!(reset.code == Some(1) && reset.stderr.contains("permission denied"), "{reset:?}");
    assert_eq!(server.psql("ops", "SELECT count(*) FROM verified_checks"), "0");
    verified_twice(&guard, &server);
    assert_eq!(server.psql("ops", "SELECT why FROM budget_resets"), "healthy");
    passes(&agent.before("t4", "docker restart jellyfin"));

    server.psql(
        "ops",
        "INSERT INTO notices (key, created_at, level, title, body, format, tags, state)
             VALUES ('k', now(), 'info', 't', 'b', 'text', '', 'pending')",
    );
    let bin = tempfile::tempdir().unwrap();
    let apprise = bin.path().join("apprise");
    std::fs::write(&apprise, "#!/bin/sh\ncat >/dev/null\necho sent >> \"$CLAUDEOPS_STATE_DIR/sent\"\n")
        .unwrap();
    std::fs::set_permissions(&apprise, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    let states = [&agent, &agent, &guard, &guard].map(|sandbox| {
        let variables = [("CLAUDEOPS_APPRISE_URLS", "json://127.0.0.1:9/"), ("PATH", path.as_str())];
        let run = sandbox.command_with(&["notify", "--flush"], &variables);
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        server.psql("ops", "SELECT state || ' ' || attempts FROM notice_states WHERE key = 'k'")
    });
    assert_eq!(states, ["sent 1", "sent 1", "delivered 2", "delivered 2"]);
}

#[test]
fn a_role_without_rights_reads_the_remedy() {
    let server = DatabaseServer::new();
    let url = granted(&server);
    let agent = agent(&url);
    server.psql("ops", "REVOKE INSERT ON hook_decisions FROM nas");
    let run = agent.before("t1", "docker restart jellyfin");
    assert!(run.stderr.contains("permission denied") && run.stderr.contains("opsctl db grant"), "{run:?}");
    let doctor = agent.opsctl(&["doctor", "--only", "ledger"], b"");
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(
        doctor.stdout.contains("lacks rights") && doctor.stdout.contains("INSERT on hook_decisions"),
        "{doctor:?}"
    );
}

#[test]
fn doctor_describes_the_server() {
    let server = DatabaseServer::new();
    let url = granted(&server);
    let ledger = |url: &str| agent(url).opsctl(&["doctor", "--only", "ledger"], b"").stdout;
    let text = ledger(&url);
    for part in ["ok ", "PostgreSQL ", "round trip ", "clock ", "TLSv1.3", "no standby"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = ledger(&server.url("postgres", PASSWORD, "ops"));
    assert!(text.contains("warning") && text.contains("may change or delete history"), "{text}");
    let text = ledger(&url.replace('?', "?sslmode=disable&"));
    assert!(text.contains("warning") && text.contains("crosses the network without TLS"), "{text}");
    let replica = {
        let mut replica = DatabaseServer::replica_of(&server);
        replica.start();
        replica
    };
    let text = ledger(&replica.url("nas", PASSWORD, "ops"));
    assert!(text.contains("FAILED") && text.contains("is a standby"), "{text}");
    let text = ledger(&url);
    assert!(text.contains("not visible to this role"), "{text}");
    server.psql("ops", "GRANT pg_monitor TO nas");
    let text = ledger(&url);
    assert!(text.contains("standbys: "), "{text}");
    server.psql("ops", "UPDATE opsctl_migrations SET version = 9999 WHERE version = (SELECT max(version) FROM opsctl_migrations)");
    assert!(ledger(&url).contains("a later release"));
    let text = ledger(&server.database("empty"));
    assert!(text.contains("FAILED") && text.contains("version 0 of its tables"), "{text}");
}

#[test]
fn without_a_server_the_verb_states_the_remedy() {
    for verb in [&["db", "grant", "--role", "nas"][..], &["db", "migrate", "--from", "x.db"]] {
        let run = Sandbox::new().opsctl(verb, b"");
        assert_eq!(run.code, Some(1));
        assert_eq!(
            run.stderr,
            "opsctl: the ledger is a file: name a server with CLAUDEOPS_DB_URL, as postgres://ROLE@HOST/DATABASE\n"
        );
    }
}

#[test]
fn the_password_is_shown_nowhere() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let encoded = url.split(':').nth(2).unwrap().split('@').next().unwrap().to_owned();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{PASSWORD}\n")).unwrap();
    let bare = url.replace(&format!(":{encoded}@"), "@");
    let key = "/etc/agent/client.key.txt";
    let by_file = agent(&bare).with("CLAUDEOPS_DB_PASSWORD_FILE", file.path().to_str().unwrap());
    let command = format!("docker restart jellyfin # {PASSWORD} {encoded}");
    let wrong = url.replace(&encoded, "wr0ng-passw0rd");
    for sandbox in [agent(&url), by_file, agent(&wrong), agent(&url.replace("localhost", "192.0.2.1"))] {
        let mut texts = vec![];
        for run in [
            sandbox.before("t1", &command),
            sandbox.after("t1", &command),
            sandbox.opsctl(&["status", "--no-hosts"], b""),
            sandbox.opsctl(&["events"], b""),
            sandbox.opsctl(&["audit", "--json"], b""),
            sandbox.opsctl(&["doctor", "--only", "ledger"], b""),
            sandbox.opsctl(&["db", "migrate", "--from", "/nonexistent.db"], b""),
        ] {
            texts.extend([run.stdout, run.stderr]);
        }
        for name in ["guard-failures.jsonl", "guard-undelivered.jsonl", "ledger-mark.json", "cooldown.json"] {
            texts.extend(std::fs::read_to_string(sandbox.path(name)));
        }
        for text in &texts {
            assert!(!text.contains("wr0ng-passw0rd"), "{text}");
        }
        // Comments of commands are not recorded; the URL is redacted wherever it appears.
        assert!(texts.iter().all(|text| !text.contains(&encoded)), "{texts:?}");
    }
    // Neither the shell nor a tool of the agent reads it.
    let reading = agent(&format!("{bare}&sslkey={key}"))
        .with("CLAUDEOPS_DB_PASSWORD_FILE", file.path().to_str().unwrap());
    for command in [
        format!("cat {}", file.path().display()),
        format!("cat {key}"),
        "echo $CLAUDEOPS_DB_URL".to_owned(),
        format!("echo x > {}", file.path().display()),
    ] {
        let run = reading.before("t1", &command);
        assert_eq!(run.code, Some(2), "{command}: {run:?}");
    }
    let read = json!({"session_id": "s", "tool_name": "Read", "tool_input": {"file_path": file.path()}, "tool_use_id": "t2"});
    assert_eq!(reading.hook("pre-tool-use", &read).code, Some(2));
    // Processes have it in no argument while they run.
    let holder = server.holding("ops", "SELECT pg_advisory_lock(1869640547, 0)");
    let sandbox = agent(&url);
    passes(&sandbox.before("t0", "ls -la"));
    let mut verb = sandbox.command(&["cooldown", "record", "jellyfin"]);
    let mut child =
        verb.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let listed = std::process::Command::new("ps").args(["-ewwo", "args"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("cooldown record jellyfin"));
    assert!(!listed.contains(PASSWORD) && !listed.contains(&encoded));
    drop(holder);
    child.wait().unwrap();
    assert!(!server.log().contains(PASSWORD));
}
