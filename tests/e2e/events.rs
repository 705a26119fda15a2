//! Every hook event of the client: which of them a headless session fires, and their input.

use crate::support::{Finished, Session, bash, text, together, tool};
use opsctl_policy::model::records::event::{EVENTS, event_name};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A hook for every event, which records its input, passes it to opsctl, and returns the answer.
fn recording() -> Session {
    let hook = |event: &str| json!([{"hooks": [{"type": "command", "command": "record", "args": [event]}]}]);
    // The hook of WorktreeCreate has to create the worktree: no answer to it is right.
    let events = EVENTS.map(event_name).into_iter().filter(|event| event != "WorktreeCreate");
    let hooks: Map<String, Value> = events.map(|event| (event.clone(), hook(&event))).collect();
    Session::new()
        .hosts_yaml(include_str!("hosts.yaml"))
        .file("state/cooldown.json", "{}")
        .stub(
            "record",
            r#"input=$(cat); printf '%s\n' "$input" >> "$CLAUDE_PROJECT_DIR/inputs"
            printf '%s' "$input" | opsctl hook 2>>"$CLAUDE_PROJECT_DIR/notes"; echo "$1 $?" >> "$CLAUDE_PROJECT_DIR/codes""#,
        )
        .settings(&json!({ "hooks": hooks }))
        .file("project/CLAUDE.md", "Look after the homelab.\n")
        .file("project/.claude/commands/look.md", "Look at all services.\n")
}

fn inputs(finished: &Finished) -> Vec<Value> {
    // A busy client may end before its last hook does.
    let started = finished.marks("record").len();
    for _ in 0..100 {
        if finished.read("project/codes").lines().count() >= started {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    finished.read("project/inputs").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The events in the order of their arrival, by subject.
fn rows(inputs: &[Value]) -> Vec<String> {
    inputs.iter().map(row).collect()
}

fn row(input: &Value) -> String {
    let text = |key: &str| input[key].as_str();
    let event = text("hook_event_name").unwrap();
    let command = input["tool_input"]["command"].as_str().or(text("tool_name"));
    let keys = ["trigger", "source", "reason", "load_reason", "command_name"];
    let about = command.or_else(|| keys.into_iter().find_map(text));
    match (about, text("agent_type")) {
        (Some(about), None) => format!("{event} {about}"),
        (Some(about), Some(agent)) => format!("{event} {about} by {agent}"),
        (None, Some(agent)) if event.starts_with("Subagent") => format!("{event} {agent}"),
        (None, Some(agent)) => format!("{event} by {agent}"),
        (None, None) => event.to_owned(),
    }
}

/// Whether the rows are these, in any order; concurrent events arrive in any order.
#[track_caller]
fn assert_rows(finished: &Finished, expected: &[&str]) {
    let mut seen = rows(&inputs(finished));
    seen.sort_unstable();
    // On a busy machine, a client may state twice that it has loaded its instructions.
    seen.dedup_by(|a, b| a == b && a.starts_with("InstructionsLoaded"));
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(seen, expected);
    assert_eq!(finished.read("project/notes"), "", "the guard had nothing to remark");
    let codes = finished.read("project/codes");
    assert_eq!(codes.lines().filter(|line| !line.ends_with(" 0")).collect::<Vec<_>>(), [""; 0]);
}

/// Consecutive events arrived in this order.
#[track_caller]
fn assert_order(finished: &Finished, events: &[&str]) {
    let seen = rows(&inputs(finished));
    let place = |event: &&str| seen.iter().position(|row| row == event).expect(event);
    assert!(events.iter().map(place).is_sorted(), "{seen:?}");
}

#[test]
fn a_session_reaches_these_lifecycle_points_and_the_guard_serves_each() {
    let brief = json!({"description": "look", "prompt": "count the containers",
                       "subagent_type": "general-purpose", "run_in_background": false});
    let finished = recording()
        .tools("Bash,Read,Task")
        .prompt("/look")
        .client_arguments(["--disallowedTools", "Bash(helm upgrade:*)", "--init"])
        .stub("ssh", "exit 255")
        .step(together([bash("docker ps"), bash("ssh ie01 true"), bash("helm upgrade jellyfin . --dry-run")]))
        .step(bash("cd /tmp"))
        .step(tool("Task", &brief))
        .subagent("count the containers", [bash("docker images"), text("counted")])
        .run();
    let of_the_session = [
        "Setup init",
        "SessionStart startup",
        "UserPromptExpansion look",
        "PreToolUse docker ps",
        "PostToolUse docker ps",
        "PreToolUse ssh ie01 true",
        "PostToolUseFailure ssh ie01 true",
        "PreToolUse helm upgrade jellyfin . --dry-run",
        "PreToolUse cd /tmp",
        "PostToolUse cd /tmp",
        "PreToolUse Agent",
        "SubagentStart general-purpose",
        "PreToolUse docker images by general-purpose",
        "PostToolUse docker images by general-purpose",
        "PostToolBatch by general-purpose",
        "SubagentStop general-purpose",
        "PostToolUse Agent",
        "Stop",
        "SessionEnd other",
    ];
    assert_order(&finished, &of_the_session);
    let beside = ["InstructionsLoaded session_start", "UserPromptSubmit", "CwdChanged", "MessageDisplay"];
    let batches = ["PostToolBatch"; 3];
    assert_rows(&finished, &[&of_the_session[..], &beside, &batches].concat());
    let mut seen = names(&finished);

    let compacted = next(finished, "/compact");
    let of_a_compaction = [
        "SessionStart resume",
        "PreCompact manual",
        "SessionStart compact",
        "PostCompact manual",
        "SessionEnd other",
    ];
    assert_order(&compacted, &of_a_compaction);
    seen.extend(names(&compacted));

    let switched = next(compacted, "/model sonnet");
    let of_a_switch =
        ["SessionStart resume", "PreModelSwitch command", "PostModelSwitch command", "SessionEnd other"];
    assert_order(&switched, &of_a_switch);
    assert_rows(&switched, &[&of_a_switch[..], &["InstructionsLoaded session_start"]].concat());
    seen.extend(names(&switched));

    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/events");
    let recorded: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| serde_json::from_slice::<Value>(&std::fs::read(file.unwrap().path()).unwrap()).unwrap())
        .map(|input| input["hook_event_name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(seen, recorded, "every event that comes is recorded, and the other way round");
}

fn names(finished: &Finished) -> BTreeSet<String> {
    inputs(finished).iter().map(|input| input["hook_event_name"].as_str().unwrap().to_owned()).collect()
}

/// The session goes on with another prompt.
fn next(finished: Finished, prompt: &str) -> Finished {
    let workspace = finished.into_workspace();
    for written in ["inputs", "notes", "codes"] {
        std::fs::remove_file(workspace.path("project").join(written)).unwrap();
    }
    Session::continuing(workspace)
        .prompt(prompt)
        .client_arguments(["--continue"])
        .step(text("a summary"))
        .run()
}
