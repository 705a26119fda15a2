//! A ledger that loses rows: emptied, deleted, truncated, replaced, restored, or without its write-ahead log.

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, denied, passes};

/// Ways in which a ledger loses two restarts; `$state` is its folder.
const LOSSES: [(&str, &str, &str); 7] = [
    ("deleted", "rm $state/claudeops.db*", "was created at"),
    ("replaced", "rm $state/claudeops.db*; cp $state/other.db $state/claudeops.db", "was created at"),
    ("empty file", "rm $state/claudeops.db-*; : > $state/claudeops.db", "was created at"),
    (
        "emptied",
        "echo 'DELETE FROM cooldown_actions; DELETE FROM hook_actions;' | sqlite3 $state/claudeops.db",
        "has lost rows: `cooldown_actions` ends at row 0, and has ended at row 2",
    ),
    (
        "last row deleted",
        "echo 'DELETE FROM cooldown_actions WHERE id = 2;' | sqlite3 $state/claudeops.db",
        "has lost rows: `cooldown_actions` ends at row 1, and has ended at row 2",
    ),
    ("log removed", "rm $state/claudeops.db-wal", "has lost rows: `cooldown_actions`"),
    ("restored", "rm $state/claudeops.db*; cp $state/old.db $state/claudeops.db", "has lost rows"),
];

/// A ledger with two restarts of jellyfin, which `cooldown.json` does not hold, and a loss of them.
fn after(loss: &str, on_failure: &str) -> Sandbox {
    let sandbox = with_two_restarts(on_failure);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-ec", &format!("state={}; {loss}", sandbox.path("").display())]);
    assert!(shell.status().unwrap().success(), "{loss}");
    sandbox
}

fn with_two_restarts(on_failure: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
    let other = Sandbox::new();
    passes(&other.before("t0", "docker restart sonarr"));
    let copy = sandbox.path("other.db");
    other.sql(&format!(
        "UPDATE opsctl_migrations SET applied_at = '2026-01-01T00:00:00Z'; VACUUM INTO '{}'",
        copy.display()
    ));
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
        passes(&sandbox.after(id, "docker restart jellyfin"));
        let old = sandbox.path("old.db");
        if !old.exists() {
            sandbox.sql(&format!("VACUUM INTO '{}'", old.display()));
        }
    }
    // The creation of another ledger within the same second cannot be distinguished by its time.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    std::fs::remove_file(sandbox.path("cooldown.json")).unwrap();
    sandbox
}

fn doctor(sandbox: &Sandbox) -> Value {
    let run = sandbox.opsctl(&["doctor", "--only", "ledger", "--json"], b"");
    serde_json::from_str::<Value>(&run.stdout).unwrap()["findings"][0].clone()
}

fn problems(sandbox: &Sandbox) -> String {
    let run = sandbox.opsctl(&["status", "--no-hosts", "--json"], b"");
    serde_json::from_str::<Value>(&run.stdout).unwrap()["problems"].to_string()
}

#[test]
fn on_failure_open_reports_a_loss_once_and_counts_on() {
    for (name, loss, expected) in LOSSES {
        let sandbox = after(loss, "open");
        let found = doctor(&sandbox);
        assert_eq!(found["condition"], "failed", "{name}: {found}");
        assert!(problems(&sandbox).contains("ledger"), "{name}: {}", problems(&sandbox));
        let run = sandbox.before("t3", "docker restart jellyfin");
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{name}: {run:?}");
        let about: Vec<&str> = run.stderr.lines().filter(|line| line.contains("ledger-mark.json")).collect();
        assert_eq!(about.len(), 1, "{name}: {run:?}");
        assert!(about[0].contains(expected), "{name}: {run:?}");
        let events = sandbox.sql("SELECT count(*) FROM events WHERE message LIKE 'Actions lost: %'");
        assert_eq!(events, "1", "{name}");
        assert_eq!(sandbox.sql("SELECT level FROM notices WHERE key = 'ledger'"), "critical", "{name}");
        assert!(problems(&sandbox).contains("The ledger has lost actions"), "{name}");
        assert_eq!(doctor(&sandbox)["condition"], "warning", "{name}");
        let run = sandbox.after("t3", "docker restart jellyfin");
        assert!(!run.stderr.contains("ledger-mark.json"), "{name}: reported twice: {run:?}");
    }
}

#[test]
fn on_failure_closed_denies_until_an_operator_accepts_the_loss() {
    for (name, loss, expected) in LOSSES {
        let sandbox = after(loss, "closed");
        let explained = sandbox.opsctl(&["explain", "--exit-code", "docker restart jellyfin"], b"");
        assert_eq!(explained.code, Some(2), "{name}: {explained:?}");
        for id in ["t3", "t4"] {
            let reason = denied(&sandbox.before(id, "docker restart jellyfin"));
            assert!(reason.contains(expected), "{name}: {reason}");
            assert!(reason.contains("policy.on_failure is closed"), "{name}: {reason}");
        }
        assert_eq!(doctor(&sandbox)["condition"], "failed", "{name}");
        passes(&sandbox.before("t5", "docker ps"));
        let ended = sandbox.hook("session-end", &json!({"session_id": "sess-abc-123"}));
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        let events = sandbox.sql("SELECT message FROM events WHERE level = 'critical'");
        assert!(events.contains("Guard failed closed: Denied: the ledger"), "{name}: {events}");
        std::fs::remove_file(sandbox.path("ledger-mark.json")).unwrap();
        let run = sandbox.before("t6", "docker restart radarr");
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{name}: {run:?}");
    }
}

#[test]
fn actions_in_cooldown_json_count_after_a_loss() {
    let sandbox = after(LOSSES[0].1, "open");
    let times = [30, 60].map(|minutes| (Utc::now() - TimeDelta::minutes(minutes)).to_rfc3339());
    sandbox.write(
        "cooldown.json",
        &json!({"services": {"jellyfin": {"restart_timestamps": times}}}).to_string(),
    );
    let reason = denied(&sandbox.before("t3", "docker restart jellyfin"));
    assert!(reason.starts_with("Cooldown limit exceeded for jellyfin: 2/2"), "{reason}");
    let events = sandbox.sql("SELECT count(*) FROM events WHERE message LIKE 'Actions lost: %'");
    assert_eq!(events, "1");
}

#[test]
fn a_loss_between_the_hooks_of_an_action_is_reported() {
    let sandbox = with_two_restarts("open");
    passes_without_history(&sandbox.before("t3", "docker restart sonarr"));
    for file in ["claudeops.db", "claudeops.db-wal", "claudeops.db-shm"] {
        let _ = std::fs::remove_file(sandbox.path(file));
    }
    let run = sandbox.after("t3", "docker restart sonarr");
    assert!(run.stderr.contains("was created at"), "{run:?}");
    assert_eq!(doctor(&sandbox)["condition"], "warning");
}

fn passes_without_history(run: &Run) {
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!run.stderr.contains("claudeops.db"), "{run:?}");
}

#[test]
fn no_loss_is_reported_without_one() {
    let sandbox = with_two_restarts("closed");
    sandbox.sql("UPDATE cooldown_actions SET timestamp = '2026-01-01T00:00:00Z'");
    sandbox.sql("UPDATE hook_actions SET reserved_at = '2026-01-01T00:00:00Z'");
    let pruned = sandbox.opsctl(&["prune", "--keep", "90d"], b"");
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    for id in ["t3", "t4"] {
        passes_without_history(&sandbox.before(id, "docker restart sonarr"));
        passes_without_history(&sandbox.after(id, "docker restart sonarr"));
    }
    assert_eq!(doctor(&sandbox)["condition"], "ok");
    // A command without an action does not look at the mark.
    sandbox.write("ledger-mark.json", "{");
    passes(&sandbox.before("t5", "ls -la"));
    assert_eq!(sandbox.read("ledger-mark.json"), "{");
}
