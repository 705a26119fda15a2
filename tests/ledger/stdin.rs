//! Standard input that is never closed, and input that is too large.

use std::io::{Read as _, Write as _};
use std::process::{ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use opsctl_policy::model::records::event::EVENTS;

use crate::sandbox::{Run, Sandbox, call, denied, passes};

const LIMIT: Duration = Duration::from_secs(10);

fn with_policy(on_failure: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
    sandbox
}

/// Runs a hook whose input is not closed before it has ended. `write` may write to it.
fn unclosed(mut hook: Command, write: impl Fn(&mut ChildStdin)) -> (Run, Duration) {
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Instant::now();
    let mut hook = hook.spawn().unwrap();
    let mut stdin = hook.stdin.take().unwrap();
    write(&mut stdin);
    let code = loop {
        if let Some(status) = hook.try_wait().unwrap() {
            break status.code();
        }
        if started.elapsed() > LIMIT + LIMIT {
            hook.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(20));
    };
    let took = started.elapsed();
    let (mut stdout, mut stderr) = (String::new(), String::new());
    hook.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    hook.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (Run { code, stdout, stderr }, took)
}

/// A denial of input that cannot be read, on stderr only: a client that may be another one reads no JSON. Its reason.
fn unread(run: &Run) -> &str {
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    &run.stderr
}

#[test]
fn every_hook_ends_within_ten_seconds_if_its_input_is_not_closed() {
    thread::scope(|scope| {
        for (event, number) in EVENTS.into_iter().chain(["session-state"]).zip(0..) {
            scope.spawn(move || {
                // They end one after the other, so that each finds a processor for what it records.
                thread::sleep(number * Duration::from_millis(400));
                let sandbox = with_policy("closed");
                let (run, took) = unclosed(sandbox.command(&["hook", event]), |stdin| {
                    stdin.write_all(b"{\"tool_input\":").unwrap();
                });
                assert!(took < LIMIT, "{event}: {took:?}");
                assert_eq!(run.stderr.lines().count(), 1, "{event}: {run:?}");
                assert!(run.stderr.contains("stdin was not closed within 8 s"), "{event}: {run:?}");
                match event {
                    "pre-tool-use" => drop(unread(&run)),
                    _ => passes(&run),
                }
                // A hook that can use the ledger records it.
                passes(&sandbox.after("t1", "docker restart sonarr"));
                let events = sandbox.sql("SELECT message FROM events WHERE level = 'critical'");
                assert!(events.contains("stdin was not closed"), "{event}: {events}");
            });
        }
    });
}

#[test]
fn on_failure_open_allows_a_call_whose_input_is_not_closed() {
    let sandbox = with_policy("open");
    let (run, took) = unclosed(sandbox.command(&["hook", "pre-tool-use"]), |_| ());
    assert!(took < LIMIT, "{took:?}");
    passes(&run);
    assert!(run.stderr.contains("the call is allowed unchecked"), "{run:?}");
    assert!(sandbox.read("guard-failures.jsonl").contains("fail-open"));
}

/// Input that arrives in pieces, with pauses, is read completely.
#[test]
fn slow_input_is_read_to_its_end() {
    let sandbox = with_policy("closed");
    let mut hook = sandbox.command(&["hook", "pre-tool-use"]);
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut hook = hook.spawn().unwrap();
    let mut stdin = hook.stdin.take().unwrap();
    for piece in call("t1", "docker system prune -af").to_string().as_bytes().chunks(60) {
        stdin.write_all(piece).unwrap();
        thread::sleep(Duration::from_millis(200));
    }
    drop(stdin);
    let output = hook.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("Never allowed"), "{output:?}");
}

#[test]
fn input_over_8_mib_is_refused_without_reading_it() {
    // A process that reads all of it ends when it has used this address space.
    let endless = "ulimit -v 400000; exec \"$@\" < /dev/zero";
    for (on_failure, event) in [
        ("open", "pre-tool-use"),
        ("closed", "pre-tool-use"),
        ("closed", "post-tool-use"),
        ("closed", "session-start"),
        ("closed", "stop"),
    ] {
        let sandbox = with_policy(on_failure);
        let run = sandbox.in_own_mounts(endless, &["hook", event], "");
        let context = format!("{on_failure}, {event}: {run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{context}");
        assert!(run.stderr.contains("stdin has more than 8 MiB"), "{context}");
        match (on_failure, event) {
            ("closed", "pre-tool-use") => drop(unread(&run)),
            _ => passes(&run),
        }
        assert!(sandbox.read("guard-failures.jsonl").contains("more than 8 MiB"), "{context}");
    }
}

#[test]
fn input_of_7_mib_is_read() {
    let sandbox = with_policy("closed");
    let command = format!("docker system prune -af # {}", "x".repeat(7 << 20));
    let reason = denied(&sandbox.before("t1", &command));
    assert!(reason.starts_with("Never allowed"), "{}", &reason[..200]);
}

#[test]
fn a_tier_that_only_reads_denies_a_call_that_cannot_be_read() {
    let sandbox = with_policy("open").with("CLAUDEOPS_TIER", "1");
    let endless = sandbox.in_own_mounts("exec \"$@\" < /dev/zero", &["hook", "pre-tool-use"], "");
    let invalid = sandbox.opsctl(&["hook", "pre-tool-use"], b"docker restart jellyfin");
    for run in [endless, invalid] {
        assert!(unread(&run).contains("known to only read"), "{run:?}");
    }
}
