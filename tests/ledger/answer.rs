//! A denial reaches the client although its record cannot be written, is late, or is cut short by a signal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, call, denied};

/// File size limits, under which SIGXFSZ ends a process by default: of 0, and of 32 KiB, under which the ledger can be
/// read.
const LIMITS: [&str; 2] = ["ulimit -f 0; exec \"$@\"", "ulimit -f 64; exec \"$@\""];

fn with_policy(on_failure: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
    sandbox
}

fn limited(sandbox: &Sandbox, limit: &str, event: &str, command: &str) -> Run {
    sandbox.in_own_mounts(limit, &["hook", event], &call("t9", command).to_string())
}

/// Two restarts of jellyfin, in the ledger and in `cooldown.json`.
fn use_up(sandbox: &Sandbox) {
    for id in ["t1", "t2"] {
        assert_eq!(sandbox.before(id, "docker restart jellyfin").code, Some(0));
        assert_eq!(sandbox.after(id, "docker restart jellyfin").code, Some(0));
    }
    let now = Utc::now();
    let times = [30, 60].map(|minutes| (now - TimeDelta::minutes(minutes)).to_rfc3339());
    let file = json!({"services": {"jellyfin": {"restart_timestamps": times}}});
    sandbox.write("cooldown.json", &file.to_string());
}

#[test]
fn a_file_size_limit_lifts_no_budget_and_no_rule() {
    for limit in LIMITS {
        let sandbox = with_policy("open");
        use_up(&sandbox);
        let ask = |command| denied(&limited(&sandbox, limit, "pre-tool-use", command));
        let reason = ask("docker restart jellyfin");
        assert!(reason.starts_with("Cooldown limit exceeded for jellyfin: "), "{limit}: {reason}");
        assert!(ask("docker system prune -af").starts_with("Never allowed"), "{limit}");
    }
}

#[test]
fn the_ledger_is_counted_if_it_can_be_read_and_not_written() {
    let sandbox = with_policy("open");
    use_up(&sandbox);
    std::fs::remove_file(sandbox.path("cooldown.json")).unwrap();
    let run = limited(&sandbox, LIMITS[1], "pre-tool-use", "docker restart jellyfin");
    assert!(denied(&run).starts_with("Cooldown limit exceeded for jellyfin: 2/2"), "{run:?}");
}

#[test]
fn on_failure_applies_under_a_file_size_limit() {
    for ((on_failure, with_history), limit) in
        [("open", false), ("open", true), ("closed", false), ("closed", true)]
            .into_iter()
            .flat_map(|case| LIMITS.map(|limit| (case, limit)))
    {
        let sandbox = with_policy(on_failure);
        if with_history {
            assert_eq!(sandbox.before("t1", "docker restart sonarr").code, Some(0));
        }
        let run = limited(&sandbox, limit, "pre-tool-use", "docker restart jellyfin");
        let context = format!("{on_failure}, {with_history}, {limit}: {run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{context}");
        assert!(run.stderr.contains(&format!("policy.on_failure is {on_failure}")), "{context}");
        match on_failure {
            "open" => assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{context}"),
            _ => drop(denied(&run)),
        }
        let kept = sandbox.path("guard-failures.jsonl");
        assert!(kept.metadata().is_ok() != (limit == LIMITS[0]), "{context}");
    }
}

#[test]
fn other_hooks_report_under_a_file_size_limit_what_is_not_recorded() {
    let sandbox = with_policy("closed");
    assert_eq!(sandbox.before("t9", "docker restart jellyfin").code, Some(0));
    for event in ["post-tool-use", "session-start", "session-end", "user-prompt-submit", "stop"] {
        let run = limited(&sandbox, LIMITS[0], event, "docker restart jellyfin");
        assert_eq!(run.code, Some(0), "{event}: {run:?}");
    }
    let run = limited(&sandbox, LIMITS[0], "post-tool-use", "docker restart jellyfin");
    assert!(run.stderr.contains("`docker restart jellyfin` has run and is not recorded"), "{run:?}");
}

/// A program that holds the ledger's write lock until it is dropped.
struct Locked(Child, Option<ChildStdin>);

impl Locked {
    fn new(sandbox: &Sandbox) -> Self {
        let mut holder = Command::new("sqlite3");
        holder.arg(sandbox.path("claudeops.db")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = holder.spawn().unwrap();
        let mut stdin = holder.stdin.take().unwrap();
        stdin.write_all(b"BEGIN IMMEDIATE; SELECT 'locked';\n").unwrap();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        Self(holder, Some(stdin))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.1.take();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_hook_that_is_killed_while_it_records_has_denied() {
    let sandbox = with_policy("open");
    assert_eq!(sandbox.before("t1", "docker restart sonarr").code, Some(0));
    let locked = Locked::new(&sandbox);
    let mut hook = sandbox.command(&["hook", "pre-tool-use"]);
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Instant::now();
    let mut hook = hook.spawn().unwrap();
    hook.stdin
        .take()
        .unwrap()
        .write_all(call("t2", "docker system prune -af").to_string().as_bytes())
        .unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(hook.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    assert!(started.elapsed() < Duration::from_secs(4), "it waited for the lock: {:?}", started.elapsed());
    assert!(hook.try_wait().unwrap().is_none(), "it did not wait for the lock: this test proves nothing");
    hook.kill().unwrap();
    let mut stdout = String::new();
    hook.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    hook.wait().unwrap();
    drop(locked);
    let json: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["hookSpecificOutput"]["permissionDecision"], "deny", "{stdout}");
    assert!(line.starts_with("Never allowed"), "{line}");
}

#[test]
fn a_denial_is_recorded_after_it_was_answered() {
    let sandbox = with_policy("open");
    denied(&sandbox.before("t1", "docker system prune -af"));
    assert_eq!(sandbox.sql("SELECT verdict, tool_use_id FROM hook_decisions"), "deny|t1");
}

#[test]
fn a_pipe_in_place_of_the_kept_failures_blocks_no_hook() {
    for (on_failure, code) in [("open", 0), ("closed", 2)] {
        let sandbox = with_policy(on_failure);
        std::fs::create_dir(sandbox.path("claudeops.db")).unwrap();
        let prepare = "mkfifo guard-failures.jsonl; exec timeout -s KILL 8 \"$@\"";
        let run = limited(&sandbox, prepare, "pre-tool-use", "docker restart jellyfin");
        assert_eq!(run.code, Some(code), "{run:?}");
    }
}
