//! `opsctl cooldown`, `events`, `status` and `prune`: the ledger by hand.

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, denied, passes};

const HOSTS: &str = "hosts: {pie01: {address: 127.0.0.1}}\n\
    services: {adguard: {host: pie01, containers: [adguardhome], units: [AdGuardHome.service], projects: [dns]}}\n";

fn ok(run: &Run) -> &str {
    assert_eq!(run.code, Some(0), "{run:?}");
    &run.stdout
}

fn cooldown(sandbox: &Sandbox, arguments: &[&str]) -> Run {
    sandbox.opsctl(&[&["cooldown"], arguments].concat(), b"")
}

fn shown(sandbox: &Sandbox, service: &str) -> Value {
    let json: Value = serde_json::from_str(ok(&cooldown(sandbox, &["show", service, "--json"]))).unwrap();
    json["services"][0].clone()
}

#[test]
fn what_was_done_by_hand_counts_like_what_the_agent_did() {
    let sandbox = Sandbox::new();
    ok(&cooldown(&sandbox, &["record", "jellyfin"]));
    let run = cooldown(&sandbox, &["record", "jellyfin", "--failed", "--json"]);
    let json: Value = serde_json::from_str(ok(&run)).unwrap();
    let restart = &json["services"][0]["restart"];
    assert_eq!(
        (&restart["used"], &restart["limit"], &restart["window"]),
        (&json!(2), &json!(2), &json!("4h"))
    );
    let reason = denied(&sandbox.before("t1", "docker restart jellyfin"));
    assert!(reason.contains(restart["next_allowed"].as_str().unwrap()), "{reason} {restart}");
    ok(&cooldown(&sandbox, &["record", "jellyfin", "--kind", "redeployment"]));
    denied(&sandbox.before("t2", "ansible-playbook redeploy-jellyfin.yml"));
    assert_eq!(
        sandbox.sql("SELECT action_type, success FROM cooldown_actions ORDER BY id"),
        "restart|1\nrestart|0\nredeployment|1"
    );
}

#[test]
fn an_action_of_the_past_is_recorded_at_its_time() {
    let sandbox = Sandbox::new();
    let at = (Utc::now() - TimeDelta::hours(3)).to_rfc3339_opts(SecondsFormat::Secs, true);
    ok(&cooldown(&sandbox, &["record", "jellyfin", "--at", &at]));
    assert_eq!(shown(&sandbox, "jellyfin")["restart"]["entries"], json!([at]));
    let run = cooldown(&sandbox, &["record", "jellyfin", "--at", "yesterday"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let run = cooldown(&sandbox, &["record", ""]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions"), "1");
}

#[test]
fn every_name_in_hosts_yaml_stands_for_its_service() {
    for name in ["adguard", "adguardhome", "AdGuardHome", "AdGuardHome.service", "dns"] {
        let sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", HOSTS);
        ok(&cooldown(&sandbox, &["record", name]));
        assert_eq!(sandbox.sql("SELECT service FROM cooldown_actions"), "adguard", "{name}");
        assert_eq!(shown(&sandbox, name)["service"], "adguard");
        ok(&cooldown(&sandbox, &["reset", name]));
        assert_eq!(shown(&sandbox, "adguard")["restart"]["used"], 0, "{name}");
    }
}

#[test]
fn a_reset_clears_ledger_reservations_and_file_and_keeps_the_record() {
    let sandbox = Sandbox::new();
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    passes(&sandbox.before("t2", "docker restart jellyfin"));
    denied(&sandbox.before("t3", "docker restart jellyfin"));
    ok(&cooldown(&sandbox, &["reset", "jellyfin"]));
    assert_eq!(shown(&sandbox, "jellyfin")["restart"]["used"], 0);
    assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions"), "1");
    passes(&sandbox.before("t4", "docker restart jellyfin"));
    passes(&sandbox.before("t5", "docker restart jellyfin"));
    denied(&sandbox.before("t6", "docker restart jellyfin"));
}

#[test]
fn a_statement_about_a_service_is_shown_and_clears_nothing() {
    let sandbox = Sandbox::new();
    ok(&cooldown(&sandbox, &["record", "jellyfin"]));
    let steps = [
        ("a", "healthy", 1),
        ("b", "unhealthy", 0),
        ("c", "healthy", 1),
        ("d", "healthy", 2),
        ("e", "healthy", 3),
    ];
    for (session, verb, streak) in steps {
        sandbox.hook("session-start", &json!({"session_id": session, "cwd": "/app", "source": "startup"}));
        let variables = [("CLAUDE_CODE_SESSION_ID", session)];
        let run = sandbox.command_with(&["cooldown", verb, "jellyfin"], &variables);
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        assert_eq!(shown(&sandbox, "jellyfin")["restart"]["used"], 1, "{verb}");
        let file: Value = serde_json::from_str(&sandbox.read("cooldown.json")).unwrap();
        assert_eq!(file["services"]["jellyfin"]["consecutive_healthy"], streak, "{verb}");
    }
}

/// A service that opsctl finds healthy, with one restart.
fn healthy_service() -> Sandbox {
    let sandbox = Sandbox::new();
    let hosts = "services: {jellyfin: {health: none, dns: none, guests: [vm], check: {command: ['true'], where: local}}}";
    sandbox.write("hosts.yaml", hosts);
    ok(&cooldown(&sandbox, &["record", "jellyfin"]));
    sandbox
}

/// `opsctl verify` in a session that has begun, with all earlier checks `ago`.
fn verified(sandbox: &Sandbox, session: &str, ago: &str) {
    sandbox.sql(&format!("UPDATE service_checks SET at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-{ago}')"));
    let input = json!({"session_id": session, "cwd": "/app", "source": "startup"});
    sandbox.hook("session-start", &input);
    let run = sandbox.command_with(&["verify", "jellyfin"], &[("CLAUDE_CODE_SESSION_ID", session)]);
    assert_eq!(run.status.code(), Some(0), "{run:?}");
}

#[test]
fn two_verifications_in_two_sessions_half_an_hour_apart_clear_the_counters() {
    let sandbox = healthy_service();
    for (session, ago, used) in [
        ("one", "0 minutes", 1),
        ("one", "40 minutes", 1),
        ("two", "29 minutes", 1),
        ("three", "31 minutes", 0),
    ] {
        verified(&sandbox, session, ago);
        assert_eq!(shown(&sandbox, "jellyfin")["restart"]["used"], used, "{session}, {ago}");
    }
    let file: Value = serde_json::from_str(&sandbox.read("cooldown.json")).unwrap();
    assert_eq!(file["services"]["jellyfin"]["consecutive_healthy"], 0);
    assert_eq!(file["services"]["jellyfin"]["restart_timestamps"], json!([]));
}

#[test]
fn the_verification_before_a_session_ends_is_a_check_that_counts() {
    let sandbox = healthy_service();
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    for event in ["session-start", "stop"] {
        let input = json!({"session_id": "sess-abc-123", "cwd": "/app", "source": "startup"});
        assert_eq!(sandbox.hook(event, &input).code, Some(0), "{event}");
    }
    assert_eq!(sandbox.sql("SELECT count(*) FROM verified_checks"), "1");
    assert_eq!(shown(&sandbox, "jellyfin")["restart"]["used"], 2);
}

#[test]
fn a_restart_between_two_verifications_keeps_the_counters() {
    let sandbox = healthy_service();
    verified(&sandbox, "one", "0 minutes");
    sandbox.sql("UPDATE service_checks SET at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-40 minutes')");
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    verified(&sandbox, "two", "40 minutes");
    assert_eq!(shown(&sandbox, "jellyfin")["restart"]["used"], 2);
}

#[test]
fn a_reservation_before_a_reset_does_not_count_and_a_later_one_does() {
    let sandbox = Sandbox::new();
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    ok(&cooldown(&sandbox, &["reset", "jellyfin"]));
    assert_eq!(shown(&sandbox, "jellyfin")["restart"]["used"], 0);
    passes(&sandbox.before("t2", "docker restart jellyfin"));
    assert_eq!(shown(&sandbox, "jellyfin")["restart"]["used"], 1);
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    assert_eq!(shown(&sandbox, "jellyfin")["restart"]["used"], 2);
}

#[test]
fn events_and_status_read_the_ledger_and_create_none() {
    let sandbox = Sandbox::new();
    assert_eq!(ok(&sandbox.opsctl(&["events"], b"")), "no events\n");
    ok(&sandbox.opsctl(&["status", "--json"], b""));
    assert!(!sandbox.has_ledger());
    sandbox.after("t1", "docker restart jellyfin");
    for limit in ["1", "4294967295"] {
        let run = sandbox.opsctl(&["events", "--limit", limit, "--json"], b"");
        let json: Value = serde_json::from_str(ok(&run)).unwrap();
        assert_eq!(json["events"][0]["message"], "Container restarted: docker restart jellyfin");
    }
    assert_eq!(ok(&sandbox.opsctl(&["events", "--limit", "0"], b"")), "no events\n");
    let run = sandbox.opsctl(&["status", "--json"], b"");
    let json: Value = serde_json::from_str(ok(&run)).unwrap();
    assert_eq!(json["services"][0]["restart"]["used"], 1);
    assert_eq!(json["events"][0]["level"], "warning");
    assert!(ok(&sandbox.opsctl(&["status"], b"")).contains("jellyfin: 1/2 restarts (4h)"));
}

#[test]
fn pruning_keeps_what_still_counts() {
    let sandbox = Sandbox::new();
    ok(&cooldown(&sandbox, &["record", "jellyfin"]));
    ok(&cooldown(&sandbox, &["reset", "jellyfin"]));
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    sandbox.sql(
        "INSERT INTO events (level, message, created_at) VALUES ('info', 'old', datetime('now', '-100 days')),
             ('info', 'old', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-100 days')), ('info', 'new', datetime('now', '-80 days'));
         INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier)
             VALUES ('jellyfin', 'restart', datetime('now', '-100 days'), TRUE, 2), ('jellyfin', 'restart', datetime('now', '-80 days'), TRUE, 2);
         INSERT INTO hook_actions (id, service, kind, verb, counts, state, reserved_at)
             VALUES (-1, 'jellyfin', 'restart', 'restart', TRUE, 'reserved', '2020-01-01T00:00:00Z');
         INSERT INTO budget_resets (service, at, why) VALUES ('sonarr', '2020-01-01T00:00:00Z', 'reset'),
             ('sonarr', '2020-01-02T00:00:00Z', 'reset')",
    );
    let run = sandbox.opsctl(&["prune", "--keep", "90d"], b"");
    let done = ok(&run);
    assert!(done.starts_with("5 rows deleted; no step held the ledger for more than "), "{done}");
    assert_eq!(
        sandbox.sql(
            "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM cooldown_actions),
                    (SELECT count(*) FROM hook_actions), (SELECT count(*) FROM budget_resets)"
        ),
        "1|2|1|2"
    );
    passes(&sandbox.before("t2", "docker restart jellyfin"));
    denied(&sandbox.before("t3", "docker restart jellyfin"));
    let run = sandbox.opsctl(&["prune", "--keep", "23h"], b"");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("shorter than a budget window of 24h"), "{run:?}");
}

#[test]
fn pruning_without_a_ledger_reports_it_and_creates_none() {
    let sandbox = Sandbox::new();
    let run = sandbox.opsctl(&["prune", "--keep", "90d"], b"");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no ledger at "), "{run:?}");
    assert!(!sandbox.has_ledger());
}

#[test]
fn events_are_found_by_service_level_session_and_time() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", HOSTS);
    sandbox.after("t1", "docker restart adguardhome");
    sandbox.after("t2", "docker compose stop jellyfin");
    sandbox.sql(
        "INSERT INTO events (session_id, level, message, created_at) VALUES ('old', 'info', 'old', datetime('now', '-3 hours'))",
    );
    for (arguments, expected) in [
        (&["--service", "adguardhome"][..], &["Container restarted: docker restart adguardhome"][..]),
        (&["--level", "critical"], &["Compose service stopped: docker compose stop jellyfin"]),
        (&["--session", "old"], &["old"]),
        (&["--session", "old", "--since", "4h"], &["old"]),
        (&["--session", "old", "--since", "2h"], &[]),
        (&["--level", "info", "--limit", "0"], &[]),
    ] {
        let run = sandbox.opsctl(&[&["events", "--json"], arguments].concat(), b"");
        let json: Value = serde_json::from_str(ok(&run)).unwrap();
        let messages: Vec<&str> = json["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["message"].as_str().unwrap())
            .collect();
        assert_eq!(messages, expected, "{arguments:?}");
    }
    let run = sandbox.opsctl(&["events", "--session", "old", "--relative"], b"");
    assert!(run.stdout.lines().nth(1).unwrap().starts_with("3h00m ago  info   -        old"), "{run:?}");
}

#[test]
fn events_are_followed_as_they_are_written() {
    let sandbox = Sandbox::new();
    sandbox.after("t1", "docker restart first");
    let mut follow = sandbox.command(&["events", "--follow", "--json"]);
    let mut follow = follow.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(follow.stdout.take().unwrap()));
    let mut next = || {
        let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        event["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(next(), "Container restarted: docker restart first");
    for service in ["second", "third"] {
        sandbox.after(service, &format!("docker restart {service}"));
        assert_eq!(next(), format!("Container restarted: docker restart {service}"));
    }
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn denials_are_among_the_events() {
    let sandbox = Sandbox::new();
    sandbox.after("t1", "docker restart jellyfin");
    sandbox.before("t2", "docker restart $(docker ps -q)");
    let levels = |arguments: &[&str]| {
        let run = sandbox.opsctl(&[&["events", "--json"], arguments].concat(), b"");
        let json: Value = serde_json::from_str(ok(&run)).unwrap();
        let levels = json["events"].as_array().unwrap().iter().map(|event| event["level"].as_str().unwrap());
        levels.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(levels(&[]), "denied warning");
    assert_eq!(levels(&["--level", "denied"]), "denied");
    assert_eq!(levels(&["--level", "warning"]), "warning");
    assert_eq!(levels(&["--limit", "1"]), "denied");
}

#[test]
fn follows_decisions_as_they_are_made() {
    let sandbox = Sandbox::new();
    passes(&sandbox.before("t1", "docker restart first"));
    let mut follow = sandbox.command(&["audit", "--follow"]);
    let mut follow = follow.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(follow.stdout.take().unwrap()));
    let mut next = || lines.next().unwrap().unwrap();
    let line = next();
    assert!(
        line.ends_with(
            " | allow | - | - | - | docker restart first | first: 0/2 restarts (4h) | sess-abc-123"
        ),
        "{line}"
    );
    sandbox.before("t2", "docker restart $(docker ps -q)");
    let line = next();
    assert!(
        line.contains(
            " | deny | forbidden | - | - | docker restart $(docker ps -q) | Forbidden at every tier"
        ),
        "{line}"
    );
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn with_a_limit_of_0_only_new_rows_follow() {
    let sandbox = Sandbox::new();
    sandbox.after("t1", "docker restart first");
    let mut follow = sandbox.command(&["events", "--follow", "--limit", "0", "--json"]);
    let mut follow = follow.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(follow.stdout.take().unwrap()));
    // It may not have started yet; the first row is printed only if it was written before.
    let mut services = (0..).map(|n| format!("service{n}"));
    let first = std::thread::scope(|scope| {
        let first = scope.spawn(|| lines.next().unwrap().unwrap());
        while !first.is_finished() {
            let service = services.next().unwrap();
            sandbox.after(&service, &format!("docker restart {service}"));
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        first.join().unwrap()
    });
    assert!(first.contains("docker restart service"), "{first}");
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn a_reader_that_goes_away_ends_what_is_followed() {
    let sandbox = Sandbox::new();
    sandbox.after("t1", "docker restart first");
    for verb in [&["events", "--follow"][..], &["audit", "--follow"], &["status", "--watch"]] {
        let mut follow = sandbox.command(verb);
        let mut follow = follow.stdout(std::process::Stdio::piped()).spawn().unwrap();
        drop(follow.stdout.take());
        sandbox.before("t2", "docker restart $(docker ps -q)");
        sandbox.after("t2", "docker restart second");
        assert_eq!(follow.wait().unwrap().code(), Some(0), "{verb:?}");
    }
}

#[test]
fn status_shows_what_needs_attention_and_no_colours_in_a_pipe() {
    let sandbox = Sandbox::new();
    assert!(!ok(&sandbox.opsctl(&["status"], b"")).contains("things need attention"));
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
        passes(&sandbox.after(id, "docker restart jellyfin"));
    }
    sandbox.sql(
        "INSERT INTO notices (key, created_at, level, title, body, format, tags, state) VALUES
             ('verify/x', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'critical', 'x is down\u{1b}[31m', '', 'text', '', 'failed')",
    );
    let text = ok(&sandbox.opsctl(&["status"], b"")).to_owned();
    assert!(text.contains("3 things need attention\n  2"), "{text}");
    assert!(text.contains(" | x is down [31m\n  1 notice not delivered; `opsctl notify`\n"), "{text}");
    assert!(text.contains("  jellyfin: 2/2 restarts (4h)") && text.contains(" (in 3h59m)\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let json: Value = serde_json::from_str(ok(&sandbox.opsctl(&["status", "--json"], b""))).unwrap();
    assert_eq!((&json["undelivered_notifications"], &json["guard_failures"]), (&json!(1), &json!(0)));
    assert!(json["problems"][0]["title"].as_str().unwrap().starts_with("x is down"));
    let coloured = sandbox.with("CLICOLOR_FORCE", "1");
    assert!(ok(&coloured.opsctl(&["status"], b"")).contains('\u{1b}'));
    let plain = coloured.with("NO_COLOR", "1").with("CLICOLOR_FORCE", "0");
    assert!(!ok(&plain.opsctl(&["status"], b"")).contains('\u{1b}'));
}
