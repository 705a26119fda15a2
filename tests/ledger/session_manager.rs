//! The session manager of Claude Ops on the same database: its rows, its reads and its migrations.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::random::Random;
use crate::sandbox::{Sandbox, denied, passes};

const SCHEMA: &str = include_str!("../fixtures/session-manager.sql");
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')";

/// The manager starts a session.
fn start_session(sandbox: &Sandbox) {
    sandbox.sql(&format!(
        "INSERT INTO sessions (tier, model, prompt_file, status, started_at)
         VALUES (2, 'sonnet', 'prompts/tier2.md', 'running', {NOW})"
    ));
}

/// The manager records a cooldown marker of the agent, `minutes` ago.
fn record_marker(sandbox: &Sandbox, service: &str, minutes: usize) {
    sandbox.sql(&format!(
        "PRAGMA foreign_keys = ON;
         INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier, session_id)
             VALUES ('{service}', 'restart', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-{minutes} minutes'), 1, 2,
                     (SELECT max(id) FROM sessions))"
    ));
}

/// The manager's pages of events and actions: whole numbers or NULL for sessions, times that sort as text.
fn read_pages(sandbox: &Sandbox) {
    for (table, time) in [("events", "created_at"), ("cooldown_actions", "timestamp")] {
        let unscannable = format!(
            "SELECT id, typeof(id), quote(session_id) FROM {table} WHERE typeof(session_id) NOT IN ('integer', 'null')
                 OR typeof(id) <> 'integer' OR session_id IS NOT NULL AND session_id NOT IN (SELECT id FROM sessions)"
        );
        assert_eq!(sandbox.sql(&unscannable), "", "{table}");
        let times = sandbox.sql(&format!("SELECT {time} FROM {table} ORDER BY {time} DESC"));
        let times: Vec<_> =
            times.lines().map(|time| chrono::DateTime::parse_from_rfc3339(time).unwrap()).collect();
        assert!(times.is_sorted_by(|later, earlier| later >= earlier), "{table}: {times:?}");
    }
    let streaks = "SELECT count(*) FROM service_health_streak WHERE typeof(consecutive_healthy) <> 'integer'";
    assert_eq!(sandbox.sql(streaks), "0");
}

fn used(sandbox: &Sandbox, service: &str) -> u64 {
    let run = sandbox.opsctl(&["cooldown", "show", service, "--json"], b"");
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    json["services"][0]["restart"]["used"].as_u64().unwrap()
}

/// What a service should have used: the actions of hooks; markers without such an action nearby; earlier actions.
#[derive(Default)]
struct Expected {
    hooks: u64,
    markers: u64,
    earlier: u64,
}

impl Expected {
    fn used(&self) -> u64 {
        self.earlier + if self.hooks > 0 { self.hooks } else { self.markers }
    }
}

#[test]
fn five_hundred_interleaved_steps_count_once_and_stay_readable() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "policy: {restart: {limit: 5, window: 4h}}\n");
    sandbox.sql(&format!("{SCHEMA}; PRAGMA journal_mode = WAL"));
    let mut random = Random::new(19);
    let mut services: BTreeMap<String, Expected> = BTreeMap::new();
    let (mut allowed, mut refused) = (0, 0);
    for step in 0..500 {
        let name = format!("s{}", random.below(24));
        let expected = services.entry(name.clone()).or_default();
        match random.below(10) {
            0..=3 => {
                let (id, command) = (format!("t{step}"), format!("docker restart {name}"));
                let asked = sandbox.before(&id, &command);
                if expected.used() >= 5 {
                    assert!(denied(&asked).contains(&format!("{}/5 restarts", expected.used())), "{step}");
                    refused += 1;
                    continue;
                }
                assert_eq!(asked.code, Some(0), "step {step}: {asked:?}");
                if random.below(3) == 0 {
                    record_marker(&sandbox, &name, 0);
                    expected.markers += 1;
                }
                assert_eq!(sandbox.after(&id, &command).code, Some(0));
                expected.hooks += 1;
                allowed += 1;
                let running = "SELECT quote(max(id)) FROM sessions WHERE status = 'running'";
                for table in ["events", "cooldown_actions"] {
                    let written = format!("SELECT quote(session_id) FROM {table} ORDER BY id DESC LIMIT 1");
                    assert_eq!(sandbox.sql(&written), sandbox.sql(running), "step {step}: {table}");
                }
            }
            4 | 5 => {
                record_marker(&sandbox, &name, 0);
                expected.markers += 1;
            }
            6 => {
                record_marker(&sandbox, &name, 10 + random.below(200));
                expected.earlier += 1;
            }
            7 if random.below(2) == 0 => start_session(&sandbox),
            7 => drop(sandbox.sql("UPDATE sessions SET status = 'completed'")),
            8 => drop(sandbox.sql(&format!(
                "INSERT INTO events (session_id, level, service, message, created_at)
                 VALUES ((SELECT max(id) FROM sessions), 'info', '{name}', 'checked', {NOW})"
            ))),
            _ => {
                read_pages(&sandbox);
                assert_eq!(used(&sandbox, &name), expected.used(), "step {step}: {name}");
            }
        }
    }
    assert!(allowed > 50 && refused > 20, "{allowed} allowed, {refused} denied");
    for (service, expected) in &services {
        assert_eq!(used(&sandbox, service), expected.used(), "{service}");
    }
    read_pages(&sandbox);
    assert_eq!(sandbox.sql("PRAGMA integrity_check; PRAGMA foreign_key_check"), "ok");
}

/// The manager's migrations: each one that it has not recorded, without IF NOT EXISTS unless `tolerant`.
fn migrate_manager(sandbox: &Sandbox, tolerant: bool) {
    let schema = if tolerant {
        SCHEMA.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS")
    } else {
        SCHEMA.to_owned()
    };
    let schema = schema.replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS");
    let recorded = sandbox.sql("SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'") == "1"
        && sandbox.sql("SELECT max(version_id) FROM goose_db_version WHERE is_applied") == "7";
    if tolerant || !recorded {
        sandbox.sql(&format!("BEGIN; {schema}; COMMIT"));
    }
}

#[test]
fn the_session_manager_takes_over_a_ledger_that_opsctl_has_created() {
    for tolerant in [false, true] {
        let sandbox = Sandbox::new();
        passes(&sandbox.after("t1", "docker restart jellyfin"));
        // Before its first session, too: it cannot read a text.
        let types =
            "SELECT typeof(session_id) FROM events UNION SELECT typeof(session_id) FROM cooldown_actions";
        assert_eq!(sandbox.sql(types), "null");
        migrate_manager(&sandbox, tolerant);
        start_session(&sandbox);
        read_pages(&sandbox);
        passes(&sandbox.after("t2", "docker restart jellyfin"));
        record_marker(&sandbox, "jellyfin", 0);
        read_pages(&sandbox);
        assert_eq!(sandbox.sql("SELECT quote(session_id) FROM events ORDER BY id"), "NULL\n1");
        assert_eq!(used(&sandbox, "jellyfin"), 2);
        let run = sandbox.opsctl(&["events", "--session", "sess-abc-123", "--json"], b"");
        assert_eq!(run.stdout.matches("Container restarted").count(), 2, "{run:?}");
        assert_eq!(sandbox.sql("PRAGMA integrity_check; PRAGMA foreign_key_check"), "ok");
        // Every column that the manager knows exists.
        let manager = Sandbox::new();
        manager.sql(SCHEMA);
        let columns = "SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c
             WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1";
        let ours = sandbox.sql(columns);
        for column in manager.sql(columns).lines() {
            assert!(ours.lines().any(|known| known == column), "{column}");
        }
    }
}

/// A start that closes a cycle takes no place, and neither does the marker that the agent writes after it.
#[test]
fn a_marker_after_a_stop_and_a_start_takes_no_further_place() {
    let mut clock = crate::clock::Clock::new();
    clock.sandbox.sql(SCHEMA);
    clock.run("t1", "docker stop jellyfin");
    clock.minutes(5);
    clock.run("t2", "docker start jellyfin");
    clock.sandbox.sql(
        "INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier)
         VALUES ('jellyfin', 'restart', '2026-03-21T14:06:30Z', 1, 2)",
    );
    clock.minutes(5);
    assert_eq!(clock.ask("t3", "docker restart jellyfin"), None);
}
