//! What the guard relies on in the client. When a new release of the client breaks one of these, the guard has to change.

use crate::support::{Finished, Session, bash, text, together, tool, verdict};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A hook for one event, in the form that `opsctl render` writes: no shell, arguments as a list.
fn hook(matcher: &str, event: &str) -> Value {
    json!([{"matcher": matcher, "hooks": [{"type": "command", "command": "hook", "args": [event], "timeout": 10}]}])
}

/// A session whose hook before every command does `behaviour`, and which then runs `docker restart jellyfin`.
fn session_with_hook_before(behaviour: &str) -> Finished {
    Session::new()
        .stub("hook", behaviour)
        .settings(&json!({"hooks": {"PreToolUse": hook("Bash|Monitor", "before")}}))
        .step(bash("docker restart jellyfin"))
        .run()
}

#[test]
fn exit_code_two_stops_a_command_and_shows_the_model_stderr() {
    let finished = session_with_hook_before("echo 'not today' >&2; exit 2");
    finished.tool_result(0).assert_refused("not today");
    assert_eq!(finished.marks("docker"), [""; 0]);
}

#[test]
fn a_permission_decision_on_stdout_stops_a_command() {
    let finished = session_with_hook_before(
        r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                         "permissionDecisionReason": "not today"}}'"#,
    );
    finished.tool_result(0).assert_refused("not today");
    assert_eq!(finished.marks("docker"), [""; 0]);
}

/// opsctl answers a denial before it records it, so a hook that is killed in between has written this much.
#[test]
fn a_denial_on_stdout_counts_if_the_hook_is_killed_after_it() {
    for end in ["kill -KILL $$", "kill -XFSZ $$", "exit 101"] {
        let answer = r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not today"}}'; echo 'not today' >&2;"#;
        let finished = session_with_hook_before(&format!("{answer} {end}"));
        assert_eq!(finished.marks("docker"), [""; 0], "{end}");
    }
}

#[test]
fn a_denial_on_stdout_does_not_count_if_the_hook_exceeds_its_timeout() {
    let mut before = hook("Bash", "before");
    before[0]["hooks"][0]["timeout"] = json!(1);
    let finished = Session::new()
        .stub(
            "hook",
            r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not today"}}'; sleep 60"#,
        )
        .settings(&json!({"hooks": {"PreToolUse": before}}))
        .step(bash("docker restart jellyfin"))
        .run();
    assert_eq!(finished.marks("docker"), ["restart jellyfin"]);
}

#[test]
fn the_old_decision_to_deny_stops_nothing() {
    let finished = session_with_hook_before(r#"echo '{"decision": "deny", "reason": "not today"}'"#);
    finished.tool_result(0).assert_ran();
    assert_eq!(finished.marks("docker"), ["restart jellyfin"]);
}

#[test]
fn a_failing_hook_stops_a_command_only_if_on_failure_is_block() {
    let failures = ["exit 101", "exec no-such-program", "sleep 60"];
    for (failure, on_failure, ran) in failures.into_iter().flat_map(|it| [(it, "allow", 1), (it, "block", 0)])
    {
        let mut before = hook("Bash", "before");
        before[0]["hooks"][0]["onFailure"] = json!(on_failure);
        before[0]["hooks"][0]["timeout"] = json!(1);
        let finished = Session::new()
            .stub("hook", failure)
            .settings(&json!({"hooks": {"PreToolUse": before}}))
            .step(bash("docker restart jellyfin"))
            .run();
        assert_eq!(finished.marks("docker").len(), ran, "`{failure}`, onFailure: {on_failure}");
    }
}

#[test]
fn without_a_hook_the_client_misses_most_ways_to_spell_a_command() {
    let refused = ["docker restart jellyfin", "cd /tmp && docker restart jellyfin"];
    let missed = ["bash -c 'docker restart jellyfin'", "docker container restart jellyfin"];
    let finished = Session::new()
        .client_arguments(["--disallowedTools", "Bash(docker restart:*)"])
        .commands(refused.into_iter().chain(missed))
        .run();
    let results = finished.tool_results().iter().map(|result| result.is_error).collect::<Vec<_>>();
    assert_eq!(results, [true, true, false, false]);
}

#[test]
fn the_context_of_a_session_stays_under_ten_thousand_characters() {
    for (length, whole) in [(9_990, true), (10_100, false)] {
        let finished = Session::new()
            .stub("hook", &format!("head -c {length} /dev/zero | tr '\\0' x; echo END"))
            .settings(&json!({"hooks": {"SessionStart": hook("", "start")}}))
            .run();
        let shown = finished.shown_at_start();
        assert_eq!(shown.contains(&format!("{}END", "x".repeat(length))), whole, "{length} characters");
        assert!(shown.contains("xxx"), "at least a part of it is there");
    }
}

#[test]
fn a_hook_that_lets_a_command_run_can_add_to_what_the_model_sees() {
    let finished = session_with_hook_before(
        r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "one restart is left"}}'"#,
    );
    finished.tool_result(0).assert_ran();
    assert!(finished.shown_at_end().contains("one restart is left"));
}

#[test]
fn hooks_get_the_environment_that_the_client_was_started_with() {
    let behaviour = r#"echo "$CLAUDEOPS_TIER, $CLAUDE_PROJECT_DIR" >&2; exit 2"#;
    let finished = Session::new()
        .tier(2)
        .stub("hook", behaviour)
        .settings(&json!({"hooks": {"PreToolUse": hook("Bash", "before")}}))
        .step(bash("docker restart jellyfin"))
        .run();
    finished.tool_result(0).assert_refused(&format!("2, {}", finished.project().display()));
}

#[test]
fn a_stop_hook_that_never_agrees_is_overridden() {
    let behaviour = r#"cat >> "$CLAUDE_PROJECT_DIR/inputs"; echo >> "$CLAUDE_PROJECT_DIR/inputs"; echo 'not yet' >&2; exit 2"#;
    let finished =
        Session::new().stub("hook", behaviour).settings(&json!({"hooks": {"Stop": hook("", "stop")}})).run();
    let inputs = finished.read("project/inputs");
    let inputs =
        inputs.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap());
    let again: Vec<Value> = inputs.map(|input: Value| input["stop_hook_active"].clone()).collect();
    assert!((2..=12).contains(&again.len()), "asked {} times", again.len());
    assert_eq!(again[0], false);
    assert!(again[1..].iter().all(|again| again == true));
}

#[test]
fn a_stop_hook_blocks_by_exit_code_by_json_or_by_both() {
    let json = r#"echo '{"decision": "block", "reason": "not yet"}'"#;
    let code = "echo 'not yet' >&2; exit 2";
    for form in [code, json, &format!("{json}; {code}")] {
        let once = format!("[ -e ../state/asked ] && exit 0; touch ../state/asked; {form}");
        let finished = Session::new()
            .stub("hook", &once)
            .settings(&json!({"hooks": {"Stop": hook("", "stop")}}))
            .step(text("done"))
            .step(text("done again"))
            .run();
        assert_eq!(finished.result(), "done again", "{form}");
        let shown = finished.shown_at_end();
        assert!(shown.contains("Stop hook feedback:") && shown.contains("not yet"), "{form}: {shown}");
    }
}

/// Therefore only tiers that change nothing may end with a structured result.
#[test]
fn a_stop_hook_does_not_block_the_end_after_a_structured_result() {
    let mut steps = vec![tool("StructuredOutput", &json!({"summary": "all well"}))].into_iter();
    let finished = Session::new()
        .stub("hook", "echo 'not yet' >&2; exit 2")
        .settings(&json!({"hooks": {"Stop": hook("", "stop")}}))
        .client_arguments([
            "--json-schema",
            r#"{"type": "object", "properties": {"summary": {"type": "string"}}}"#,
        ])
        .answering(move |_| steps.next().or_else(|| Some(text("asked again"))))
        .run();
    assert_eq!(finished.marks("hook"), ["stop"]);
    assert_eq!(finished.result(), r#"{"summary":"all well"}"#);
}

#[test]
fn hooks_see_every_way_to_run_a_command_and_how_it_ended() {
    let events = [
        ("SessionStart", ""),
        ("PreToolUse", "Bash|Monitor"),
        ("PostToolUse", "Bash|Monitor"),
        ("PostToolUseFailure", "Bash|Monitor"),
        ("SessionEnd", ""),
    ];
    let hooks = events.map(|(event, matcher)| (event.to_owned(), hook(matcher, event)));
    let monitor =
        json!({"command": "docker ps", "description": "watch", "timeout_ms": 3000, "persistent": false});
    let finished = Session::new()
        .tools("Bash,Monitor")
        .client_arguments(["--disallowedTools", "Bash(helm upgrade:*)"])
        .stub("hook", r#"input=$(cat); printf '%s\n' "$input" >> "$CLAUDE_PROJECT_DIR/inputs""#)
        .stub("ssh", "exit 255")
        .settings(&json!({"hooks": Value::Object(hooks.into_iter().collect())}))
        .step(together([
            bash("docker restart jellyfin"),
            bash("ssh ie01 true"),
            bash("helm upgrade jellyfin ."),
        ]))
        .step(tool("Monitor", &monitor))
        .step(bash("until grep -qw ps ../marks; do sleep 0.05; done"))
        .run();

    let seen = finished.marks("hook");
    let times = |event: &str| seen.iter().filter(|mark| *mark == event).count();
    assert_eq!(times("SessionStart"), 1, "{seen:?}");
    assert_eq!(times("PreToolUse"), 5, "the command that the client itself refuses included: {seen:?}");
    assert_eq!(times("PostToolUse"), 3, "docker, Monitor and grep: {seen:?}");
    assert_eq!(times("PostToolUseFailure"), 1, "ssh, and not the refused helm: {seen:?}");
    assert_eq!(times("SessionEnd"), 1, "{seen:?}");
    assert_eq!(finished.marks("docker"), ["restart jellyfin", "ps"]);
    assert_eq!(finished.marks("helm"), [""; 0]);

    let inputs = finished.read("project/inputs");
    let inputs: Vec<Value> = inputs.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls = |event: &str| -> BTreeSet<&str> {
        let inputs = inputs.iter().filter(|input| input["hook_event_name"] == event);
        inputs.map(|input| input["tool_use_id"].as_str().unwrap()).collect()
    };
    assert_eq!(calls("PreToolUse").len(), 5, "each call has an id of its own");
    let mut ended = calls("PostToolUse");
    ended.extend(calls("PostToolUseFailure"));
    assert_eq!(ended.len(), 4);
    assert!(ended.is_subset(&calls("PreToolUse")), "a call keeps its id, so that its end can be reported");
    assert!(inputs.iter().all(|input| input["session_id"] == finished.session_id()));
    finished.tool_result(2).assert_refused("ermission");
}

#[test]
fn a_stop_hooks_verifier_gets_the_inline_prompt_and_can_block_the_stop() {
    let prompt = "Is jellyfin healthy? This is the hook's input: $ARGUMENTS";
    let finished = Session::new()
        .settings(&json!({"hooks": {"Stop": [{"hooks": [{"type": "agent", "prompt": prompt}]}]}}))
        .step(bash("docker restart jellyfin"))
        .step(text("all is well"))
        .verifier(verdict(false, "jellyfin answers 502"))
        .step(text("now all is well"))
        .verifier(verdict(true, ""))
        .run();

    let asked = finished.verifier_requests();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].conversation().contains("Is jellyfin healthy? This is the hook's input: {"));
    assert!(asked[0].conversation().contains("\"stop_hook_active\":false"), "{}", asked[0].conversation());
    assert!(finished.shown_at_end().contains("jellyfin answers 502"));
    assert_eq!(finished.result(), "now all is well");
}

#[test]
fn managed_hooks_run_when_a_project_disables_all_hooks() {
    let finished = Session::new()
        .stub("hook", "echo 'not today' >&2; exit 2")
        .managed_settings(json!({"hooks": {"PreToolUse": hook("Bash", "before")}}))
        .settings(&json!({"disableAllHooks": true}))
        .step(bash("docker restart jellyfin"))
        .run();
    finished.tool_result(0).assert_refused("not today");
}

#[test]
fn only_the_tools_that_are_named_are_there_for_subagents_too() {
    let brief =
        json!({"description": "look", "prompt": "count the containers", "subagent_type": "general-purpose"});
    let finished = Session::new()
        .tools("Bash,Task")
        .stub("hook", "exit 2")
        .settings(&json!({"hooks": {"PreToolUse": hook("Bash", "before")}}))
        .step(tool("Task", &brief))
        .subagent("count the containers", [bash("docker restart jellyfin"), text("counted")])
        .run();
    assert_eq!(finished.marks("hook"), ["before"], "a subagent's command is seen");
    assert_eq!(finished.marks("docker"), [""; 0]);
    for request in finished.agent_requests() {
        assert!(!request.tools().contains(&"Write"), "{:?}", request.tools());
    }
}

#[test]
fn an_agent_hook_with_a_prompt_file_is_dropped() {
    let finished = Session::new()
        .file("project/verify.md", "Is jellyfin healthy?")
        .stub("hook", "exit 0")
        .settings(&json!({"hooks": {"Stop": [{"hooks": [
            {"type": "agent", "prompt_file": "verify.md"},
            {"type": "command", "command": "hook", "args": ["stop"]},
        ]}]}}))
        .step(text("done"))
        .run();
    assert_eq!(finished.verifier_requests().len(), 0);
    assert_eq!(finished.marks("hook"), ["stop"], "the other hooks of the file run");
}

#[test]
fn an_answer_to_continue_does_not_block_a_stop() {
    let finished = Session::new()
        .stub("hook", r#"echo '{"continue": true, "reason": "Service jellyfin still unhealthy"}'"#)
        .settings(&json!({"hooks": {"Stop": hook("", "stop")}}))
        .step(text("done"))
        .step(text("done again"))
        .run();
    assert_eq!(finished.result(), "done");
}

#[test]
fn an_answer_with_continue_false_ends_the_session() {
    let block = r#"echo '{"continue": false, "stopReason": "enough"}'"#;
    let finished = Session::new()
        .stub("hook", block)
        .settings(&json!({"hooks": {"PostToolUse": hook("Bash", "after")}}))
        .commands(["docker ps", "docker images"])
        .run();
    assert_eq!(finished.marks("docker"), ["ps"]);
}

#[test]
fn a_matcher_selects_hooks_by_tool_source_and_kind_of_subagent() {
    let brief = json!({"description": "look", "prompt": "count the containers",
                       "subagent_type": "general-purpose", "run_in_background": false});
    let both = |one: &str, other: &str| {
        let (mut hooks, more) = (hook(one, one), hook(other, other));
        hooks.as_array_mut().unwrap().extend(more.as_array().unwrap().clone());
        hooks
    };
    let finished = Session::new()
        .tools("Bash,Read,Task")
        .stub("hook", "exit 0")
        .settings(&json!({"hooks": {
            "SessionStart": both("startup", "resume"),
            "PreToolUse": both("Bash", "Read"),
            "SubagentStart": both("general-purpose", "Explore"),
            "SubagentStop": both("general-purpose", "Explore"),
        }}))
        .step(bash("docker ps"))
        .step(tool("Task", &brief))
        .subagent("count the containers", [text("counted")])
        .run();
    assert_eq!(finished.marks("hook"), ["startup", "Bash", "general-purpose", "general-purpose"]);
}

#[test]
fn exit_code_two_drops_a_prompt() {
    let finished = Session::new()
        .stub("hook", "echo 'not at night' >&2; exit 2")
        .settings(&json!({"hooks": {"UserPromptSubmit": hook("", "prompt")}}))
        .step(bash("docker ps"))
        .run();
    assert_eq!(finished.agent_requests().len(), 0);
}

#[test]
fn exit_code_two_after_a_command_is_feedback_and_at_other_events_changes_nothing() {
    let brief = json!({"description": "look", "prompt": "count the containers",
                       "subagent_type": "general-purpose", "run_in_background": false});
    let finished = Session::new()
        .tools("Bash,Task")
        .stub("hook", r#"echo "word of $1" >&2; exit 2"#)
        .stub("ssh", "exit 255")
        .settings(&json!({"hooks": {
            "SessionStart": hook("", "SessionStart"),
            "PostToolUse": hook("Bash", "PostToolUse"),
            "PostToolUseFailure": hook("Bash", "PostToolUseFailure"),
            "SubagentStart": hook("", "SubagentStart"),
            "SessionEnd": hook("", "SessionEnd"),
        }}))
        .commands(["docker ps", "ssh ie01 true"])
        .step(tool("Task", &brief))
        .subagent("count the containers", [bash("docker images"), text("counted")])
        .step(text("done"))
        .run();
    assert_eq!(finished.marks("docker"), ["ps", "images"]);
    assert_eq!(finished.marks("ssh"), ["ie01 true"]);
    assert_eq!(finished.result(), "done");
    assert!(finished.shown_at_end().contains("word of PostToolUse"), "{}", finished.shown_at_end());
}
