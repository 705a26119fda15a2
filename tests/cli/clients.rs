//! The hooks of clients besides Claude Code, with inputs as the real clients write them; `tests/rehearsal` runs these.

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// A call of Codex CLI.
fn of_codex(event: &str, id: &str, tool: &str, command: &str) -> Value {
    json!({
        "session_id": "s", "turn_id": "t", "transcript_path": null, "cwd": "/srv", "hook_event_name": event,
        "model": "gpt-5.5", "permission_mode": "bypassPermissions", "tool_name": tool,
        "tool_input": {"command": command}, "tool_response": "restarted, password: hunter2\n", "tool_use_id": id,
    })
}

/// A call of Gemini CLI.
fn of_gemini(event: &str, tool: &str, input: &Value) -> Value {
    json!({
        "session_id": "s", "transcript_path": "/t", "cwd": "/srv", "hook_event_name": event,
        "timestamp": "2026-03-21T14:00:00.000Z", "tool_name": tool, "tool_input": input,
        "tool_response": {"llmContent": "Output: restarted, password: hunter2", "returnDisplay": "restarted"},
    })
}

fn json_of(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

#[test]
fn codex_reads_the_reason_of_a_denial_on_stderr() {
    let sandbox = Sandbox::new();
    let call = |event, id| of_codex(event, id, "Bash", "docker restart jellyfin");
    for id in ["a", "b"] {
        assert_eq!(sandbox.hook("pre-tool-use", &call("PreToolUse", id)).code, Some(0));
        let after = sandbox.hook("post-tool-use", &call("PostToolUse", id));
        let reason = json!(
            "opsctl has replaced secrets in this output with `[redacted]`. Do not write \
            `[redacted]` to a file in their place.\n\nrestarted, password: [redacted]\n"
        );
        assert_eq!((after.code, json_of(&after)), (Some(0), json!({"decision": "block", "reason": reason})));
    }
    let denied = sandbox.hook("pre-tool-use", &call("PreToolUse", "c"));
    assert_eq!((denied.code, denied.stdout.as_str()), (Some(2), ""));
    assert!(denied.stderr.starts_with("Cooldown limit exceeded for jellyfin: 2/2"), "{denied:?}");
}

#[test]
fn gemini_reads_the_reason_of_a_denial_in_json() {
    let sandbox = Sandbox::new();
    let call = |event| of_gemini(event, "run_shell_command", &json!({"command": "docker restart jellyfin"}));
    for _ in 0..2 {
        assert_eq!(sandbox.hook("pre-tool-use", &call("BeforeTool")).code, Some(0));
        let after = sandbox.hook("post-tool-use", &call("AfterTool"));
        assert_eq!((after.code, &json_of(&after)["decision"]), (Some(0), &json!("deny")));
        assert!(!after.stdout.contains("hunter2"), "{after:?}");
    }
    let denied = sandbox.hook("pre-tool-use", &call("BeforeTool"));
    let reason = json_of(&denied)["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("Cooldown limit exceeded for jellyfin: 2/2"), "{reason}");
    assert_eq!(json_of(&denied), json!({"decision": "deny", "reason": reason}));
    assert_eq!((denied.code, denied.stderr), (Some(2), format!("{reason}\n")));
}

#[test]
fn every_file_of_a_patch_obeys_the_file_rules() {
    let sandbox = Sandbox::new();
    let patch = |files: &str| {
        let patch = format!("*** Begin Patch\n*** Add File: /srv/a\n+x\n{files}*** End Patch\n");
        sandbox.hook("pre-tool-use", &of_codex("PreToolUse", "a", "apply_patch", &patch))
    };
    assert_eq!(patch("").code, Some(0));
    for file in ["*** Update File: /etc/passwd\n", "*** Update File: /srv/b\n*** Move to: ../etc/passwd\n"] {
        let run = patch(file);
        assert!(run.code == Some(2) && run.stderr.starts_with("Protected: "), "{run:?}");
    }
}

#[test]
fn tools_of_gemini_that_write_obey_the_file_rules() {
    let sandbox = Sandbox::new();
    for tool in ["write_file", "replace"] {
        let input =
            json!({"file_path": "../etc/passwd", "content": "x", "old_string": "x", "new_string": "y"});
        let run = sandbox.hook("pre-tool-use", &of_gemini("BeforeTool", tool, &input));
        assert!(run.stderr.starts_with("Protected: `../etc/passwd`"), "{run:?}");
    }
}

#[test]
fn a_call_of_another_client_is_denied_in_one_line() {
    // With `on_failure: open`, the default.
    let sandbox = Sandbox::new();
    for (event, input) in [
        (&["hook"][..], json!({"hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "/"})),
        (&["hook"], json!({"agent_action_name": "pre_run_command", "tool_info": {"command_line": "ls"}})),
        (&["hook", "pre-tool-use"], json!({"toolName": "bash", "toolArgs": "{\"command\":\"ls\"}"})),
        (
            &["hook", "pre-tool-use"],
            json!({"hook_event_name": "preToolUse", "tool_name": "execute_bash",
            "tool_input": {"command": "ls"}}),
        ),
    ] {
        let run = sandbox.opsctl(event, input.to_string().as_bytes());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{input}");
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        let expected =
            "Denied: invalid hook input: this is not the hook input of Claude Code, Codex CLI or Gemini CLI";
        assert!(run.stderr.starts_with(expected), "{}", run.stderr);
    }
}

#[test]
fn other_keys_and_hooks_of_a_client_are_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\npolicy: {on_failure: closed}\n");
    let hosts = sandbox.path("hosts.yaml");
    let theirs = json!([{"hooks": [{"type": "command", "command": "/bin/notes"}]}]);
    sandbox.write(
        ".gemini/settings.json",
        &json!({"ui": {"theme": "x"}, "hooks": {"AfterAgent": theirs}}).to_string(),
    );
    let render = |more: &[&str]| {
        let out = sandbox.path("");
        let common = ["render", "--hosts", hosts.to_str().unwrap(), "--out", out.to_str().unwrap()];
        sandbox.opsctl(&[&common[..], more].concat(), b"")
    };
    for _ in 0..2 {
        assert_eq!(render(&["--for", "gemini"]).code, Some(0));
    }
    let settings: Value = serde_json::from_str(&sandbox.read(".gemini/settings.json")).unwrap();
    assert_eq!((&settings["ui"]["theme"], &settings["hooks"]["AfterAgent"]), (&json!("x"), &theirs));
    let before = settings["hooks"]["BeforeTool"].as_array().unwrap();
    assert_eq!(before.len(), 1);
    assert_eq!(before[0]["hooks"][0]["timeout"], json!(30_000));
    assert_eq!(render(&["--for", "gemini", "--check"]).code, Some(0));
    assert_eq!(render(&["--for", "codex", "--check"]).code, Some(1));

    let managed = sandbox.write("requirements.toml", "[features]\n");
    let managed = managed.to_str().unwrap();
    let refused = render(&["--for", "codex", "--managed", managed]);
    assert!(refused.stderr.contains("was not written by opsctl"), "{refused:?}");
    std::fs::remove_file(managed).unwrap();
    assert_eq!(render(&["--for", "codex", "--managed", managed]).code, Some(0));
    assert!(sandbox.read("requirements.toml").contains("unified_exec = false"));
    assert_eq!(render(&["--for", "codex", "--managed", managed, "--check"]).code, Some(0));
}
