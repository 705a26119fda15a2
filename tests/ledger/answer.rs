//! A denial reaches the client although its record cannot be written, is late, or is cut short by a signal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, call, denied};

/// File size limits, under which SIGXFSZ ends a process by default: of 0, and of 32 KiB, under which the ledger can be
/// read.
pub const LIMITS: [&str; 2] = ["ulimit -f 0; exec \"$@\"", "ulimit -f 64; exec \"$@\""];

pub fn with_policy(on_failure: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
    sandbox
}

pub fn limited(sandbox: &Sandbox, limit: &str, event: &str, command: &str) -> Run {
    sandbox.in_own_mounts(limit, &["hook", event], &call("t9", command).to_string())
}

/// Two restarts of jellyfin, in the ledger and in `cooldown.json`.
pub fn use_up(sandbox: &Sandbox) {
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

/// A program that holds the ledger's write lock until it is dropped.
struct Locked(Child, Option<ChildStdin>);

impl Locked {
    fn new(sandbox: &Sandbox) -> Self {
        let (mut holder, lock) = sandbox.locking_program();
        let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = holder.stdin.take().unwrap();
        stdin.write_all(lock.as_bytes()).unwrap();
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
