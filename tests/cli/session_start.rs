//! The context of a new session, from what really stands in the state folder.

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
fn without_any_state_every_section_says_so_and_nothing_is_created() {
    let sandbox = Sandbox::new();
    let run = context(&sandbox);
    assert_eq!(run.stdout.matches("  No data available\n").count(), 3, "{}", run.stdout);
    assert!(!sandbox.path("claudeops.db").exists());
}

#[test]
fn budgets_events_and_hosts_are_told() {
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
}

#[test]
fn the_last_ten_events_come_newest_first_whoever_wrote_them() {
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
fn a_thousand_services_stay_within_what_the_client_shows() {
    let sandbox = Sandbox::new();
    let services: String =
        (0..1000).map(|n| format!("  service-with-a-long-name-{n}: {{host: h{n}}}\n")).collect();
    let hosts: String =
        (0..1000).map(|n| format!("  h{n}: {{address: 127.0.{}.{}}}\n", n / 250, n % 250 + 1)).collect();
    sandbox.write("hosts.yaml", &format!("hosts:\n{hosts}services:\n{services}"));
    sandbox.write("cooldown.json", "{\"services\": {}}");
    let run = context(&sandbox);
    let length = run.stdout.chars().count();
    assert!((2_000..10_000).contains(&length), "{length}");
    assert!(run.stdout.ends_with("=== End Session Context ===\n"));
}

/// A new network namespace permits no unprivileged ICMP, and without the capability none at all.
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
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        json["hosts"][1],
        json!({"name": "lost", "address": "lost.invalid", "state": "unresolved", "rtt_ms": null})
    );
    assert_eq!(json["hosts"][0]["state"], "reachable");
    assert!(json["hosts"][0]["rtt_ms"].as_f64().is_some_and(|rtt| rtt < 1000.0), "{json}");
    let plain = sandbox.opsctl(&["hosts"], b"").stdout;
    assert!(plain.starts_with("here (127.0.0.1): reachable in "), "{plain}");
}
