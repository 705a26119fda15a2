//! Context window warnings: one for each level, at the events where the agent can act on them.

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, passes};

/// An answer in the client's record, with this number of tokens in the context.
fn answer(model: &str, tokens: u64) -> String {
    json!({"type": "assistant", "isSidechain": false, "message": {"model": model, "content": [],
        "usage": {"input_tokens": 2, "cache_read_input_tokens": tokens - 10, "cache_creation_input_tokens": 3, "output_tokens": 5}}})
    .to_string()
}

/// Fills the context of the session up to this number of tokens.
fn fill(sandbox: &Sandbox, tokens: u64) {
    let earlier = answer("claude-sonnet-4-5", 50_000);
    let result = json!({"type": "user", "message": {"content": "x".repeat(1000)}});
    let text = format!("{earlier}\n{result}\n{}\n{result}\n", answer("claude-sonnet-4-5", tokens));
    sandbox.write("record.jsonl", &text);
}

fn hook(sandbox: &Sandbox, event: &str, more: &Value) -> Run {
    let mut input = json!({"session_id": "s", "transcript_path": sandbox.path("record.jsonl"), "cwd": "/app",
        "prompt": "go on", "tool_calls": []});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    sandbox.hook(event, &input)
}

/// The text that becomes context at this event; empty for none.
fn warning_at(sandbox: &Sandbox, event: &str, more: &Value) -> String {
    let run = hook(sandbox, event, more);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    if run.stdout.is_empty() {
        return String::new();
    }
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let output = &json["hookSpecificOutput"];
    assert_eq!(json.as_object().unwrap().len(), 1, "{json}");
    let names =
        [("post-tool-batch", "PostToolBatch"), ("user-prompt-submit", "UserPromptSubmit"), ("stop", "Stop")];
    let name = names.into_iter().find(|(kebab, _)| *kebab == event).unwrap().1;
    assert_eq!(output["hookEventName"], name);
    output["additionalContext"].as_str().unwrap().to_owned()
}

fn after_tools(sandbox: &Sandbox) -> String {
    warning_at(sandbox, "post-tool-batch", &json!({}))
}

#[test]
fn each_level_is_reported_once() {
    let sandbox = Sandbox::new();
    let mut shown = Vec::new();
    for percent in [10, 59, 60, 61, 79, 80, 85, 90, 94, 95, 99, 100] {
        fill(&sandbox, percent * 2_000);
        for _ in 0..2 {
            let words = after_tools(&sandbox);
            shown.extend(
                words
                    .split(". ")
                    .next()
                    .filter(|words| !words.is_empty())
                    .map(|words| (percent, words.to_owned())),
            );
        }
    }
    let expected = [
        (60, "[CLAUDE OS SYS: INFO]: Context at 60% - Consider writing reset notes soon"),
        (80, "[CLAUDE OS SYS: WARNING]: Context at 80% - Write reset notes and prepare to transition"),
        (90, "[CLAUDE OS SYS: WARNING]: Context at 90% - URGENT"),
        (95, "[CLAUDE OS SYS: WARNING]: Context at 95% - CRITICAL"),
    ]
    .map(|(level, words)| (level, words.to_owned()));
    assert_eq!(shown, expected);
    assert_eq!(sandbox.sql("SELECT session_id, context_level FROM session_reminders"), "s|95");
}

#[test]
fn a_jump_is_reported_as_the_highest_level_with_advice() {
    let sandbox = Sandbox::new();
    fill(&sandbox, 100_000);
    assert_eq!(after_tools(&sandbox), "");
    assert_eq!(
        sandbox.sql("SELECT count(*) FROM session_reminders"),
        "0",
        "nothing is recorded without a warning"
    );
    fill(&sandbox, 184_000);
    let shown = after_tools(&sandbox);
    assert!(
        shown.contains(
            "Context at 90% - URGENT. 184,000 of 200,000 tokens (92%) of this session are used. STOP"
        ),
        "{shown}"
    );
    assert!(shown.contains("handoff.json") && shown.contains("`opsctl handoff write`"), "{shown}");
    assert_eq!(after_tools(&sandbox), "");
}

#[test]
fn a_prompt_and_a_batch_of_tools_each_report_a_level_once() {
    let sandbox = Sandbox::new();
    fill(&sandbox, 130_000);
    let shown = warning_at(&sandbox, "user-prompt-submit", &json!({}));
    assert!(shown.contains("reset notes soon. 130,000 of 200,000 tokens (65%)"), "{shown}");
    assert_eq!(after_tools(&sandbox), "");
    fill(&sandbox, 165_000);
    assert!(after_tools(&sandbox).contains("Context at 80%"));
    assert_eq!(warning_at(&sandbox, "user-prompt-submit", &json!({})), "");
    assert!(
        warning_at(&sandbox, "user-prompt-submit", &json!({"session_id": "another"}))
            .contains("Context at 80%")
    );
}

#[test]
fn at_its_end_a_session_is_blocked_once_for_high_levels() {
    let sandbox = Sandbox::new();
    fill(&sandbox, 130_000);
    passes(&hook(&sandbox, "stop", &json!({"stop_hook_active": false})));
    assert!(after_tools(&sandbox).contains("Context at 60%"), "the next event gets the warning");
    fill(&sandbox, 165_000);
    passes(&hook(&sandbox, "stop", &json!({"stop_hook_active": true})));
    assert!(
        warning_at(&sandbox, "stop", &json!({"stop_hook_active": false}))
            .starts_with("[CLAUDE OS SYS: WARNING]: Context at 80%. 165,000 of")
    );
    passes(&hook(&sandbox, "stop", &json!({"stop_hook_active": false})));
}

#[test]
fn a_stop_that_is_blocked_anyway_includes_the_context_warning() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "hosts.yaml",
        "services: {jellyfin: {containers: [], units: [none], health: {url: 'http://127.0.0.1:1/', timeout: 1s}}}\n\
         policy: {verify: {grace: 1s, deadline: 2s}}\n",
    );
    sandbox.before("t1", "docker restart jellyfin");
    sandbox.after("t1", "docker restart jellyfin");
    fill(&sandbox, 130_000);
    let stop = json!({"session_id": "sess-abc-123", "stop_hook_active": true});
    let run = hook(&sandbox, "stop", &stop);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(
        run.stderr.contains("Service jellyfin still unhealthy:\n")
            && run.stderr.contains("\n\n[CLAUDE OS SYS: INFO]: Memory check (60% context used). 130,000 of"),
        "{run:?}"
    );
    let run = hook(&sandbox, "stop", &stop);
    assert!(run.code == Some(2) && !run.stderr.contains("Memory check"), "{run:?}");
}

#[test]
fn an_emptied_context_fills_again() {
    let sandbox = Sandbox::new();
    let starts = |source: &str| {
        let run = hook(&sandbox, "session-start", &json!({"source": source}));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    };
    fill(&sandbox, 185_000);
    assert!(after_tools(&sandbox).contains("Context at 90%"));
    starts("resume");
    assert_eq!(after_tools(&sandbox), "", "what goes on is as full as before");
    for source in ["compact", "clear"] {
        starts(source);
        assert!(after_tools(&sandbox).contains("Context at 90%"), "{source}");
        assert_eq!(after_tools(&sandbox), "");
    }
    // Until the next answer nothing is known of what is left.
    starts("compact");
    let before = sandbox.read("record.jsonl");
    sandbox.write(
        "record.jsonl",
        &format!("{before}{}\n", json!({"type": "system", "subtype": "compact_boundary"})),
    );
    assert_eq!(warning_at(&sandbox, "user-prompt-submit", &json!({})), "");
}

#[test]
fn tools_of_a_subagent_cause_no_context_warning() {
    let sandbox = Sandbox::new();
    fill(&sandbox, 185_000);
    assert_eq!(
        warning_at(&sandbox, "post-tool-batch", &json!({"agent_id": "a1", "agent_type": "Explore"})),
        ""
    );
    assert!(after_tools(&sandbox).contains("Context at 90%"));
}

#[test]
fn the_window_is_that_of_the_model() {
    let shown = |hosts: &str, lines: &[String]| {
        let sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", hosts);
        sandbox.write("record.jsonl", &lines.join("\n"));
        let unrendered = after_tools(&sandbox);
        let rendered = Sandbox::new();
        rendered.write("hosts.yaml", hosts);
        rendered.write("record.jsonl", &lines.join("\n"));
        assert_eq!(rendered.opsctl(&["render", "--empty"], b"").code, Some(0));
        std::fs::remove_file(rendered.path("hosts.yaml")).unwrap();
        assert_eq!(after_tools(&rendered), unrendered, "rendered or not");
        unrendered.split(" of this").next().unwrap().rsplit(". ").next().unwrap().to_owned()
    };
    let identity = json!({"type": "attachment", "attachment": {"type": "model", "identity": {"modelId": "claude-sonnet-4-5[1m]"}}});
    assert_eq!(shown("", &[answer("claude-opus-5-5", 190_000)]), "");
    assert_eq!(shown("", &[answer("claude-opus-5-5", 650_000)]), "650,000 of 1,000,000 tokens (65%)");
    assert_eq!(shown("", &[identity.to_string(), answer("claude-sonnet-4-5", 190_000)]), "");
    assert_eq!(shown("", &[answer("claude-sonnet-4-5", 300_000)]), "", "it must have a larger one");
    let stated = "context: {windows: {local: 32768, claude-opus-5: 300000}}\n";
    assert_eq!(shown(stated, &[answer("local-7", 30_000)]), "30,000 of 32,768 tokens (91%)");
    assert_eq!(shown(stated, &[answer("claude-opus-5-5", 190_000)]), "190,000 of 300,000 tokens (63%)");
}

#[test]
fn tier_3_has_no_tier_to_hand_over_to() {
    let rendered = Sandbox::new();
    rendered.write("hosts.yaml", "services: {jellyfin: {}}\n");
    assert_eq!(rendered.opsctl(&["render", "--empty", "--tier", "3"], b"").code, Some(0));
    for sandbox in [Sandbox::new().with("CLAUDEOPS_TIER", "3"), rendered] {
        fill(&sandbox, 165_000);
        let shown = after_tools(&sandbox);
        assert!(shown.contains("[EVENT:warning:SERVICE]") && !shown.contains("handoff"), "{shown}");
    }
}

#[test]
fn without_a_readable_record_no_warning_is_given() {
    let sandbox = Sandbox::new();
    for path in ["/does/not/exist", "/dev/zero", "/", "", "a\u{0}b"] {
        assert_eq!(warning_at(&sandbox, "post-tool-batch", &json!({"transcript_path": path})), "");
    }
    for path in [json!(null), json!(7), json!(["x"])] {
        assert_eq!(warning_at(&sandbox, "user-prompt-submit", &json!({"transcript_path": path})), "");
    }
    fill(&sandbox, 190_000);
    assert_eq!(
        warning_at(&sandbox, "post-tool-batch", &json!({"session_id": ""})),
        "",
        "no session to record it for"
    );
}

#[test]
fn warnings_are_given_with_a_complaint_if_they_cannot_be_recorded() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("claudeops.db")).unwrap();
    fill(&sandbox, 165_000);
    for _ in 0..2 {
        let run = hook(&sandbox, "post-tool-batch", &json!({}));
        assert!(run.stdout.contains("Context at 80%"), "{run:?}");
        assert!(run.stderr.contains("warned twice") && run.stderr.lines().count() == 1, "{run:?}");
    }
}

#[test]
fn a_background_session_is_asked_once_to_report() {
    let sandbox = Sandbox::new().with("CLAUDE_SESSION_MODE", "background");
    let run = hook(&sandbox, "stop", &json!({"last_assistant_message": "All is well."}));
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(
        run.stderr.starts_with(
            "[CLAUDE OS SYS: INFO]: Reminder - Ping before ending. This session runs unattended"
        ) && run.stderr.contains("[EVENT:info]"),
        "{run:?}"
    );
    assert!(run.stderr.contains("`opsctl handoff write`"), "{run:?}");
    passes(&hook(&sandbox, "stop", &json!({"stop_hook_active": true})));
    passes(&hook(&sandbox, "stop", &json!({})));
    // Another one is asked for itself, even where a hook has sent it on already.
    assert_eq!(hook(&sandbox, "stop", &json!({"session_id": "t", "stop_hook_active": true})).code, Some(2));
}

#[test]
fn a_session_that_has_reported_is_not_asked() {
    let background = || Sandbox::new().with("CLAUDE_SESSION_MODE", "background");
    let not_asked =
        |sandbox: &Sandbox| passes(&hook(sandbox, "stop", &json!({"last_assistant_message": "done"})));
    // In the last words.
    let words = json!({"last_assistant_message": "Done.\n\n- [EVENT:info:jellyfin] It runs again.\n"});
    passes(&hook(&background(), "stop", &words));
    // By an event that was written down before.
    let sandbox = background();
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    sandbox.sql(
        "INSERT INTO events (session_id, level, message, created_at, source)
                 VALUES ('s', 'info', 'seen', '2026-03-21T14:00:00Z', 'llm')",
    );
    not_asked(&sandbox);
    // By a hand-over, from the shell of the session.
    let sandbox = background().with("CLAUDE_CODE_SESSION_ID", "s");
    let handoff = json!({"schema_version": 1, "recommended_tier": 2, "services_affected": ["jellyfin"],
        "check_results": [{"service": "jellyfin", "check_type": "http", "status": "unhealthy"}],
        "investigation_findings": "it is down"});
    let run = sandbox.opsctl(&["handoff", "write"], handoff.to_string().as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    not_asked(&sandbox);
    // By a notification that has been sent, however it was sent.
    let tool = "policy: {tools: {mcp__chat__post: {action: notification}}}\n";
    for input in [
        json!({"tool_name": "Bash", "tool_input": {"command": "apprise -b hello json://x"}}),
        json!({"tool_name": "mcp__chat__post", "tool_input": {"text": "hello"}}),
    ] {
        let sandbox = background();
        sandbox.write("hosts.yaml", tool);
        passes(&hook(&sandbox, "post-tool-use", &input));
        not_asked(&sandbox);
        let failed = background();
        failed.write("hosts.yaml", tool);
        passes(&hook(&failed, "post-tool-use-failure", &input));
        assert_eq!(hook(&failed, "stop", &json!({})).code, Some(2), "it has not been sent: {input}");
    }
}

#[test]
fn only_background_sessions_are_asked_to_report() {
    passes(&hook(&Sandbox::new(), "stop", &json!({})));
    for mode in ["interactive", "mission"] {
        passes(&hook(&Sandbox::new().with("CLAUDE_SESSION_MODE", mode), "stop", &json!({})));
    }
    // What cannot be remembered would be asked without end.
    let broken = Sandbox::new().with("CLAUDE_SESSION_MODE", "background");
    std::fs::create_dir(broken.path("claudeops.db")).unwrap();
    let run = hook(&broken, "stop", &json!({}));
    assert!(run.code == Some(0) && run.stderr.contains("not asked for a report"), "{run:?}");
}

#[test]
fn a_record_that_is_not_there_is_waited_for_once() {
    let sandbox = Sandbox::new();
    let batch = json!({"tool_calls": [{"tool_use_id": "toolu_1"}]});
    let took = || {
        let began = std::time::Instant::now();
        assert_eq!(warning_at(&sandbox, "post-tool-batch", &batch), "");
        began.elapsed()
    };
    let patience = std::time::Duration::from_millis(500);
    assert!(took() >= patience);
    assert_eq!(sandbox.sql("SELECT record_missing FROM session_reminders WHERE session_id = 's'"), "1");
    // With some allowance for a busy machine: it looks once, and no more.
    let quickest = (0..10).map(|_| took()).min().unwrap();
    assert!(quickest < patience, "{quickest:?}");
    // It is written a little later than the hook is called.
    let call = json!({"type": "assistant", "message": {"model": "claude-sonnet-4-5",
        "content": [{"type": "tool_use", "id": "toolu_1"}], "usage": {"input_tokens": 165_000}}});
    let shown = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            sandbox.write("record.jsonl", &format!("{call}\n"));
        });
        warning_at(
            &sandbox,
            "post-tool-batch",
            &json!({"session_id": "t", "tool_calls": [{"tool_use_id": "toolu_1"}]}),
        )
    });
    assert!(shown.contains("Context at 80%"), "{shown}");
}
