//! `opsctl session` with clients that misbehave; `tests/e2e` tests the real client.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// A sandbox whose client runs this shell script.
fn with_client(behaviour: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let client = sandbox.write("bin/claude", &format!("#!/bin/sh\n{behaviour}\n"));
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    let results = sandbox.path("results").display().to_string();
    sandbox.with("CLAUDEOPS_CLIENT", client.to_str().unwrap()).with("CLAUDEOPS_RESULTS_DIR", &results)
}

/// A client that prints these lines of JSON, and ends.
fn saying(lines: &[Value]) -> Sandbox {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    with_client(&format!("cat >/dev/null; cat <<'END'\n{lines}END"))
}

fn text(text: &str) -> Value {
    json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}})
}

fn result(is_error: bool) -> Value {
    json!({"type": "result", "is_error": is_error, "result": "that was all", "num_turns": 2, "total_cost_usd": 0.5,
           "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3}})
}

fn session(sandbox: &Sandbox) -> Run {
    sandbox.opsctl(&["session", "--tier", "1"], b"")
}

fn row(sandbox: &Sandbox, columns: &str) -> String {
    sandbox.sql(&format!("SELECT {columns} FROM client_runs ORDER BY id"))
}

fn log(sandbox: &Sandbox) -> String {
    let mut logs = std::fs::read_dir(sandbox.path("results")).unwrap();
    let log = logs.next().unwrap().unwrap().path();
    assert!(logs.next().is_none(), "one session, one log");
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o640);
    std::fs::read_to_string(log).unwrap()
}

#[test]
fn a_completed_session_leaves_its_account() {
    let sandbox = saying(&[text("looking around"), result(false)]);
    let run = session(&sandbox);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert!(
        run.stdout.contains("looking around") && run.stdout.contains("Session of tier 1 completed"),
        "{run:?}"
    );
    let columns =
        "outcome, exit_code, tier, model, cost_usd, turns, input_tokens, output_tokens, ended_at IS NOT NULL";
    assert_eq!(row(&sandbox, columns), "completed|0|1|haiku|0.5|2|15|3|1");
    assert_eq!(row(&sandbox, "log_path"), log_path(&sandbox));
}

fn log_path(sandbox: &Sandbox) -> String {
    let mut logs = std::fs::read_dir(sandbox.path("results")).unwrap();
    logs.next().unwrap().unwrap().path().display().to_string()
}

#[test]
fn the_client_gets_its_tier_session_and_prompt() {
    let sandbox = with_client(
        "printf '%s\\n' \"$CLAUDEOPS_TIER\" \"$CLAUDE_SESSION_ID\" \"$*\" > arguments; cat > prompt; pwd > where; echo '{\"type\": \"result\"}'",
    );
    assert_eq!(session(&sandbox).code, Some(0));
    let shown = sandbox.read("arguments");
    let [tier, id, arguments] = shown.lines().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((tier, id), ("1", row(&sandbox, "session_id").as_str()));
    assert!(arguments.contains(&format!("--session-id {id} --tools Bash,Read")), "{arguments}");
    assert!(arguments.starts_with("-p --output-format stream-json --verbose "), "{arguments}");
    assert!(sandbox.read("prompt").starts_with("# Tier 1: observe\n"));
}

#[test]
fn a_configured_prompt_is_used_and_a_missing_one_is_reported() {
    for (content, expected) in
        [(Some("Only look at the disk."), "Only look at the disk.\n"), (None, "# Tier 1: observe")]
    {
        let sandbox = with_client("cat > prompt; echo '{\"type\": \"result\"}'")
            .with("CLAUDEOPS_TIER1_PROMPT", "mine.md");
        if let Some(content) = content {
            sandbox.write("mine.md", content);
        }
        let run = session(&sandbox);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(sandbox.read("prompt").starts_with(expected));
        assert_eq!(
            run.stderr.contains("mine.md cannot be used (it does not exist)"),
            content.is_none(),
            "{run:?}"
        );
    }
}

#[test]
fn a_prompt_ends_with_the_notice_of_a_dry_run_and_the_indented_hand_over() {
    let handoff = "{\n  \"schema_version\": 1,\n  \"recommended_tier\": 2,\n  \"services_affected\": [\n    \"dns\"\n  ]\n}";
    let indented: String = handoff.lines().map(|line| format!("    {line}\n")).collect();
    for (dry_run, more, start, end) in [
        ("false", [].as_slice(), "# Tier 2\n", "# Tier 2\n"),
        ("true", ["--handoff"].as_slice(), "# Tier 2\n\n## Dry run\n", indented.as_str()),
    ] {
        let sandbox = with_client("cat > prompt; echo '{\"type\": \"result\"}'")
            .with("CLAUDEOPS_TIER2_PROMPT", "mine.md")
            .with("CLAUDEOPS_DRY_RUN", dry_run);
        sandbox.write("mine.md", "# Tier 2\n\n\n");
        sandbox.write("handoff-taken.json", handoff);
        let run = sandbox.opsctl(&[["session", "--tier", "2"].as_slice(), more].concat(), b"");
        let prompt = sandbox.read("prompt");
        assert!(
            run.code == Some(0) && prompt.starts_with(start) && prompt.ends_with(end),
            "{run:?}: {prompt}"
        );
    }
}

#[test]
fn a_progress_line_is_one_short_line() {
    let run = session(&saying(&[text(&format!("a\n\u{1b}[31mb\t{}", "c".repeat(1000))), result(false)]));
    let line = run.stdout.lines().find(|line| line.starts_with("  a [31mb ccc")).unwrap();
    assert!(line.ends_with('…') && line.chars().count() == 202, "{line}");
}

#[test]
fn events_in_the_agents_text_are_recorded_with_the_source_llm() {
    let said =
        "All looked at.\n[EVENT:warning:adguardhome] slow answers\n[EVENT:info] token=abcdef123456 seen";
    let sandbox = saying(&[text(said), result(false)]);
    sandbox.write("hosts.yaml", "services: {adguard: {containers: [adguardhome]}}\n");
    assert_eq!(session(&sandbox).code, Some(0));
    let events = sandbox.sql("SELECT level, service, message, events.source, recorded_events.session_id = (SELECT session_id FROM client_runs) FROM events JOIN recorded_events ON event_id = id ORDER BY id");
    assert_eq!(events, "warning|adguard|slow answers|llm|1\ninfo||token=[redacted] seen|llm|1");
}

#[test]
fn a_marker_at_the_beginning_of_a_line_is_an_event_also_within_markdown() {
    type Row = (Vec<String>, Vec<String>);
    let rows: Vec<Row> = serde_saphyr::from_str(include_str!("markers.yaml")).unwrap();
    let said = rows.iter().flat_map(|(texts, _)| texts.iter().map(|said| text(said)));
    let sandbox = saying(&said.chain([result(false)]).collect::<Vec<_>>());
    let run = session(&sandbox);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let events = rows.iter().flat_map(|(texts, events)| texts.iter().flat_map(move |_| events));
    let recorded = sandbox.sql("SELECT level, service, message FROM events ORDER BY id");
    assert_eq!(recorded.lines().collect::<Vec<_>>(), events.collect::<Vec<_>>());
}

#[test]
fn settings_that_decide_what_is_guarded_are_pinned() {
    type Row = (BTreeMap<String, String>, String, BTreeMap<String, Value>);
    for (variables, hosts, settings) in
        serde_saphyr::from_str::<Vec<Row>>(include_str!("pinned.yaml")).unwrap()
    {
        let sandbox = with_client(
            "while [ \"$1\" != --settings ]; do shift; done; printf %s \"$2\" > pinned; cat > /dev/null; echo '{\"type\": \"result\"}'",
        );
        sandbox.write("hosts.yaml", &hosts);
        assert_eq!(sandbox.opsctl(&["render"], b"").code, Some(0));
        let sandbox = variables.iter().fold(sandbox, |sandbox, (name, value)| sandbox.with(name, value));
        assert_eq!(session(&sandbox).code, Some(0));
        let pinned: Value = serde_json::from_str(&sandbox.read("pinned")).unwrap();
        for (pointer, value) in settings {
            assert_eq!(pinned.pointer(&pointer).unwrap_or(&Value::Null), &value, "{pointer}");
        }
        let rendered: Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).unwrap();
        assert!(pinned["hooks"].is_object() && pinned["hooks"] == rendered["hooks"], "{pinned}");
    }
}

#[test]
fn a_credential_reaches_the_client_through_a_pipe() {
    let sandbox = with_client(
        "cat \"/dev/fd/$CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR\" > key; env > environment; cat > /dev/null; echo '{\"type\": \"result\"}'",
    );
    let sandbox = sandbox.with("ANTHROPIC_API_KEY", "of-the-api").with("CLAUDE_CODE_OAUTH_TOKEN", "");
    assert_eq!(session(&sandbox).code, Some(0));
    let environment = sandbox.read("environment");
    assert_eq!(sandbox.read("key"), "of-the-api");
    for absent in ["of-the-api", "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR"] {
        assert!(!environment.contains(absent), "{environment}");
    }
}

#[test]
fn every_session_of_tier_3_is_reported_to_the_operators() {
    let sandbox = saying(&[result(false)]);
    for _ in 0..2 {
        assert_eq!(sandbox.opsctl(&["session", "--tier", "3"], b"").code, Some(0));
    }
    assert_eq!(session(&sandbox).code, Some(0));
    let notices = sandbox.sql("SELECT level, title, format, body LIKE '%Session of tier 3 completed (%0.5000 USD).%> that was all%' FROM notices");
    let report = "info|opsctl: report of a session of tier 3|markdown|1";
    assert_eq!(notices, format!("{report}\n{report}"));
}

#[test]
fn markers_that_are_ignored_are_reported_once_per_session() {
    let said = "**[COOLDOWN:restart:jellyfin:success] it worked**\n- `[EVENT:info:jellyfin] back`\n[MEMORY:timing:jellyfin] 60 s";
    let sandbox = saying(&[text(said), text(said), result(false)]);
    let run = session(&sandbox);
    assert_eq!((run.code, run.stderr.lines().count()), (Some(0), 2), "{run:?}");
    let warnings =
        sandbox.sql("SELECT message FROM events WHERE level = 'warning' AND source = 'opsctl' ORDER BY id");
    let [cooldown, memory] = warnings.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(cooldown.starts_with("[COOLDOWN:…] ignored: ") && cooldown.contains("`opsctl cooldown record`"));
    assert!(memory.starts_with("[MEMORY:…] ignored: ") && memory.contains("`context.files`"));
    assert_eq!(
        sandbox.sql("SELECT service, message FROM events WHERE source = 'llm'"),
        "jellyfin|back\njellyfin|back"
    );
}

#[test]
fn no_secret_reaches_the_log_the_terminal_or_the_ledger() {
    let secrets = ["sk-ant-api03-abcdef", "hunter2-is-long", "pw-in-url", "topic-of-ntfy"];
    let said =
        "[EVENT:info] sk-ant-api03-abcdef hunter2-is-long https://bob:pw-in-url@git.lan ntfy://topic-of-ntfy";
    let sandbox = saying(&[text(said), result(false)])
        .with("GRAFANA_PASSWORD", "hunter2-is-long")
        .with("CLAUDEOPS_APPRISE_URLS", "ntfy://topic-of-ntfy");
    let run = session(&sandbox);
    assert_eq!(run.code, Some(0), "{run:?}");
    let everywhere = run.stdout + &run.stderr + &log(&sandbox) + &sandbox.sql("SELECT message FROM events");
    assert!(everywhere.matches("[redacted]").count() >= 12, "{everywhere}");
    for secret in secrets {
        assert!(!everywhere.contains(secret), "{secret}: {everywhere}");
    }
}

#[test]
fn every_end_of_the_client_has_an_outcome_and_a_text() {
    for (behaviour, outcome, exit_code, words) in [
        ("exit 3", "failed", "3", "exit status: 3 and without a result"),
        ("kill -SEGV $$", "failed", "", "signal: 11"),
        ("echo garbage; printf '\\377\\000\\n{\\n'; exit 0", "failed", "0", "without a result"),
        (
            "echo '{\"type\": \"result\", \"is_error\": true, \"result\": \"Credit balance is too low\"}'; exit 1",
            "failed",
            "1",
            "Credit balance is too low",
        ),
        ("echo '{\"type\": \"result\"}'; exit 5", "failed", "5", "exit status: 5"),
    ] {
        let sandbox = with_client(behaviour);
        let run = session(&sandbox);
        assert_eq!(run.code, Some(1), "{behaviour}: {run:?}");
        assert_eq!(row(&sandbox, "outcome, exit_code"), format!("{outcome}|{exit_code}"), "{behaviour}");
        let event = sandbox.sql("SELECT level, source, message FROM events");
        assert!(
            event.starts_with("warning|opsctl|Session of tier 1 failed: ") && event.contains(words),
            "{event}"
        );
    }
}

#[test]
fn a_client_that_is_not_there_is_a_critical_event() {
    let sandbox = with_client("").with("CLAUDEOPS_CLIENT", "/no/such/claude");
    let run = session(&sandbox);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(row(&sandbox, "outcome"), "not_started");
    let event = sandbox.sql("SELECT level, message FROM events");
    assert!(event.starts_with("critical|") && event.contains("name it with CLAUDEOPS_CLIENT"), "{event}");
}

#[test]
fn an_endless_line_is_left_out_with_bounded_memory() {
    let sandbox = with_client(
        "head -c 52428800 /dev/zero | tr '\\0' x; printf '\\n\\nnext\\n'; echo '{\"type\": \"result\"}'; printf 'last \\377'",
    );
    let mut command = sandbox.command(&["session", "--tier", "1"]);
    // An address space well below what keeping the line would take.
    let limited = format!("ulimit -v 120000; exec {} session --tier 1", command.get_program().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &limited]).current_dir(sandbox.path("")).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command = shell;
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let log = log(&sandbox);
    for logged in ["\"left_out_bytes\":52428800", "\"stdout\":\"next\"", "\"stdout\":\"last \u{fffd}\""] {
        assert!(log.contains(logged), "{logged}: {log}");
    }
    assert_eq!(row(&sandbox, "outcome"), "completed");
}

#[test]
fn a_results_folder_that_cannot_be_written_stops_no_session() {
    let sandbox = saying(&[result(false)]);
    sandbox.write("results", "a file in its place");
    let run = session(&sandbox);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("no log of this session") && run.stderr.lines().count() == 1, "{run:?}");
    assert_eq!(row(&sandbox, "outcome, log_path IS NULL"), "completed|1");
}

#[test]
fn a_ledger_that_cannot_be_used_stops_no_session() {
    let sandbox = saying(&[text("[EVENT:info] x"), result(false)]).without_usable_ledger();
    let run = session(&sandbox);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        run.stderr.contains("this session is not recorded") && run.stderr.lines().count() == 1,
        "{run:?}"
    );
}

/// A background session.
fn begin(sandbox: &Sandbox) -> Child {
    begin_at(sandbox, "1")
}

fn begin_at(sandbox: &Sandbox, tier: &str) -> Child {
    let mut command = sandbox.command(&["session", "--tier", tier]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the client", || sandbox.path("up").exists());
    child
}

fn wait_for(what: &str, there: impl Fn() -> bool) {
    let started = Instant::now();
    while !there() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the process runs, and is not a zombie.
fn is_running(sandbox: &Sandbox, file: &str) -> bool {
    let stat =
        std::fs::read_to_string(format!("/proc/{}/stat", sandbox.read(file).trim())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn a_client_that_never_ends_is_ended_at_its_deadline_with_all_that_it_started() {
    let sandbox = with_client(
        "trap '' TERM; sleep 300 & echo $! > left; echo $$ > me; echo up > up; while :; do sleep 1; done",
    );
    sandbox.write("hosts.yaml", "policy: {tiers: {1: {deadline: 1s}}}\n");
    let run = session(&sandbox);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(row(&sandbox, "outcome, exit_code IS NULL"), "timeout|1");
    assert!(sandbox.sql("SELECT message FROM events").contains("at its deadline of 1s"));
    assert!(!is_running(&sandbox, "me") && !is_running(&sandbox, "left"));
}

#[test]
fn a_signal_reaches_the_client_and_ends_the_session() {
    for (signal, trap) in [
        (Signal::TERM, "trap 'echo bye > bye; exit 0' TERM"),
        (Signal::INT, "trap 'echo bye > bye; exit 0' TERM"),
        // A client that ignores it.
        (Signal::TERM, "trap '' TERM; echo bye > bye"),
    ] {
        let sandbox =
            with_client(&format!("{trap}; echo $$ > me; echo up > up; while :; do sleep 0.05; done"));
        let mut child = begin(&sandbox);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut stdout = String::new();
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{trap}: {stdout}");
        assert_eq!(row(&sandbox, "outcome"), "signalled", "{trap}");
        assert_eq!(sandbox.read("bye"), "bye\n", "{trap}");
        assert!(!is_running(&sandbox, "me"), "{trap}");
    }
}

#[test]
fn the_next_session_settles_what_a_killed_one_has_left() {
    let call = r#"{\"session_id\": \"$CLAUDE_SESSION_ID\", \"tool_use_id\": \"t1\", \"tool_input\": {\"command\": \"docker restart jellyfin\"}}"#;
    let program = env!("CARGO_BIN_EXE_opsctl");
    let sandbox = with_client(&format!(
        "if [ -e up ]; then cat >/dev/null; echo '{{\"type\": \"result\"}}'; exit; fi
         echo \"{call}\" | {program} hook pre-tool-use; echo $$ > me; echo up > up; exec sleep 300"
    ));
    let mut child = begin_at(&sandbox, "2");
    for process in
        [Pid::from_child(&child), sandbox.read("me").trim().parse().ok().and_then(Pid::from_raw).unwrap()]
    {
        kill_process(process, Signal::KILL).unwrap();
    }
    child.wait().unwrap();
    assert_eq!(row(&sandbox, "outcome"), "running");
    let run = session(&sandbox);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("Session of tier 2 was cut off"), "{run:?}");
    assert_eq!(row(&sandbox, "outcome"), "cut_off\ncompleted");
    assert_eq!(sandbox.sql("SELECT state FROM hook_actions"), "unknown");
    assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions"), "1");
    assert_eq!(std::fs::read_dir(sandbox.path("running")).unwrap().count(), 0);
}

#[test]
fn processes_that_the_client_leaves_running_do_not_block_the_end() {
    // It keeps the pipe open for five minutes, in a group of its own.
    let sandbox =
        with_client("cat >/dev/null; setsid sleep 300 & echo $! > left; echo '{\"type\": \"result\"}'");
    assert_eq!(session(&sandbox).code, Some(0));
    let left = sandbox.read("left").trim().parse().ok().and_then(Pid::from_raw).unwrap();
    let _ = kill_process(left, Signal::KILL); // it may have been in the client's group after all
}

#[test]
fn what_is_pruned_takes_the_accounts_of_old_sessions_along() {
    let sandbox = saying(&[text("looking around"), result(false)]);
    for _ in 0..2 {
        assert_eq!(session(&sandbox).code, Some(0));
    }
    sandbox.sql("UPDATE client_runs SET started_at = '2020-01-01T00:00:00Z' WHERE id = 1");
    let run = sandbox.opsctl(&["prune", "--keep", "90d"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(row(&sandbox, "id"), "2");
}
