//! A full disk is heard: one notification, an unhealthy check, and one event once there is space again.

use crate::target::{Manner, Target};
use crate::{listening, wait_until};

/// Three sessions, each with a restart, on a disk that is full. Before and after that, it has space.
const FULL_FOR_THREE_SESSIONS: &str = r#"
    mount -t tmpfs -o size=64m,mode=0700 tmpfs $CLAUDEOPS_STATE_DIR
    opsctl=$1
    hook() { printf '{"session_id": "%s", "hook_event_name": "%s", "tool_use_id": "t%s", "tool_name": "Bash",
        "tool_input": {"command": "docker restart jellyfin"}, "source": "startup", "reason": "other"}' $1 $2 $1 | "$opsctl" hook; }
    hook s0 SessionStart >/dev/null
    "$opsctl" doctor --quick --only "state folder"
    cat /dev/zero >$CLAUDEOPS_STATE_DIR/ballast 2>/dev/null || true
    for session in s1 s2 s3; do
        hook $session SessionStart >/dev/null 2>&1
        hook $session PreToolUse >/dev/null 2>&1 && echo "it runs" || true
    done
    "$opsctl" doctor --quick --only "state folder" && echo "the check passes" || true
    "$opsctl" status --no-hosts | grep 'not recorded'
    rm $CLAUDEOPS_STATE_DIR/ballast
    hook s4 SessionEnd
    "$opsctl" status --no-hosts | grep 'not recorded' || true
    "$opsctl" events --json
"#;

#[test]
fn a_full_disk_is_notified_once_an_hour_and_is_one_event_afterwards() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\npolicy: {on_failure: closed}\n");
    let state = sandbox.path("state");
    std::fs::create_dir(&state).unwrap();
    let sandbox = sandbox.with("CLAUDEOPS_STATE_DIR", state.to_str().unwrap());
    let run = sandbox.in_own_mounts(FULL_FOR_THREE_SESSIONS, &[], "");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("ok       state folder: "), "{run:?}");
    assert!(
        lines[1].starts_with("FAILED   state folder: ") && lines[1].ends_with(": 0 KiB are free on its disk"),
        "{run:?}"
    );
    assert!(!run.stdout.contains("it runs") && !run.stdout.contains("the check passes"), "{run:?}");
    assert!(
        run.stdout.contains(
            "  6 failures of the guard are not recorded: the ledger cannot be used; `opsctl doctor`\n"
        ),
        "{run:?}"
    );
    assert_eq!(run.stdout.matches("are not recorded").count(), 1, "{run:?}");
    assert_eq!(run.stdout.matches("The state folder could not be written from ").count(), 1, "{run:?}");
    assert!(run.stdout.contains("(6 failures); the first: Guard failed to record a session: "), "{run:?}");
    wait_until("the operators are notified", || !target.titles().is_empty());
    assert_eq!(target.titles(), ["The guard has failed"], "once, although six hooks have failed");
}
