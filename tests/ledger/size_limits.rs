//! A ledger that is a file and cannot be written because of a file size limit.

use crate::answer::{LIMITS, limited, use_up, with_policy};
use crate::sandbox::denied;

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
