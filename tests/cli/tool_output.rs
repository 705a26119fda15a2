//! Secrets in the output of tools: `hook post-tool-use` gives the client another output in its place.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::guard_process::Guarded;
use crate::sandbox::{Run, Sandbox, call, passes};

const SECRET: &str = "hunter2xyz";

/// A secret in the output of a program, beside other output.
const OUTPUT: &str = "user=bob\nDB_PASSWORD=hunter2xyz\nport=5432\n";
const REDACTED: &str = "user=bob\nDB_PASSWORD=[redacted]\nport=5432\n";

fn ran(command: &str, stdout: &str) -> Value {
    let mut input = call("t1", command);
    input["tool_response"] = json!({"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false});
    input
}

fn failed(command: &str, error: &str) -> Value {
    let mut input = call("t1", command);
    input["error"] = json!(error);
    input
}

/// The output that the model reads instead; `None` if the answer has none.
fn output(run: &Run) -> Option<Value> {
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    if run.stdout.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PostToolUse");
    Some(answer["hookSpecificOutput"]["updatedToolOutput"].clone())
}

fn messages(sandbox: &Sandbox) -> Vec<String> {
    let run = sandbox.opsctl(&["events", "--json"], b"");
    let events: Value = serde_json::from_str(&run.stdout).unwrap();
    let events = events["events"].as_array().unwrap();
    events.iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn secrets_are_replaced_in_the_shape_of_each_tool() {
    for (tool, input, given, expected) in [
        (
            "Bash",
            json!({"command": "docker inspect web"}),
            json!({"stdout": OUTPUT, "stderr": "token: hunter2xyz", "interrupted": false, "isImage": false, "returnCodeInterpretation": null}),
            json!({"stdout": REDACTED, "stderr": "token: [redacted]", "interrupted": false, "isImage": false, "returnCodeInterpretation": null}),
        ),
        (
            "Read",
            json!({"file_path": "/app/app.conf"}),
            json!({"type": "text", "file": {"filePath": "/app/app.conf", "content": OUTPUT, "numLines": 3, "startLine": 1, "totalLines": 3}}),
            json!({"type": "text", "file": {"filePath": "/app/app.conf", "content": REDACTED, "numLines": 3, "startLine": 1, "totalLines": 3}}),
        ),
        (
            "Grep",
            json!({"pattern": "PASS", "path": "/app", "output_mode": "content"}),
            json!({"mode": "content", "numFiles": 0, "filenames": [], "content": "app.conf:2:DB_PASSWORD=hunter2xyz", "numLines": 1}),
            json!({"mode": "content", "numFiles": 0, "filenames": [], "content": "app.conf:2:DB_PASSWORD=[redacted]", "numLines": 1}),
        ),
        (
            "mcp__portainer__inspect",
            json!({"name": "web"}),
            json!([{"type": "text", "text": OUTPUT}]),
            json!([{"type": "text", "text": REDACTED}]),
        ),
        (
            "mcp__portainer__inspect",
            json!({"name": "web"}),
            json!({"content": [{"type": "text", "text": "ok"}], "structuredContent": {"password": SECRET, "port": 5432, "tls": true}}),
            json!({"content": [{"type": "text", "text": "ok"}], "structuredContent": {"password": "[redacted]", "port": 5432, "tls": true}}),
        ),
    ] {
        let sandbox = Sandbox::new();
        let input = json!({"session_id": "s", "tool_use_id": "t1", "tool_name": tool, "tool_input": input, "tool_response": given});
        let run = sandbox.hook("post-tool-use", &input);
        assert_eq!(output(&run), Some(expected), "{tool}");
        assert!(!run.stdout.contains(SECRET), "{run:?}");
    }
}

#[test]
fn output_without_a_secret_is_not_answered() {
    let sandbox = Sandbox::new();
    for stdout in
        ["", "total 3\n", "sha256:9b2a28b33e3f2a91c0be773f2a91c0be773f2a91c0be773f2a91c0be773f2a91\n"]
    {
        let run = sandbox.hook("post-tool-use", &ran("ls -la", stdout));
        assert_eq!(run, Run { code: Some(0), stdout: String::new(), stderr: String::new() });
    }
    assert!(!sandbox.has_ledger());
}

#[test]
fn the_values_of_the_sessions_own_secret_variables_are_replaced() {
    let sandbox = Sandbox::new().with("OWN_SERVICE_TOKEN", "value-of-own-variable");
    let run = sandbox.hook("post-tool-use", &ran("app show", "it is value-of-own-variable here"));
    assert_eq!(output(&run).unwrap()["stdout"], "it is [redacted] here");
}

#[test]
fn redact_output_false_replaces_nothing() {
    let sandbox = Sandbox::new();
    for rendered in [false, true] {
        for (value, replaces) in [("true", true), ("false", false)] {
            sandbox.write("hosts.yaml", &format!("policy: {{redact_output: {value}}}\n"));
            if rendered {
                assert_eq!(sandbox.opsctl(&["render", "--empty"], b"").code, Some(0));
            }
            let run = sandbox.hook("post-tool-use", &ran("docker inspect web", OUTPUT));
            assert_eq!(output(&run).is_some(), replaces, "{value}: {run:?}");
        }
    }
}

#[test]
fn the_hook_is_called_after_tools_whose_output_is_searched() {
    let matchers = |hosts: &str| {
        let sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", hosts);
        let run = sandbox.opsctl(&["render", "--empty"], b"");
        assert_eq!(run.code, Some(0), "{run:?}");
        let settings: Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).unwrap();
        let groups = settings["hooks"]["PostToolUse"].as_array().unwrap().clone();
        groups.iter().map(|group| group["matcher"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let tools = "tools: {mcp__forge__open: {action: pull_request}}";
    assert_eq!(
        matchers(&format!("policy: {{{tools}}}\n")),
        ["Bash|Monitor|PowerShell|Read|Grep|TaskOutput|BashOutput", "mcp__.*"]
    );
    assert_eq!(
        matchers(&format!("policy: {{redact_output: false, {tools}}}\n")),
        ["Bash|Monitor|PowerShell|mcp__forge__open"]
    );
}

#[test]
fn redacted_secrets_are_counted_in_an_event_without_them() {
    let sandbox = Sandbox::new();
    let three = format!("{OUTPUT}API_TOKEN=hunter2xyz\npassword: hunter2xyz\n");
    sandbox.hook("post-tool-use", &ran("docker inspect web", &three));
    sandbox.hook("post-tool-use", &ran("mysql -phunter2xyz -e 'select 1'", OUTPUT));
    let read = json!({"session_id": "s", "tool_use_id": "t2", "tool_name": "Read", "tool_input": {"file_path": "/app/a.conf"},
        "tool_response": {"type": "text", "file": {"content": OUTPUT}}});
    sandbox.hook("post-tool-use", &read);
    let tool = json!({"session_id": "s", "tool_use_id": "t3", "tool_name": "mcp__forge__show", "tool_input": {},
        "tool_response": [{"type": "text", "text": OUTPUT}]});
    sandbox.hook("post-tool-use", &tool);
    assert_eq!(
        messages(&sandbox),
        [
            "1 secret redacted in the output of `mcp__forge__show`",
            "1 secret redacted in the output of `Read /app/a.conf`",
            "1 secret redacted in the output of `mysql -p[redacted] -e 'select 1'`",
            "3 secrets redacted in the output of `docker inspect web`",
        ]
    );
    let run = sandbox.opsctl(&["report", "--html", "report.html", "--no-hosts"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    let page = sandbox.read("report.html");
    assert!(page.contains("3 secrets redacted in the output of <code>docker inspect web</code>"), "{page}");
    assert!(!page.contains(SECRET) && !sandbox.sql(".dump").contains(SECRET));
}

#[test]
fn secrets_of_a_failed_command_are_reported_because_the_client_shows_them() {
    let sandbox = Sandbox::new();
    let run =
        sandbox.hook("post-tool-use-failure", &failed("app --check", "Exit code 3\nDB_PASSWORD=hunter2xyz"));
    assert_eq!(run, Run { code: Some(0), stdout: String::new(), stderr: String::new() });
    assert_eq!(
        messages(&sandbox),
        [
            "1 secret in the output of `app --check` was not redacted: the command failed, and the client shows such output unchanged"
        ]
    );
    assert!(!sandbox.sql(".dump").contains(SECRET));
}

#[test]
fn secrets_are_replaced_while_the_ledger_cannot_be_used() {
    let sandbox = Sandbox::new().without_usable_ledger();
    let run = sandbox.hook("post-tool-use", &ran("docker inspect web", OUTPUT));
    assert_eq!(output(&run).unwrap()["stdout"], REDACTED);
    let kept = sandbox.read("guard-failures.jsonl");
    assert!(kept.contains("1 secret redacted in the output of `docker inspect web`"), "{kept}");
    assert!(!kept.contains(SECRET), "{kept}");
}

#[test]
fn an_action_is_settled_and_the_secrets_of_its_output_are_replaced() {
    let sandbox = Sandbox::new();
    passes(&sandbox.before("t1", "docker restart web"));
    let run = sandbox.hook("post-tool-use", &ran("docker restart web", OUTPUT));
    assert_eq!(output(&run).unwrap()["stdout"], REDACTED);
    assert_eq!(sandbox.sql("SELECT state FROM hook_actions"), "done");
    assert!(messages(&sandbox).iter().any(|message| message.contains("1 secret redacted")));
}

#[test]
fn the_guard_records_the_secrets_and_without_it_they_are_replaced_here() {
    let mut guarded = Guarded::new();
    let run = guarded.agent.hook("post-tool-use", &ran("docker inspect web", OUTPUT));
    assert_eq!(output(&run).unwrap()["stdout"], REDACTED);
    // The guard answers before it records.
    let began = Instant::now();
    while messages(&guarded.guard).is_empty() && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(messages(&guarded.guard), ["1 secret redacted in the output of `docker inspect web`"]);
    passes(&guarded.agent.before("t1", "docker restart web"));
    guarded.kill();
    for command in ["docker inspect web", "docker restart web"] {
        let run = guarded.agent.hook("post-tool-use", &ran(command, OUTPUT));
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.stdout.contains("DB_PASSWORD=[redacted]") && !run.stdout.contains(SECRET), "{run:?}");
    }
    let kept = guarded.agent.read("guard-undelivered.jsonl");
    assert!(kept.contains("docker restart web") && !kept.contains(SECRET), "{kept}");
}

#[test]
fn a_guard_whose_policy_replaces_nothing_decides_for_its_sessions() {
    let guard = Sandbox::new();
    guard.write("hosts.yaml", "policy: {redact_output: false}\n");
    let guarded = Guarded::with(guard, |agent| agent);
    let run = guarded.agent.hook("post-tool-use", &ran("docker inspect web", OUTPUT));
    assert_eq!(output(&run), None);
}
