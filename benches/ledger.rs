//! What a ledger of years costs a hook: whole processes, on an empty database and on one with 1,000,000 events
//! and 100,000 cooldown rows, in turns. Fails when a hook takes over 20 ms longer on the full one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark may stop where it cannot go on"
)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

#[path = "../tests/support/sandbox.rs"]
mod sandbox;

const ROUNDS: usize = 60;
const ALLOWED: Duration = Duration::from_millis(20);

/// Fifty services over a year; a hook's own record of each action; both time formats.
const ROWS: &str = "
    BEGIN;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
    INSERT INTO events (session_id, level, service, message, created_at)
        SELECT NULL, 'info', 'service' || (i % 50), 'Container restarted: docker restart service' || (i % 50),
               CASE i % 2 WHEN 0 THEN datetime('now', '-' || ((1000000 - i) * 31) || ' seconds')
                          ELSE strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || ((1000000 - i) * 31) || ' seconds') END FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier)
        SELECT 'service' || (i % 50), CASE i % 10 WHEN 0 THEN 'redeployment' ELSE 'restart' END,
               strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || ((100000 - i) * 315 + 20000) || ' seconds'), 1, 2 FROM n;
    COMMIT;";

const OWN_ROWS: &str = "
    BEGIN;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    INSERT INTO hook_actions (session_id, tool_use_id, service, kind, verb, counts, state, reserved_at, settled_at)
        SELECT 's' || (i / 100), 't' || i, 'service' || (i % 50), 'restart', 'restart', 1, 'done',
               '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z' FROM n;
    COMMIT;";

fn sqlite3(folder: &Path, statements: &str) {
    let mut child = Command::new("sqlite3")
        .arg("-bail")
        .arg(folder.join("claudeops.db"))
        .stdin(Stdio::piped())
        .spawn()
        .expect("the tool sqlite3 is missing: run tests/setup");
    child.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{statements}");
}

/// The time of one whole hook, from its start to its end.
fn hook(folder: &Path, event: &str, command: &str) -> Duration {
    let started = Instant::now();
    let mut child = Command::new(sandbox::program())
        .args(["hook", event])
        .current_dir(folder)
        .env_clear()
        .env("CLAUDEOPS_STATE_DIR", folder)
        .env("CLAUDE_PROJECT_DIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let input = format!(r#"{{"session_id":"s","tool_use_id":"t","tool_input":{{"command":"{command}"}}}}"#);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(0), "{event} {command}");
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() -> ExitCode {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [empty, full] = [folders[0].path(), folders[1].path()];
    let theirs = include_str!("../tests/fixtures/session-manager.sql");
    let mut met = true;
    for (owner, schema) in [("opsctl", ""), ("the session manager", theirs)] {
        for folder in [empty, full] {
            // Both kinds begin with a new file.
            for name in ["claudeops.db", "claudeops.db-wal", "claudeops.db-shm"] {
                let _ = std::fs::remove_file(folder.join(name));
            }
            if !schema.is_empty() {
                sqlite3(folder, schema);
            }
            hook(folder, "pre-tool-use", "docker restart first");
        }
        sqlite3(full, ROWS);
        sqlite3(full, OWN_ROWS);
        for event in ["pre-tool-use", "session-start"] {
            let (mut on_empty, mut on_full) = (vec![], vec![]);
            for round in 0..ROUNDS {
                // Each restart is its round's own service, so that none is denied.
                let command = format!("docker restart service{}", round % 50);
                let command = if round < 50 { command } else { format!("docker restart other{round}") };
                on_empty.push(hook(empty, event, &command));
                on_full.push(hook(full, event, &command));
            }
            let (on_empty, on_full) = (median(on_empty), median(on_full));
            let more = on_full.saturating_sub(on_empty);
            println!(
                "database of {owner}: {event}: empty {on_empty:.2?}, full {on_full:.2?}, difference {more:.2?} (allowed {ALLOWED:?})"
            );
            met &= more <= ALLOWED;
        }
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
