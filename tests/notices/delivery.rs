//! The process that delivers notifications: no hook waits for it, and nothing is sent twice.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::sandbox::{Sandbox, passes};
use crate::target::{Manner, Target};
use crate::{listening, settled, wait_until, with_apprise};

fn notify(sandbox: &Sandbox, title: &str) {
    let run = sandbox.hook("notification", &json!({"session_id": "s", "title": title, "message": "m"}));
    passes(&run);
    assert_eq!(run.stderr, "");
}

/// Inserts a notice that was recorded and not delivered.
fn left_behind(sandbox: &Sandbox, title: &str, state: &str, claimed_until: &str) {
    sandbox.sql(&format!(
        "INSERT INTO notices (key, created_at, level, title, body, format, tags, state)
             VALUES ('k', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'info', '{title}', 'b', 'text', '', 'pending');
         INSERT INTO notice_attempts (notice_id, at, state, claimed_until)
             VALUES ((SELECT max(id) FROM notices), '2020-01-01T00:00:00Z', '{state}', {claimed_until})"
    ));
}

fn flush(sandbox: &Sandbox) -> Command {
    sandbox.command(&["notify", "--flush", "--deadline", "30s"])
}

#[test]
fn a_hook_ends_while_the_target_is_still_silent() {
    let target = Target::new(Manner::IsSilent);
    let sandbox = listening(&target);
    notify(&sandbox, "first");
    // The hook has ended before any answer: the target answers only from here on.
    assert!(["pending", "sending"].contains(&sandbox.sql("SELECT state FROM notice_states").as_str()));
    wait_until("the target is asked", || !target.titles().is_empty());
    target.now(Manner::Takes);
    assert_eq!(settled(&sandbox), "delivered");
    assert_eq!(sandbox.sql("SELECT attempts, last_error IS NULL FROM notice_states"), "1|1");
}

#[test]
fn delivery_survives_the_end_of_the_hooks_process_group() {
    let target = Target::new(Manner::IsSilent);
    let sandbox = listening(&target);
    let mut hook = sandbox.command(&["hook", "notification"]);
    let mut hook = hook.process_group(0).stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut hook.stdin.take().unwrap(), br#"{"title":"t"}"#).unwrap();
    let group = hook.id();
    assert_eq!(hook.wait().unwrap().code(), Some(0));
    wait_until("the target is asked", || !target.titles().is_empty());
    let killed = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).output().unwrap();
    assert!(!killed.status.success(), "no process of the hook's group is left to be killed");
    target.now(Manner::Takes);
    assert_eq!(settled(&sandbox), "delivered");
}

#[test]
fn a_recovered_target_gets_the_notice_on_a_retry() {
    let target = Target::new(Manner::Refuses(503));
    let sandbox = listening(&target);
    notify(&sandbox, "patience");
    wait_until("it is written down that it failed", || {
        sandbox.sql("SELECT count(*) FROM notice_states WHERE last_error IS NOT NULL") == "1"
    });
    let error = sandbox.sql("SELECT last_error FROM notice_states");
    assert!(error.starts_with("notification not sent: apprise ended with "), "{error}");
    assert!(!error.contains("json://") && !error.contains("127.0.0.1"), "no URL is written down: {error}");
    target.now(Manner::Takes);
    assert_eq!(settled(&sandbox), "delivered");
    assert_eq!(target.titles().len(), 2);
    assert_eq!(sandbox.sql("SELECT attempts, last_error IS NULL FROM notice_states"), "2|1");
}

#[test]
fn a_failing_target_is_not_retried_after_three_attempts_until_the_next_flush() {
    let target = Target::new(Manner::Refuses(500));
    let sandbox = listening(&target);
    notify(&sandbox, "in vain");
    assert_eq!(settled(&sandbox), "failed");
    assert_eq!(target.titles().len(), 3);
    let run = sandbox.opsctl(&["notify", "--flush"], b"");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(1), "opsctl: 1 not delivered; `opsctl notify` shows why\n")
    );
    target.now(Manner::Takes);
    let run = sandbox.opsctl(&["notify", "--flush"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "1 delivered\n"));
    assert_eq!(settled(&sandbox), "delivered");
}

#[test]
fn two_concurrent_flushes_send_nothing_twice() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    for n in 0..8 {
        left_behind(&sandbox, &format!("notice {n}"), "pending", "NULL");
    }
    let mut flushes: Vec<_> =
        (0..4).map(|_| flush(&sandbox).stdout(Stdio::piped()).spawn().unwrap()).collect();
    for flush in &mut flushes {
        assert_eq!(flush.wait().unwrap().code(), Some(0));
    }
    let mut titles = target.titles();
    titles.sort();
    assert_eq!(titles, (0..8).map(|n| format!("notice {n}")).collect::<Vec<_>>());
    assert_eq!(sandbox.sql("SELECT DISTINCT state, attempts FROM notice_states"), "delivered|1");
}

#[test]
fn a_claim_blocks_other_processes_until_it_expires() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    left_behind(&sandbox, "of the dead", "sending", "'2020-01-01T00:00:00Z'");
    left_behind(&sandbox, "of the living", "sending", "strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '+60 seconds')");
    let mut flush = sandbox.command(&["notify", "--flush", "--deadline", "300s"]);
    let flush = flush.stdout(Stdio::piped()).spawn().unwrap();
    wait_until("the first is delivered", || target.titles() == ["of the dead"]);
    // The other's process may still deliver it, so the flush waits, until that claim has ended, too.
    sandbox.sql("UPDATE notice_attempts SET claimed_until = '2020-01-01T00:00:00Z'
         WHERE id = (SELECT max(id) FROM notice_attempts WHERE notice_id = (SELECT id FROM notices WHERE title = 'of the living'))");
    let output = flush.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"2 delivered\n"[..]));
    assert_eq!(target.titles(), ["of the dead", "of the living"]);
}

#[test]
fn notices_older_than_a_day_are_not_flushed() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    left_behind(&sandbox, "old", "pending", "NULL");
    sandbox.sql("UPDATE notices SET created_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-2 days')");
    let run = sandbox.opsctl(&["notify", "--flush"], b"");
    assert_eq!((run.code, target.titles().len()), (Some(0), 0), "{run:?}");
}

#[test]
fn some_targets_that_take_it_are_a_delivery_with_a_remark() {
    let (takes, refuses) = (Target::new(Manner::Takes), Target::new(Manner::Refuses(500)));
    let urls = format!("{} {}", takes.url(), refuses.url());
    let sandbox = with_apprise(Sandbox::new()).with("CLAUDEOPS_APPRISE_URLS", &urls);
    notify(&sandbox, "half");
    assert_eq!(settled(&sandbox), "delivered");
    assert_eq!(
        sandbox.sql("SELECT attempts, last_error FROM notice_states"),
        "1|not every target accepted it"
    );
    assert_eq!((takes.titles().len(), refuses.titles().len()), (1, 1));
}

#[test]
fn without_apprise_it_fails_at_once_and_says_why() {
    let bin = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new()
        .with("CLAUDEOPS_APPRISE_URLS", "json://127.0.0.1:9/")
        .with("PATH", bin.path().to_str().unwrap());
    notify(&sandbox, "no apprise");
    assert_eq!(settled(&sandbox), "failed");
    assert!(sandbox.sql("SELECT last_error FROM notice_states").contains("apprise cannot be started"));
}
