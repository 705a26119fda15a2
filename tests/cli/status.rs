//! `opsctl status`: hosts, sessions and their cost, the guard's failures, and the width of a terminal.

use std::process::Command;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, denied, passes};

fn homelab() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "hosts.yaml",
        "hosts: {ie01: {address: 127.0.0.1}, attic: {address: 192.0.2.1}}\nservices: {jellyfin: {host: ie01}}\n",
    );
    sandbox.write("cooldown.json", "{}");
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
        passes(&sandbox.after(id, "docker restart jellyfin"));
    }
    sandbox.sql(
        "INSERT INTO client_runs (session_id, tier, model, started_at, outcome, cost_usd, turns, duration_ms) VALUES
             ('old', 3, 'opus', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-2 days'), 'running', NULL, NULL, NULL),
             ('s1', 1, 'haiku', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-2 hours'), 'completed', 0.03125, 12, 41000),
             ('s2', 2, 'sonnet', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 hours'), 'timeout', 0.5, 40, 2700000),
             ('s3', 1, 'haiku', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 minutes'), 'running', NULL, NULL, NULL);
         INSERT INTO hook_decisions (at, verdict, rule, actions, services, budgets, reason) VALUES
             (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'fail-open', 'on_failure', 'docker restart x', 'x', '', 'disk full')",
    );
    sandbox
}

/// Runs in a network with loopback only.
fn status(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let run = sandbox.in_own_network("true", &[&["status"], arguments].concat(), "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    run.stdout
}

#[test]
fn status_shows_hosts_sessions_and_failures() {
    let sandbox = homelab();
    let text = status(&sandbox, &[]);
    for line in [
        "\n3 things need attention\n  1 command could not be checked in the last day; `opsctl audit --rule on_failure`\n",
        "  attic (192.0.2.1) does not answer\n",
        "Z | jellyfin has no restart left\n",
        "hosts:\n  attic (192.0.2.1): unreachable\n  ie01 (127.0.0.1): reachable in ",
        " | tier 1, haiku | running\n",
        " | tier 2, sonnet | timeout | 40 turns | 2700s | $0.500\n",
        " | tier 1, haiku | completed | 12 turns | 41s | $0.031\n",
        " | tier 3, opus | cut off\n",
        "  the last day: 3 sessions, $0.53\n",
        "; next restart 20",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!status(&sandbox, &["--no-hosts"]).contains("hosts:"));
}

#[test]
fn status_without_events_states_it_and_names_a_missing_ledger() {
    let sandbox = Sandbox::new();
    let missing = sandbox.path("claudeops.db");
    let expected = format!("\nevents:\n  no events: there is no ledger at {} yet\n", missing.display());
    let text = status(&sandbox, &[]);
    assert!(text.ends_with(&expected), "{text}");
    assert!(text.contains("\n  Nothing known needs attention: no ledger yet\n"), "{text}");
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    let text = status(&sandbox, &[]);
    assert!(text.ends_with("\nevents:\n  no events\n"), "{text}");
    assert!(text.contains("\n  Nothing needs attention\n"), "{text}");
}

#[test]
fn without_a_ledger_status_shows_what_is_known() {
    for (on_failure, policy) in
        [("open", "actions run, and count as far as"), ("closed", "actions are denied")]
    {
        let sandbox = homelab();
        let yaml = format!("policy: {{on_failure: {on_failure}}}\n{}", sandbox.read("hosts.yaml"));
        sandbox.write("hosts.yaml", &yaml);
        std::fs::rename(sandbox.path("claudeops.db"), sandbox.path("away")).unwrap();
        std::fs::create_dir(sandbox.path("claudeops.db")).unwrap();
        let run = sandbox.in_own_network("true", &["status"], "");
        assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "{run:?}");
        let remedy =
            "cannot be used: it is not a regular file (create its folder and let this user write there";
        assert_eq!(run.stdout.matches(remedy).count(), 1, "{run:?}");
        let policy = format!("  policy.on_failure is {on_failure}: {policy}");
        for part in [
            &policy,
            "jellyfin: 2/2 restarts (4h)",
            "ie01 (127.0.0.1): reachable in",
            "events:\n  not known: ",
        ] {
            assert!(run.stdout.contains(part), "{part}: {run:?}");
        }
        let json = sandbox.in_own_network("true", &["status", "--json"], "");
        let json: Value = serde_json::from_str(&json.stdout).unwrap();
        assert!(json["ledger_error"].as_str().unwrap().contains(remedy), "{json}");
        assert_eq!(
            (&json["on_failure"], &json["services"][0]["restart"]["used"]),
            (&json!(on_failure), &json!(2))
        );
    }
}

#[test]
fn status_report_and_doctor_agree_on_what_needs_attention() {
    let sandbox = homelab();
    let json: Value = serde_json::from_str(&status(&sandbox, &["--json", "--no-hosts"])).unwrap();
    let attention = &json["attention"];
    assert_eq!(
        (&attention["headline"], &attention["look"]),
        (&json!("2 things need attention"), &json!("alert"))
    );
    let first = attention["items"][0]["text"].as_str().unwrap();
    assert_eq!(first, "1 command could not be checked in the last day");
    let report = sandbox.opsctl(&["report", "--no-hosts", "--html", "-"], b"");
    assert!(
        report.stdout.contains("<title>2 things need attention") && report.stdout.contains(first),
        "{report:?}"
    );
    let doctor = sandbox.opsctl(&["doctor", "--only", "attention"], b"");
    let expected =
        format!("warning  attention: 2 things need attention: {first}\n           see `opsctl status`\n");
    assert!(doctor.stdout.contains(&expected), "{doctor:?}");
}

#[test]
fn a_service_whose_last_check_failed_needs_attention_until_one_is_healthy() {
    let sandbox = homelab();
    let headline = |expected: &str| {
        let text = status(&sandbox, &["--no-hosts"]);
        assert!(text.contains(expected), "{text}");
        text.contains("jellyfin is unhealthy; `opsctl verify`")
    };
    assert!(!headline("2 things need attention"));
    assert_eq!(sandbox.opsctl(&["cooldown", "unhealthy", "jellyfin"], b"").code, Some(0));
    assert!(headline("3 things need attention"));
    assert_eq!(sandbox.opsctl(&["cooldown", "healthy", "jellyfin"], b"").code, Some(0));
    assert!(!headline("2 things need attention"));
}

#[test]
fn people_read_times_of_their_zone_and_programs_those_of_utc() {
    let sandbox = homelab().with("TZ", "XYZ-5:45");
    let now = chrono::Utc::now() + chrono::TimeDelta::minutes(5 * 60 + 45);
    for arguments in [&["status", "--no-hosts"][..], &["audit"], &["events"], &["cooldown"]] {
        let run = sandbox.opsctl(arguments, b"");
        assert!(run.stdout.contains("+05:45") && !run.stdout.contains("Z "), "{run:?}");
        let json = sandbox.opsctl(&[arguments, &["--json"]].concat(), b"");
        assert!(!json.stdout.contains("+05:45"), "{json:?}");
    }
    let today = now.format("%Y-%m-%d").to_string();
    let rows = |option: &str| sandbox.opsctl(&["events", option, &today, "--json"], b"").stdout;
    assert!(rows("--since").contains("Container restarted"), "{}", rows("--since"));
}

#[test]
fn json_contains_the_same_data() {
    let sandbox = homelab();
    let json: Value = serde_json::from_str(&status(&sandbox, &["--json"])).unwrap();
    assert_eq!(json["hosts"][0]["state"], "reachable");
    assert_eq!(
        json["hosts"][1],
        json!({"name": "attic", "address": "192.0.2.1", "state": "unreachable", "rtt_ms": null})
    );
    assert_eq!((&json["guard_failures_last_day"], &json["sessions_last_day"]), (&json!(1), &json!(3)));
    assert_eq!(json["cost_usd_last_day"], json!(0.5313));
    let session = &json["sessions"][1];
    assert_eq!(
        (&session["session"], &session["outcome"], &session["tier"]),
        (&json!("s2"), &json!("timeout"), &json!(2))
    );
    let json: Value = serde_json::from_str(&status(&sandbox, &["--json", "--no-hosts"])).unwrap();
    assert_eq!(json["hosts"], json!(null));
}

#[test]
fn on_a_terminal_no_line_is_wider_than_it_and_budgets_are_whole() {
    let sandbox = homelab();
    let opsctl = sandbox.command(&[]);
    let look = |columns: u32| {
        let line =
            format!("stty cols {columns}; ip link set lo up; exec {} status", opsctl.get_program().display());
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--net", "script", "-qec", &line, "/dev/null"])
            .current_dir(sandbox.path(""))
            .env_clear()
            .envs(opsctl.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("NO_COLOR", "1")
            .env("TERM", "xterm")
            .output()
            .expect("a tool is missing: run tests/setup");
        let text = String::from_utf8(output.stdout).unwrap().replace('\r', "");
        assert!(text.contains("jellyfin: 2/2 restarts (4h)"), "{text}");
        text
    };
    for columns in [60, 80, 200] {
        let text = look(columns);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns as usize, "{widest} of {columns}: {text}");
    }
    let narrow = look(60);
    assert!(narrow.contains('…') && narrow.contains("\n      "), "{narrow}");
    let shown = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("(24h); next restart 20") && shown.contains("(in 3h59m)"), "{narrow}");
    assert!(!look(200).contains('…'));
}

#[test]
fn healthy_entries_of_a_hundred_services_and_hosts_are_counted() {
    let sandbox = Sandbox::new();
    let hosts: String = (1..=100).map(|n| format!("  h{n}: {{address: 127.0.0.{n}}}\n")).collect();
    let services: String = (1..=100).map(|n| format!("  s{n}: {{}}\n")).collect();
    sandbox.write(
        "hosts.yaml",
        &format!("hosts:\n  gone: {{address: 192.0.2.1}}\n{hosts}services:\n{services}"),
    );
    sandbox.write("cooldown.json", "{}");
    passes(&sandbox.before("t1", "docker restart s7"));
    let text = status(&sandbox, &[]);
    let expected = "  s7: 1/2 restarts (4h), 0/1 redeployments (24h)\n  99 more services without usage: 0/2 restarts, 0/1 redeployments each\n";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("hosts:\n  gone (192.0.2.1): unreachable\n  100 more hosts: reachable\n"),
        "{text}"
    );
}

#[test]
fn a_watched_status_fits_the_window_and_ends_with_q() {
    let sandbox = homelab();
    let opsctl = sandbox.command(&[]);
    let watched = format!(
        "stty rows 8 cols 80; {} status --watch --no-hosts; stty -a | grep -o ' icanon'",
        opsctl.get_program().display()
    );
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--command", &watched, "/dev/null"])
        .current_dir(sandbox.path(""))
        .envs(opsctl.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("script is missing: run tests/setup");
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"q").unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("opsctl status, ") && shown.contains("`q` ends it"), "{shown}");
    let page = shown.rsplit("\u{1b}[H").next().unwrap();
    assert!(page.contains(" more lines") && page.lines().count() <= 9, "{page}");
    assert!(page.contains(" icanon"), "the terminal has its settings back: {page}");
}

#[test]
fn a_dry_run_is_visible_in_every_view() {
    for (is_on, seen) in [("true", true), ("false", false)] {
        let sandbox = Sandbox::new().with("CLAUDEOPS_DRY_RUN", is_on);
        let says = |arguments: &[&str]| sandbox.opsctl(arguments, b"").stdout;
        assert_eq!(says(&["status", "--no-hosts"]).contains("\n  dry run: nothing is changed\n"), seen);
        assert_eq!(says(&["status", "--no-hosts", "--json"]).contains("\"dry_run\":true"), seen);
        assert_eq!(says(&["doctor", "--only", "dry run"]).ends_with("dry run: nothing is changed\n"), seen);
        assert_eq!(
            says(&["report", "--no-hosts", "--html", "-"]).contains("Dry run: nothing is changed."),
            seen
        );
    }
}

/// A problem of an hour ago.
const PROBLEM: &str = "INSERT INTO notices (key, created_at, level, title, body, format, tags, state, agent)
     VALUES ('KEY', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 hours'), 'critical', 'the problem', 'b', 'text', 'TAGS', 'delivered', 'attic')";

#[test]
fn what_has_passed_needs_no_attention() {
    let run = |agent: &str, tier: u8, outcome: &str| {
        format!(
            "INSERT INTO client_runs (session_id, tier, model, started_at, outcome, agent) VALUES ('later', {tier}, 'haiku', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 minutes'), '{outcome}', '{agent}')"
        )
    };
    let check = |service: &str, healthy: bool| {
        format!(
            "INSERT INTO service_checks (service, healthy, at, agent) VALUES ('{service}', {healthy}, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'attic'); INSERT INTO verified_checks (check_id) VALUES ((SELECT max(id) FROM service_checks))"
        )
    };
    for (key, tags, then, is_left) in [
        ("api/authentication_failed", "api", vec![], true),
        ("api/authentication_failed", "api", vec![run("attic", 1, "completed")], false),
        ("api/authentication_failed", "api", vec![run("attic", 1, "failed")], true),
        ("api/authentication_failed", "api", vec![run("cellar", 1, "completed")], true),
        ("session/2/timeout", "session", vec![run("attic", 1, "completed")], true),
        ("session/2/timeout", "session", vec![run("attic", 2, "completed")], false),
        ("session/3f0c5a6e", "session", vec![run("attic", 3, "completed")], false),
        ("verification/s/jellyfin,db", "verification jellyfin db", vec![check("jellyfin", true)], true),
        (
            "verification/s/jellyfin,db",
            "verification jellyfin db",
            vec![check("jellyfin", true), check("db", false)],
            true,
        ),
        (
            "outcome/s/jellyfin,db",
            "verification jellyfin db",
            vec![check("jellyfin", true), check("db", true)],
            false,
        ),
        ("guard", "guard", vec![run("attic", 1, "completed")], true),
    ] {
        let sandbox = homelab();
        sandbox.sql(&PROBLEM.replace("KEY", key).replace("TAGS", tags));
        for rows in &then {
            sandbox.sql(rows);
        }
        assert_eq!(status(&sandbox, &["--no-hosts"]).contains("| the problem"), is_left, "{key}: {then:?}");
    }
}

#[test]
fn the_denials_of_the_last_day_are_listed_with_their_rules() {
    let sandbox = Sandbox::new();
    denied(&sandbox.before("t1", "docker restart $(docker ps -q)"));
    sandbox.sql(
        "INSERT INTO hook_decisions (at, verdict, rule, actions, services, budgets, reason)
         VALUES ('2026-01-01T00:00:00Z', 'deny', 'tier', '', '', '', 'long ago')",
    );
    let shown = sandbox.opsctl(&["status", "--no-hosts"], b"").stdout;
    let listed: Vec<&str> =
        shown.lines().skip_while(|line| *line != "denied in the last day:").skip(1).collect();
    assert!(
        listed[0].contains(" | forbidden | Forbidden at every tier: ") && listed[1].is_empty(),
        "{shown}"
    );
    let json: Value =
        serde_json::from_str(&sandbox.opsctl(&["status", "--no-hosts", "--json"], b"").stdout).unwrap();
    assert_eq!(json["denials"][0]["rules"], json!(["forbidden"]));
}
