//! `programs` in `hosts.yaml`: an operator's own program is guarded as a built-in one is.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, denied, passes};

const HOSTS: &str = "\
services: {jellyfin: {containers: [jf]}}
programs:
  restart-svc: {does: restart, to: service 1, matches: [restart-svc jellyfin]}
policy:
  never: {local-sudo: allow}
";

fn rendered() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", HOSTS);
    let run = sandbox.opsctl(&["render"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    sandbox
}

#[test]
fn own_program_and_docker_draw_on_one_budget() {
    for way in [
        "restart-svc jellyfin",
        "/usr/local/bin/restart-svc jellyfin",
        "sudo restart-svc jellyfin",
        "ssh root@ie01 restart-svc jellyfin",
        "ssh root@ie01 'sudo restart-svc jf'",
        "for s in jellyfin; do bash -c \"restart-svc $s\"; done",
    ] {
        let sandbox = rendered();
        passes(&sandbox.before("t1", way));
        passes(&sandbox.before("t2", "docker restart jf"));
        for third in [way, "docker restart jf"] {
            let reason = denied(&sandbox.before("t3", third));
            assert!(
                reason.starts_with("Cooldown limit exceeded for jellyfin: 2/2 restarts"),
                "{way}: {reason}"
            );
        }
        passes(&sandbox.before("t4", "restart-svc sonarr"));
    }
}

#[test]
fn post_tool_use_settles_the_reservation_of_an_own_program() {
    let sandbox = rendered();
    let end = json!({"session_id": "sess-abc-123", "reason": "other"});
    for (id, command) in [("t1", "restart-svc jellyfin"), ("t2", "ssh root@ie01 sudo restart-svc jellyfin")] {
        passes(&sandbox.before(id, command));
        passes(&sandbox.after(id, command));
    }
    // What was only reserved is released when the session ends.
    passes(&sandbox.hook("session-end", &end));
    assert_eq!(
        sandbox.sql("SELECT group_concat(service || ' ' || action_type) FROM cooldown_actions"),
        "jellyfin restart,jellyfin restart"
    );
    denied(&sandbox.before("t3", "docker restart jf"));
}

#[test]
fn explain_names_the_service_that_an_own_program_acts_on() {
    let run = rendered().opsctl(&["explain", "--json", "restart-svc", "jf"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let explained: Value = serde_json::from_str(&run.stdout).unwrap();
    let action = &explained["actions"][0];
    assert_eq!((&action["verb"], &action["service"]), (&json!("restart"), &json!("jellyfin")), "{explained}");
}

#[test]
fn a_tier_that_may_not_restart_denies_the_prefix_of_an_own_program() {
    let sandbox = rendered();
    let arguments = |tier| sandbox.opsctl(&["tier", tier, "--args"], b"").stdout;
    assert!(arguments("1").contains("Bash(restart-svc:*)"), "{}", arguments("1"));
    assert!(!arguments("2").contains("restart-svc"), "{}", arguments("2"));
}
