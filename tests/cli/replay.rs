//! `opsctl replay`: the past, decided again under another policy.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, passes};

const HOSTS: &str = "hosts: {ie01: {address: 192.168.100.210}}\nservices: {jellyfin: {host: ie01}}\n";

fn replay(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let run = sandbox.opsctl(&[&["replay", "--json"], arguments].concat(), b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    serde_json::from_str::<Value>(&run.stdout).unwrap()["replay"].clone()
}

fn commands(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|it| it["command"].as_str().unwrap()).collect()
}

/// Two restarts that ran, a third that was denied, a volume that was not removed, and a command of a program that is unknown.
fn night() -> Sandbox {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    sandbox.write("hosts.yaml", HOSTS);
    for id in ["t1", "t2", "t3"] {
        let run = sandbox.before(id, "docker restart jellyfin");
        if run.code == Some(0) {
            passes(&sandbox.after(id, "docker restart jellyfin"));
        }
    }
    for (id, command) in [("t4", "docker volume rm x"), ("t5", "frobnicate --now")] {
        assert_eq!(sandbox.before(id, command).code, Some(2));
    }
    sandbox
}

#[test]
fn the_policy_in_force_decides_the_past_as_it_did() {
    let sandbox = night();
    let found = replay(&sandbox, &[]);
    assert_eq!(found["calls"], 5);
    assert_eq!((&found["newly_denied"], &found["newly_allowed"]), (&json!([]), &json!([])), "{found}");
    assert_eq!(found["counted"], json!({"jellyfin restart": 2}));
    assert_eq!(found["denials"], json!({"budget": 1, "effect": 1, "never": 1}));
    assert_eq!(found["unlisted"], json!({"frobnicate": 1}));
}

#[test]
fn differences_of_another_policy_are_listed_in_both_directions() {
    let sandbox = night();
    sandbox.write(
        "loose.yaml",
        &format!("{HOSTS}policy: {{restart: {{limit: 3}}, never: {{remove-volume: allow}}}}\n"),
    );
    let found = replay(&sandbox, &["--hosts", "loose.yaml"]);
    assert_eq!(
        commands(&found["newly_allowed"]),
        ["docker restart jellyfin", "docker volume rm x"],
        "{found}"
    );
    assert_eq!(found["counted"], json!({"jellyfin restart": 3}));
    sandbox.write("strict.yaml", &format!("{HOSTS}policy: {{restart: {{limit: 1}}}}\n"));
    let found = replay(&sandbox, &["--hosts", "strict.yaml"]);
    assert_eq!(commands(&found["newly_denied"]), ["docker restart jellyfin"], "{found}");
    assert_eq!(found["newly_denied"][0]["rules"], "budget");
    // Cleared counters are cleared in the replay, too.
    let page = sandbox.opsctl(&["replay", "--hosts", "strict.yaml"], b"").stdout;
    assert!(page.contains("were allowed, and are denied by this policy: 1"), "{page}");
    assert!(page.contains("frobnicate: {effect: unknown, matches: [frobnicate]}"), "{page}");
}

#[test]
fn transcripts_show_on_the_first_day_what_the_guard_would_have_said() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", HOSTS);
    let call = |id: &str, minute: u32, name: &str, input: Value| {
        let message = json!({"role": "assistant", "content": [
            {"type": "text", "text": "I restart it."}, {"type": "tool_use", "id": id, "name": name, "input": input}]});
        let at = format!("2026-03-21T14:{minute:02}:00.123Z");
        json!({"type": "assistant", "timestamp": at, "cwd": "/app", "message": message}).to_string()
    };
    let restart = json!({"command": "docker restart jellyfin"});
    let first: Vec<String> =
        (1..=3).map(|number| call(&format!("a{number}"), number, "Bash", restart.clone())).collect();
    sandbox.write("projects/-app/one.jsonl", &format!("{}\n{{\"broken\n", first.join("\n")));
    // A resumed session repeats the calls of the first one.
    let other = [
        call("a1", 1, "Bash", restart.clone()),
        call("b1", 9, "Read", json!({"file_path": "/home/ann/.ssh/id_ed25519"})),
        call("b2", 10, "WebSearch", json!({"query": "tool_use"})),
    ];
    sandbox.write("projects/-app/sub/two.jsonl", &(other.join("\n") + "\n"));
    let folder = sandbox.path("projects");
    let found = replay(&sandbox, &["--transcripts", folder.to_str().unwrap()]);
    assert_eq!(found["calls"], 4, "{found}");
    assert_eq!(
        commands(&found["newly_denied"]),
        ["docker restart jellyfin", "read /home/ann/.ssh/id_ed25519"]
    );
    assert_eq!(found["counted"], json!({"jellyfin restart": 2}));
    let observed = replay(&sandbox, &["--transcripts", folder.to_str().unwrap(), "--tier", "1"]);
    assert_eq!(observed["denials"], json!({"secret": 1, "tier": 3}));
    let none = sandbox.opsctl(&["replay", "--transcripts", "/nowhere"], b"");
    assert!(none.stderr.contains("/nowhere cannot be read") && none.code == Some(1), "{none:?}");
}
