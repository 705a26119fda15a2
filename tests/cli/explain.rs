//! `opsctl explain`: the contract that other programs read, and the words that people read.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

fn json(sandbox: &Sandbox, command: &str) -> Value {
    let run = sandbox.opsctl(&["explain", "--json", "--cwd", "/opt/media", command], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn the_json_is_that_of_the_contract() {
    let sandbox = Sandbox::new();
    let command = "ssh root@ie01 'sudo docker restart jellyfin'";
    assert_eq!(
        json(&sandbox, command),
        json!({
            "command": command,
            "complaints": [],
            "actions": [{"kind": "restart", "verb": "restart", "service": "jellyfin", "host": "ie01",
                "via": ["ssh", "sudo"], "repeats": false, "evidence": "docker restart jellyfin"}],
            "decision": "allow",
            "reasons": []
        })
    );
    assert!(!sandbox.path("claudeops.db").exists(), "explaining changes nothing");
}

#[test]
fn the_decision_is_the_one_that_the_hook_would_make() {
    let sandbox = Sandbox::new();
    for id in ["t1", "t2"] {
        sandbox.before(id, "docker restart jellyfin");
    }
    let explained = json(&sandbox, "docker restart jellyfin");
    assert_eq!(explained["decision"], "deny");
    let hook = sandbox.before("t3", "docker restart jellyfin");
    assert_eq!(explained["reasons"][0].as_str().unwrap(), hook.stderr.trim_end());
}

#[test]
fn the_working_directory_names_the_project() {
    assert_eq!(json(&Sandbox::new(), "docker compose up -d")["actions"][0]["service"], "media");
}

#[test]
fn a_command_may_come_from_stdin() {
    let run = Sandbox::new().opsctl(&["explain", "-"], b"docker restart jellyfin\n");
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("restart") && run.stdout.contains("jellyfin"), "{}", run.stdout);
}
