//! What the registry of sessions relies on in the client.

use crate::support::{Session, bash, text as text_of_agent, together};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

fn hook(event: &str, more: &Value) -> Value {
    let mut hook = json!({"type": "command", "command": "hook", "args": [event], "timeout": 20});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([{"hooks": [hook]}])
}

#[test]
fn context_at_a_prompt_and_after_a_batch_reaches_the_model() {
    let finished = Session::new()
        .stub(
            "hook",
            r#"printf '{"hookSpecificOutput": {"hookEventName": "%s", "additionalContext": "word of %s"}}' "$1" "$1""#,
        )
        .settings(&json!({"hooks": {
            "UserPromptSubmit": hook("UserPromptSubmit", &json!({})),
            "PostToolBatch": hook("PostToolBatch", &json!({})),
        }}))
        .step(together([bash("docker ps"), bash("docker images")]))
        .run();
    assert!(finished.shown_at_start().contains("word of UserPromptSubmit"), "{}", finished.shown_at_start());
    assert!(!finished.shown_at_start().contains("word of PostToolBatch"));
    let end = finished.shown_at_end();
    assert_eq!(end.matches("word of PostToolBatch").count(), 1, "{end}");
}

#[test]
fn the_client_does_not_wait_for_asynchronous_hooks_and_ends_them_with_the_session() {
    let finished = Session::new()
        .stub(
            "hook",
            r#"trap 'echo "$1 is ended" >> "$HOME/log"; exit' TERM HUP INT
            echo "$1 begins" >> "$HOME/log"; sleep 30 & wait; echo "$1 ends" >> "$HOME/log""#,
        )
        .stub("docker", r#"echo "docker $1" >> "$HOME/log""#)
        .settings(&json!({"hooks": {"PreToolUse": hook("before", &json!({"async": true}))}}))
        .commands(["docker ps", "docker images"])
        .run();
    let log = finished.read("home/log");
    let shown: Vec<&str> = log.lines().collect();
    assert_eq!(
        shown,
        [
            "before begins",
            "docker ps",
            "before begins",
            "docker images",
            "before is ended",
            "before is ended"
        ]
    );
    assert!(finished.elapsed < Duration::from_secs(25), "{:?}", finished.elapsed);
}

#[test]
fn a_deferred_call_ends_the_session_and_is_asked_again_when_it_is_resumed() {
    let deferring = r#"cat >> ../state/inputs; echo >> ../state/inputs
        [ -e ../state/answered ] && exit 0
        echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer", "permissionDecisionReason": "a person is asked"}}'"#;
    let finished = Session::new()
        .stub("hook", deferring)
        .settings(&json!({"hooks": {"PreToolUse": hook("before", &json!({}))}}))
        .step(bash("docker restart jellyfin"))
        .run();
    assert_eq!((finished.exit_code, finished.marks("docker").len()), (0, 0));
    let result = finished.stream.last().unwrap().clone();
    assert_eq!(result["terminal_reason"], "tool_deferred", "{result}");
    assert_eq!(result["deferred_tool_use"]["input"]["command"], "docker restart jellyfin", "{result}");
    let id = finished.session_id().to_owned();
    let workspace = finished.into_workspace();
    // In another home, the transcript is enough.
    let folder = workspace.path("project").display().to_string().replace(|c: char| !c.is_alphanumeric(), "-");
    let transcript = format!("home/.claude/projects/{folder}/{id}.jsonl");
    let text = workspace.read(&transcript);
    fs::remove_dir_all(workspace.path("home")).unwrap();
    workspace.write(&transcript, &text);
    workspace.write("state/answered", "");
    let resumed = Session::continuing(workspace)
        .prompt("")
        .client_arguments(["--resume", &id])
        .step(text_of_agent("done"))
        .run();
    assert_eq!(resumed.marks("docker"), ["restart jellyfin"]);
    assert_eq!((resumed.session_id(), resumed.result().as_str()), (id.as_str(), "done"));
    // The model was asked for its next step only, not for the call.
    assert_eq!(resumed.agent_requests().len(), 1);
    let inputs = resumed.read("state/inputs");
    let calls: Vec<Value> = inputs
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [asked, again] = calls.as_slice() else { panic!("{inputs}") };
    for key in ["tool_use_id", "tool_input", "session_id"] {
        assert_eq!(asked[key], again[key], "{key}");
    }
    for r in &resumed.stream {
        if r["type"] == "result" {
            eprintln!("COST {} {} {}", r["total_cost_usd"], r["num_turns"], r["usage"]);
        }
    }
}
