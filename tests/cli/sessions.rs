//! `opsctl sessions`, and the hooks that record sessions.

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, call, passes};

fn tell(sandbox: &Sandbox, event: &str, more: &Value) -> Run {
    let mut input = json!({"session_id": "s", "cwd": "/app", "transcript_path": "/none.jsonl"});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let run = sandbox.hook(event, &input);
    assert_eq!(run.code, Some(0), "{run:?}");
    run
}

fn begins(sandbox: &Sandbox) {
    tell(sandbox, "session-start", &json!({"source": "startup", "model": "opus"}));
}

fn tool_begins(sandbox: &Sandbox, id: &str) {
    passes(&tell(sandbox, "session-state", &json!({"hook_event_name": "PreToolUse", "tool_use_id": id})));
}

fn tools_done(sandbox: &Sandbox, ids: &[&str]) -> Run {
    let calls: Vec<Value> = ids.iter().map(|id| json!({"tool_use_id": id})).collect();
    tell(sandbox, "post-tool-batch", &json!({"tool_calls": calls}))
}

fn state(sandbox: &Sandbox) -> String {
    sandbox.sql("SELECT state FROM hook_sessions")
}

fn listed(sandbox: &Sandbox, arguments: &[&str]) -> Vec<Value> {
    let run = sandbox.opsctl(&[&["sessions", "--json"], arguments].concat(), b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    serde_json::from_str::<Value>(&run.stdout).unwrap()["sessions"].as_array().unwrap().clone()
}

/// The program in the shell of an agent.
fn in_session(sandbox: &Sandbox, arguments: &[&str]) -> Run {
    let output = sandbox.command(arguments).env("CLAUDE_CODE_SESSION_ID", "s").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_chain_of_hand_overs_is_listed_with_its_cost() {
    let sandbox = Sandbox::new();
    begins(&sandbox);
    sandbox.sql(
        "INSERT INTO client_runs (session_id, tier, model, started_at, outcome, cost_usd, parent_session, first_session) VALUES
             ('first', 1, 'haiku', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'completed', 0.25, NULL, 'first'),
             ('s', 2, 'sonnet', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'completed', 0.5, 'first', 'first'),
             ('alone', 1, 'haiku', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'completed', 4, NULL, 'alone')",
    );
    let chain = json!({"parent_session": "first", "place": 2, "sessions": 2, "cost_usd": 0.75});
    assert_eq!(listed(&sandbox, &[])[0]["chain"], chain);
    let shown = sandbox.opsctl(&["sessions"], b"").stdout;
    assert!(shown.contains("2 of 2, $0.7500") && shown.contains(" first "), "{shown}");
    assert_eq!(sandbox.opsctl(&["report", "--html", "r.html", "--no-hosts"], b"").code, Some(0));
    let page = sandbox.read("r.html");
    assert!(page.contains("2 of 2, $0.75, from <code>first</code>") && page.contains("1 of 2, $0.75<"));
    assert_eq!(page.matches("$0.75").count(), 2, "a session without hand-overs has no chain");
}

#[test]
fn a_session_is_followed_from_its_start_to_its_end() {
    let sandbox = Sandbox::new()
        .with("CLAUDEOPS_TIER", "2")
        .with("CLAUDE_SESSION_MODE", "mission")
        .with("CLAUDE_SESSION_ROLE", "nurse")
        .with("MISSION_EXECUTION_ID", "m1")
        .with("TMUX_PANE", "%12")
        .with("CLAUDE_SESSION_ID", "mine");
    begins(&sandbox);
    let row = "SELECT session_id, client_session_id, tier, mode, role, model, source, cwd, transcript, parent_mission,
                      tmux_pane, state
               FROM hook_sessions";
    assert_eq!(sandbox.sql(row), "mine|s|2|mission|nurse|opus|startup|/app|/none.jsonl|m1|%12|active");
    passes(&tell(&sandbox, "user-prompt-submit", &json!({"prompt": "begin"})));
    tool_begins(&sandbox, "t1");
    assert_eq!(state(&sandbox), "tool_active");
    passes(&sandbox.after("t1", "echo one"));
    assert_eq!(state(&sandbox), "tool_active", "other tools of the batch may run");
    passes(&tools_done(&sandbox, &["t1"]));
    assert_eq!(state(&sandbox), "active");
    passes(&tell(&sandbox, "subagent-start", &json!({"agent_id": "a1", "agent_type": "general-purpose"})));
    assert_eq!(listed(&sandbox, &[])[0]["subagents"][0]["ended_at"], json!(null));
    passes(&tell(&sandbox, "subagent-stop", &json!({"agent_id": "a1", "agent_type": "general-purpose"})));
    passes(&tell(&sandbox, "stop", &json!({"last_assistant_message": "[EVENT:warning:jellyfin] slow"})));
    assert_eq!(state(&sandbox), "idle");
    assert_eq!(sandbox.sql("SELECT count(*) FROM events"), "0", "only `opsctl session` records event lines");
    passes(&tell(&sandbox, "session-end", &json!({"reason": "clear"})));
    assert_eq!(state(&sandbox), "idle", "with a new context the session goes on");
    passes(&tell(&sandbox, "session-end", &json!({"reason": "other"})));
    let session = listed(&sandbox, &[]).remove(0);
    assert_eq!((&session["state"], &session["end_reason"]), (&json!("ended"), &json!("other")));
    assert_eq!(session["tmux_pane"], "%12");
    assert!(session["subagents"][0]["ended_at"].is_string(), "{session}");
    tell(&sandbox, "session-start", &json!({"source": "resume"}));
    let session = listed(&sandbox, &["--active"]).remove(0);
    assert_eq!(
        (&session["state"], &session["source"], &session["ended_at"]),
        (&json!("active"), &json!("resume"), &json!(null))
    );
}

#[test]
fn a_late_report_does_not_change_the_state() {
    let sandbox = Sandbox::new();
    begins(&sandbox);
    tools_done(&sandbox, &["t1"]);
    tool_begins(&sandbox, "t1");
    assert_eq!(state(&sandbox), "active", "the tool was done before anybody heard that it had begun");
    assert_eq!(sandbox.sql("SELECT count(*) FROM hook_calls"), "0", "and nothing is left of it");
    tool_begins(&sandbox, "t2");
    passes(&tell(&sandbox, "stop", &json!({})));
    assert_eq!(state(&sandbox), "idle", "a tool without a reported end ends with the turn");
}

#[test]
fn a_session_without_a_status_is_reminded_every_two_minutes() {
    let sandbox = Sandbox::new();
    begins(&sandbox);
    let prompt = || tell(&sandbox, "user-prompt-submit", &json!({"prompt": "go on"})).stdout;
    assert_eq!(prompt(), "");
    let later = || {
        sandbox.sql(
            "UPDATE hook_sessions SET reminded_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-121 seconds')",
        )
    };
    later();
    let asked = prompt();
    let words = "[CLAUDE OS SYS: INFO]: Consider setting a session status with `opsctl sessions status";
    assert!(asked.contains(words), "{asked}");
    assert_eq!(prompt(), "", "once in two minutes");
    later();
    assert!(tools_done(&sandbox, &["t1"]).stdout.contains("opsctl sessions status"));
    let own = in_session(&sandbox, &["sessions", "status", "token=abcdef123456 \u{1b}[2J at it"]);
    assert_eq!((own.code, own.stderr.as_str()), (Some(0), ""), "{own:?}");
    later();
    assert_eq!(prompt(), "");
    assert_eq!(listed(&sandbox, &[])[0]["status"], "token=[redacted]  [2J at it");
}

#[test]
fn a_status_needs_a_session_and_words() {
    let sandbox = Sandbox::new();
    let run = sandbox.opsctl(&["sessions", "status", "x"], b"");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("no session: run this in an agent's shell") && run.stderr.lines().count() == 1,
        "{run:?}"
    );
    let run = in_session(&sandbox, &["sessions", "status", " "]);
    assert!(run.code == Some(1) && run.stderr.contains("the status is empty"), "{run:?}");
}

#[test]
fn a_prompt_with_the_marker_gets_the_latest_events() {
    let sandbox = Sandbox::new();
    begins(&sandbox);
    passes(&tell(&sandbox, "stop", &json!({})));
    let wake_up = || {
        let run = tell(&sandbox, "user-prompt-submit", &json!({"prompt": "[claude-ops:wake-up]\nWhat now?"}));
        let json: Value = serde_json::from_str(&run.stdout).unwrap();
        json["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
    };
    assert!(wake_up().contains("Nothing has happened."));
    let within = tell(&sandbox, "user-prompt-submit", &json!({"prompt": "What is [claude-ops:wake-up]?"}));
    assert!(!within.stdout.contains("Nothing has happened."), "{within:?}");
    passes(&tell(&sandbox, "stop", &json!({})));
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    crate::sandbox::denied(&sandbox.before("t2", "docker restart $(docker ps -q)"));
    let shown = wake_up();
    assert!(
        shown.contains("| sess-abc-123 | warning | jellyfin | Container restarted: docker restart jellyfin"),
        "{shown}"
    );
    assert!(shown.contains("Denied (1):") && shown.contains("docker restart $(docker ps)"), "{shown}");
}

#[test]
fn a_session_whose_process_is_gone_is_stale() {
    let sandbox = Sandbox::new();
    begins(&sandbox);
    assert_eq!(listed(&sandbox, &["--stale"]), [Value::Null; 0], "its process is this test's");
    sandbox.sql("UPDATE hook_sessions SET process = replace(process, ' ', ' 1')");
    assert_eq!(
        listed(&sandbox, &["--stale"]),
        [Value::Null; 0],
        "after a reboot, the state of the process is unknown"
    );
    begins(&sandbox);
    sandbox.sql("UPDATE hook_sessions SET process = '1' || process");
    assert_eq!(listed(&sandbox, &["--stale"])[0]["stale"], "gone");
    assert_eq!(listed(&sandbox, &["--active"]), [Value::Null; 0]);
    sandbox.sql("UPDATE hook_sessions SET process = NULL");
    assert_eq!(listed(&sandbox, &["--stale"]), [Value::Null; 0]);
    sandbox.sql("UPDATE hook_sessions SET last_seen_at = '2026-03-21T14:00:00Z'");
    assert_eq!(listed(&sandbox, &["--stale"])[0]["stale"], "silent");
    assert_eq!(listed(&sandbox, &["--stale", "--stale-after", "3650d"]), [Value::Null; 0]);
    let run = sandbox.opsctl(&["sessions"], b"");
    assert!(run.stdout.starts_with("STATE ") && run.stdout.contains("  s"), "{run:?}");
}

#[test]
fn a_registry_that_cannot_be_written_is_noted_once_and_stops_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("claudeops.db", &"no database".repeat(100));
    let run = tell(&sandbox, "session-start", &json!({"source": "startup"}));
    assert_eq!(run.stderr.matches("claudeops.db").count(), 1, "{run:?}");
    for event in ["user-prompt-submit", "post-tool-batch"] {
        passes(&tell(&sandbox, event, &json!({"prompt": "x"})));
    }
    tool_begins(&sandbox, "t1");
    assert_eq!(sandbox.hook("pre-tool-use", &call("t1", "ls")).code, Some(0));
}

#[test]
fn a_locked_ledger_does_not_delay_prompts() {
    let sandbox = Sandbox::new();
    begins(&sandbox);
    let mut holder = std::process::Command::new("sqlite3")
        .arg(sandbox.path("claudeops.db"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = holder.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"BEGIN IMMEDIATE; SELECT 'held';\n").unwrap();
    let mut held = [0; 5];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut held).unwrap();
    let began = std::time::Instant::now();
    passes(&tell(&sandbox, "post-tool-batch", &json!({"tool_calls": []})));
    assert!(began.elapsed() < std::time::Duration::from_secs(3), "{:?}", began.elapsed());
    drop(stdin);
    holder.wait().unwrap();
}
