//! What the registry of sessions relies on in the client.

use crate::support::{Session, bash, together};
use serde_json::{Value, json};
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
