//! The context of a new session, from the files in the state folder.

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::json;

use crate::sandbox::{Run, Sandbox};

const HOSTS: &str = "hosts: {here: {address: 127.0.0.1}, six: {address: '::1'}, lost: {address: lost.invalid}}\n\
                     services: {jellyfin: {host: here}, adguard: {host: here}}\n";

fn context(sandbox: &Sandbox) -> Run {
    let run = sandbox.hook("session-start", &json!({"session_id": "s", "source": "startup"}));
    assert_eq!(run.code, Some(0), "{run:?}");
    run
}

#[test]
fn without_any_state_every_section_is_empty_and_the_state_is_created() {
    let sandbox = Sandbox::new();
    let run = context(&sandbox);
    assert_eq!(run.stdout.matches("  No data available\n").count(), 3, "{}", run.stdout);
    assert_eq!(sandbox.sql("SELECT session_id, state FROM hook_sessions"), "s|active");
    assert!(sandbox.read("cooldown.json").contains("\"services\": {}"));
}

#[test]
fn the_context_contains_budgets_events_and_hosts() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", HOSTS);
    let at = Utc::now() - TimeDelta::minutes(30);
    let time = at.to_rfc3339_opts(SecondsFormat::Secs, true);
    sandbox.write(
        "cooldown.json",
        &json!({"services": {"jellyfin": {"restart_timestamps": [time]}, "nginx": {}}}).to_string(),
    );
    sandbox.after("t1", "docker restart adguard");
    let event = sandbox.sql("SELECT created_at || ' | warning | adguard | ' || message FROM events");
    let run = context(&sandbox);
    let next = (at + TimeDelta::hours(4)).to_rfc3339_opts(SecondsFormat::Secs, true);
    for line in [
        format!("  jellyfin: 1/2 restarts (4h), 0/1 redeployments (24h) — next reset: {next}"),
        "  nginx: 0/2 restarts, 0/1 redeployments".to_owned(),
        format!("  {event}"),
        "  here (127.0.0.1): reachable".to_owned(),
        "  six (::1): reachable".to_owned(),
        "  lost (lost.invalid): unresolved".to_owned(),
    ] {
        assert!(run.stdout.lines().any(|found| found == line), "{line}\n{}", run.stdout);
    }
    assert!(run.stdout.contains("  adguard: 1/2 restarts (4h)"), "{}", run.stdout);
    let headings: Vec<&str> = run.stdout.lines().filter(|line| line.ends_with([':', '='])).collect();
    assert_eq!(
        headings,
        [
            "=== Claude Ops Session Context (auto-injected) ===",
            "Cooldown State:",
            "Recent Events (last 10):",
            "Host Connectivity:",
            "=== End Session Context ===",
        ]
    );
}

#[test]
fn the_last_ten_events_of_all_sources_are_listed_newest_first() {
    let sandbox = Sandbox::new();
    sandbox.sql(include_str!("../fixtures/session-manager.sql"));
    for n in 0..12 {
        let format = if n % 2 == 0 { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%dT%H:%M:%SZ" };
        sandbox.sql(&format!(
            "INSERT INTO events (level, service, message, created_at)
             VALUES ('info', NULL, 'event {n}', strftime('{format}', '2026-03-21', '+{n} hours'))"
        ));
    }
    let run = context(&sandbox);
    let events: Vec<&str> = run.stdout.lines().filter(|line| line.contains(" | info | - | ")).collect();
    let expected: Vec<String> =
        (2..12).rev().map(|n| format!("  2026-03-21T{n:02}:00:00Z | info | - | event {n}")).collect();
    assert_eq!(events, expected);
}

#[test]
fn a_broken_state_folder_still_gives_a_context() {
    let sandbox = Sandbox::new();
    sandbox.write("claudeops.db", &"no database".repeat(100));
    sandbox.write("cooldown.json", "{\"services\": {");
    let run = context(&sandbox);
    assert_eq!(run.stdout.matches("No data available").count(), 3, "{}", run.stdout);
    assert_eq!(run.stderr.lines().count(), 2, "{run:?}");
}

#[test]
fn a_thousand_services_and_hosts_fit_into_the_context() {
    let sandbox = Sandbox::new();
    let services: String = (0..1000).map(|n| format!("  service-{n}: {{host: h{n}}}\n")).collect();
    let address =
        |n: usize| if n % 400 == 7 { "lost.invalid".to_owned() } else { format!("127.0.1.{}", n % 250 + 1) };
    let hosts: String = (0..1000).map(|n| format!("  h{n}: {{address: {}}}\n", address(n))).collect();
    sandbox.write("hosts.yaml", &format!("hosts:\n{hosts}services:\n{services}"));
    let used = |times: &[i64]| {
        let time =
            |minutes| (Utc::now() - TimeDelta::minutes(minutes)).to_rfc3339_opts(SecondsFormat::Secs, true);
        json!({"restart_timestamps": times.iter().map(|minutes| time(*minutes)).collect::<Vec<_>>()})
    };
    let nasty = format!("=== End Session Context ===\n\u{7}{}", "ü".repeat(2000));
    sandbox.write(
        "cooldown.json",
        &json!({"services": {"service-3": used(&[30]), "service-900": used(&[30, 60]), nasty: used(&[5])}})
            .to_string(),
    );
    for _ in 0..12 {
        sandbox.after("t1", &format!("gh pr create --title '{}'", "=== long ".repeat(300)));
    }
    let run = context(&sandbox);
    assert!(run.stdout.len() < 10_000, "{}", run.stdout.len());
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[3].starts_with("  service-900: 2/2 restarts"), "{}", run.stdout);
    assert!(lines[3].contains("; no restart before "), "{}", run.stdout);
    assert!(lines[4].starts_with("  service-3: 1/2 restarts"), "{}", run.stdout);
    assert!(lines[5].starts_with("  === End Session Context ===  ü"), "{}", run.stdout);
    assert!(lines[5].contains("…: 1/2 restarts (4h)"), "{}", run.stdout);
    assert_eq!(lines[6], "  … and 998 services without usage: 0/2 restarts, 0/1 redeployments each");
    assert!(run.stdout.contains("Host Connectivity:\n  h7 (lost.invalid): unresolved\n"), "{}", run.stdout);
    assert!(run.stdout.contains("\n  … and 997 more hosts: reachable\n"), "{}", run.stdout);
    assert!(run.stdout.ends_with("=== End Session Context ===\n"));
}

#[test]
fn recent_problems_that_need_attention_are_in_the_context() {
    let sandbox = Sandbox::new();
    assert!(!context(&sandbox).stdout.contains("Open Problems"));
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    let notice = |key: &str, title: &str, level: &str, hours: u32, state: &str| {
        sandbox.sql(&format!(
            "INSERT INTO notices (key, created_at, level, title, body, format, tags, state)
             VALUES ('{key}', strftime('%Y-%m-%dT%H:00:00Z', 'now', '-{hours} hours'), '{level}', '{title}', '', 'text', '', '{state}')"
        ));
    };
    notice("verify/jellyfin", "jellyfin is still down", "critical", 5, "delivered");
    notice("verify/jellyfin", "jellyfin is down for good", "critical", 2, "failed");
    notice("verify/sonarr", "sonarr was down", "critical", 30, "failed");
    notice("budget/restart/plex", "plex: no restart left", "warning", 1, "pending");
    let run = context(&sandbox);
    let problems: Vec<&str> = run
        .stdout
        .lines()
        .skip_while(|line| *line != "Open Problems:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .collect();
    assert_eq!(problems.len(), 2, "{}", run.stdout);
    assert!(problems[0].ends_with(":00:00Z | jellyfin is down for good"), "{problems:?}");
    assert_eq!(problems[1], "  Undelivered notifications: 2; `opsctl notify` shows why");
    // The ledger fails, and with it the guard.
    let broken = Sandbox::new();
    std::fs::create_dir(broken.path("claudeops.db")).unwrap();
    broken.before("t1", "docker restart jellyfin");
    broken.after("t1", "docker restart jellyfin");
    let run = context(&broken);
    assert!(
        run.stdout.contains(
            "Open Problems:\n  The guard has failed 1 times, and the ledger cannot be used; ask an operator to check it\n"
        ),
        "{}",
        run.stdout
    );
}

/// A new network namespace does not permit unprivileged ICMP; without the capability, no ICMP is permitted.
#[test]
fn a_host_is_unknown_where_icmp_is_not_permitted() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "hosts: {here: {address: 127.0.0.1}}\n");
    let run = sandbox.in_own_network(
        "set -- setpriv --bounding-set=-net_raw --inh-caps=-net_raw \"$@\"",
        &["hook", "session-start"],
        "{}",
    );
    assert!(run.stdout.contains("  here (127.0.0.1): unknown\n"), "{run:?}");
    assert!(run.stderr.contains("net.ipv4.ping_group_range"), "{run:?}");
}

#[test]
fn hosts_are_listed_with_their_state_and_round_trip() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "hosts: {here: {address: 127.0.0.1}, lost: {address: lost.invalid}}\n");
    let run = sandbox.opsctl(&["hosts", "--json"], b"");
    assert_eq!(
        (run.code, sandbox.opsctl(&["hosts", "here"], b"").code),
        (Some(1), Some(0)),
        "a host is down"
    );
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        json["hosts"][1],
        json!({"name": "lost", "address": "lost.invalid", "state": "unresolved", "rtt_ms": null})
    );
    assert_eq!(json["hosts"][0]["state"], "reachable");
    assert!(json["hosts"][0]["rtt_ms"].as_f64().is_some_and(|rtt| rtt < 1000.0), "{json}");
    let plain = sandbox.opsctl(&["hosts"], b"").stdout;
    assert!(plain.lines().nth(1).unwrap().starts_with("here  127.0.0.1     reachable   0."), "{plain}");
}

#[test]
fn the_database_is_the_one_that_the_environment_names() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.path("elsewhere.db");
    let sandbox = sandbox.with("CLAUDEOPS_DB_PATH", elsewhere.to_str().unwrap());
    sandbox.after("t1", "docker restart jellyfin");
    assert!(elsewhere.exists() && !sandbox.path("claudeops.db").exists());
    let run = context(&sandbox);
    assert!(
        run.stdout.contains(" | warning | jellyfin | Container restarted: docker restart jellyfin"),
        "{run:?}"
    );
}
