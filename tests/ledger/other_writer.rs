//! Another program that owns the database and goes on writing to it.

use std::io::Write as _;
use std::process::{Child, Stdio};

use crate::at_once::ask_at_once;
use crate::clock::{Clock, is_used_up};
use crate::sandbox::{Sandbox, sqlite3};

const RESTART: &str = "docker restart jellyfin";
const SCHEMA: &str = include_str!("../fixtures/session-manager.sql");

fn owned_by_the_session_manager(journal_mode: &str) -> Clock {
    let sandbox = Sandbox::new();
    sandbox.sql(&format!(
        "{SCHEMA}; PRAGMA journal_mode = {journal_mode};
         INSERT INTO sessions (tier, model, prompt_file, status, started_at)
             VALUES (2, 'sonnet', 'prompts/tier2.md', 'running', '2026-03-21T13:00:00Z')"
    ));
    Clock::in_sandbox(sandbox)
}

/// Writes events and cooldown rows as fast as it can, in its own transactions, with foreign keys on and without
/// opsctl's lock on the folder.
struct Writer(Child);

impl Writer {
    fn start(clock: &Clock) -> Self {
        let statements = "BEGIN IMMEDIATE;
             INSERT INTO events (session_id, level, service, message, created_at)
                 VALUES (1, 'info', 'plex', 'checked', datetime('now'));
             INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier, session_id)
                 VALUES ('plex', 'restart', datetime('now'), 1, 2, 1);
             COMMIT;\n";
        let mut child = std::process::Command::new("sqlite3")
            .args(["-batch", "-bail", "-cmd", ".timeout 10000", "-cmd", "PRAGMA foreign_keys = ON"])
            .arg(clock.sandbox.path("claudeops.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::spawn(move || while stdin.write_all(statements.as_bytes()).is_ok() {});
        Self(child)
    }

    fn stop(mut self) {
        assert_eq!(self.0.try_wait().unwrap(), None, "the other program had to give up");
        self.0.kill().unwrap();
        let output = self.0.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "the other program was disturbed");
    }
}

#[test]
fn both_writers_continue_undisturbed() {
    for journal_mode in ["WAL", "DELETE"] {
        let clock = owned_by_the_session_manager(journal_mode);
        let writer = Writer::start(&clock);
        for n in 0..16 {
            let command = format!("docker restart s{}", n / 2);
            let (asked, settled) = (
                clock.sandbox.before(&format!("t{n}"), &command),
                clock.sandbox.after(&format!("t{n}"), &command),
            );
            for run in [asked, settled] {
                assert_eq!(run.code, Some(0), "{journal_mode}: {run:?}");
                assert!(!run.stderr.contains("claudeops.db"), "{journal_mode}: {run:?}");
            }
        }
        writer.stop();
        let database = clock.sandbox.path("claudeops.db");
        assert_eq!(sqlite3(&database, "PRAGMA integrity_check"), "ok");
        assert_eq!(sqlite3(&database, "PRAGMA journal_mode"), journal_mode.to_lowercase());
        assert_eq!(sqlite3(&database, "SELECT count(*) FROM cooldown_actions WHERE service LIKE 's%'"), "16");
        let theirs = "SELECT count(*) FROM cooldown_actions WHERE service = 'plex'";
        assert!(sqlite3(&database, theirs).parse::<u32>().unwrap() > 16, "the other program hardly wrote");
    }
}

#[test]
fn both_time_formats_count_and_unreadable_ones_do_not() {
    let clock = owned_by_the_session_manager("WAL");
    clock.sandbox.sql(
        "INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier, session_id) VALUES
             ('jellyfin', 'restart', '2026-03-21 13:00:00', 1, 2, 1),
             ('jellyfin', 'restart', '2026-03-21T15:30:00+02:00', 0, 2, 1),
             ('jellyfin', 'restart', 1774094400, 1, 2, 1), ('jellyfin', 'redeployment', 'never', 1, 2, 1),
             ('jellyfin', 'drained', '2026-03-21T13:59:00Z', 1, 2, 1)",
    );
    is_used_up(clock.ask("t1", RESTART), "2026-03-21T17:00:00Z");
    assert_eq!(clock.ask("t2", "ansible-playbook redeploy-jellyfin.yml"), None);
}

#[test]
fn rows_name_the_running_session_of_the_session_manager() {
    let clock = owned_by_the_session_manager("WAL");
    clock.run("t1", RESTART);
    clock.sandbox.sql("UPDATE sessions SET status = 'completed'");
    clock.run("t2", RESTART);
    for table in ["events", "cooldown_actions"] {
        let sessions = format!("SELECT quote(session_id) FROM {table} ORDER BY id");
        assert_eq!(clock.sandbox.sql(&sessions), "1\nNULL", "{table}");
    }
    // The client's session is still known.
    for (session, found) in [("s1", 2), ("1", 0)] {
        let run = clock.sandbox.opsctl(&["events", "--json", "--session", session], b"");
        let restarts = run.stdout.matches("Container restarted: docker restart jellyfin").count();
        assert_eq!(restarts, found, "{session}: {run:?}");
    }
}

/// A table without an index is read unchanged; opsctl adds no index and no column to it.
#[test]
fn tables_without_indexes_stay_without() {
    let sandbox = Sandbox::new();
    sandbox.sql(&SCHEMA.replace("CREATE INDEX", "-- CREATE INDEX"));
    let theirs = "SELECT type, name, sql FROM sqlite_master WHERE tbl_name IN ('events', 'cooldown_actions', 'sessions')";
    let before = sandbox.sql(theirs);
    let clock = Clock::in_sandbox(sandbox);
    clock.run("t1", RESTART);
    clock.run("t2", RESTART);
    assert!(clock.ask("t3", RESTART).is_some());
    assert_eq!(clock.sandbox.sql(theirs), before);
    let context = clock.tell("session-start", None, "", &serde_json::Value::Null).output.to_string();
    assert!(context.contains("  jellyfin: 2/2 restarts (4h)"), "{context}");
    assert!(context.contains("Container restarted: docker restart jellyfin"), "{context}");
}

/// The database is the session manager's, in a rollback journal: readers and writers keep each other waiting.
#[test]
fn budgets_are_exact_without_a_write_ahead_log() {
    let sandbox = Sandbox::new();
    sandbox.sql(SCHEMA);
    assert_eq!(sandbox.sql("PRAGMA journal_mode"), "delete");
    let allowed = ask_at_once(&sandbox, |n| format!("service{}", n % 50));
    assert_eq!(allowed.values().sum::<usize>(), 100, "{allowed:?}");
}

#[test]
fn a_bogus_timestamp_does_not_block_a_budget_for_ever() {
    let clock = Clock::new();
    clock.run("t1", RESTART);
    clock.sandbox.sql(
        "INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier) VALUES
             ('jellyfin', 'restart', '2031-01-01T00:00:00Z', 1, 2), ('jellyfin', 'restart', 'soon', 1, 2),
             ('jellyfin', 'restart', '', 1, 2), ('jellyfin', 'restart', x'ff00', 1, 2)",
    );
    clock.run("t2", RESTART);
    assert!(clock.ask("t3", RESTART).is_some());
}
