//! Notices of failures of the guard.

use crate::sandbox::passes;
use crate::target::{Manner, Target};
use crate::{delivering, listening, wait_until};

#[test]
fn an_unusable_ledger_is_reported_once_without_the_ledger() {
    for (on_failure, code) in [("open", 0), ("closed", 2)] {
        let target = Target::new(Manner::Takes);
        let sandbox = listening(&target);
        sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
        std::fs::create_dir(sandbox.path("claudeops.db")).unwrap();
        for n in 0..4 {
            // Each of another service: what is kept counts.
            let command = format!("TOKEN=s3cret docker restart service{n}");
            let run = sandbox.before(&format!("t{n}"), &command);
            assert_eq!(run.code, Some(code), "{run:?}");
        }
        wait_until("the operators have heard", || !target.titles().is_empty() && !delivering(&sandbox));
        assert_eq!(target.titles(), ["The guard has failed"]);
        let message = target.received()[0]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with(&format!("Guard failed {on_failure}: ")), "{message}");
        assert!(message.contains("claudeops.db cannot be used"), "{message}");
        assert!(!message.contains("s3cret"), "{message}");
        assert_eq!(target.received()[0]["type"], "failure");
    }
}

#[test]
fn a_missing_state_folder_is_reported() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target).with("CLAUDEOPS_STATE_DIR", "/proc/no-such-folder");
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    wait_until("the operators are notified", || !target.titles().is_empty());
}
