//! What a program of the agent's side may state through the socket: nothing that it states counts as seen by the guard.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use opsctl::machine::link::address::Address;
use opsctl::machine::link::caller;
use opsctl::machine::link::caller::LinkError;
use opsctl::machine::link::message::{Call, RecordCall, Reply, Request, SessionFacts};
use opsctl_ledger::sessions::client_runs::{NewRun, RunEnd};
use opsctl_policy::model::records::event::{Level, NewEvent};
use serde_json::{Value, json};

use crate::fake_client::hook;
use crate::guard_process::Guarded;
use crate::sandbox::{Run, Sandbox, call, denied, passes};

const RESTART: &str = "docker restart jellyfin";

/// Sends a message as an agent of this name.
fn send(guarded: &Guarded, agent: &str, call: Call, payload: &str) -> Result<Value, String> {
    let facts = SessionFacts {
        agent: Some(agent.into()),
        project_dir: "/app".into(),
        results_dir: "/results".into(),
        ..SessionFacts::default()
    };
    of(guarded, facts, call, payload)
}

fn of(guarded: &Guarded, facts: SessionFacts, call: Call, payload: &str) -> Result<Value, String> {
    let request = Request { version: opsctl::machine::link::VERSION, call, session: facts };
    let (sent, limit) = ((&request, payload.as_bytes()), Duration::from_secs(30));
    match caller::call(&Address::Unix(guarded.socket()), sent, limit, &mut |_| Value::Null) {
        Ok(Reply::Value(value)) => Ok(value),
        Ok(other) => Ok(serde_json::to_value(&other).unwrap()),
        Err(LinkError::Refused(why) | LinkError::Failed(why)) => Err(why),
        Err(error) => panic!("{error}"),
    }
}

fn record(guarded: &Guarded, agent: &str, record: RecordCall) -> Result<Value, String> {
    send(guarded, agent, Call::Record(record), "")
}

fn event(message: &str, level: &str) -> RecordCall {
    RecordCall::Event {
        once: false,
        of_agent: false,
        session: Some("s".into()),
        event: NewEvent {
            level: Level::named(level).unwrap(),
            service: Some("jellyfin".into()),
            message: message.into(),
        },
    }
}

fn begin(session: &str) -> RecordCall {
    RecordCall::Begin(NewRun {
        session: session.into(),
        tier: 2,
        model: "opus".into(),
        log: None,
        parent: None,
    })
}

fn end(row: i64, change: impl FnOnce(&mut RunEnd)) -> RecordCall {
    let mut end = RunEnd {
        outcome: "completed".into(),
        waiting: None,
        exit_code: Some(0),
        cost_usd: Some(0.5),
        turns: Some(1),
        input_tokens: Some(1),
        output_tokens: Some(1),
        duration_ms: 10,
    };
    change(&mut end);
    RecordCall::End { row, end, refused: vec![] }
}

fn notice(key: &str, title: &str) -> String {
    json!({
        "session": "s", "at": "2026-03-21T14:00:00Z", "key": key, "quiet_until": "2999-01-01T00:00:00Z", "level": "info",
        "title": title, "body": "x", "markdown": true, "tags": [], "event": null,
    })
    .to_string()
}

/// Runs opsctl of the agent's side as another user, who may use the socket.
fn as_agent(guarded: &Guarded, arguments: &[&str], session: &str) -> Run {
    let program = guarded.guard.path("opsctl");
    let own = guarded.agent.command(&[]);
    if !program.exists() {
        std::fs::set_permissions(guarded.guard.path("."), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::copy(own.get_program(), &program).unwrap();
    }
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("CLAUDE_SESSION_ID", session)
        .current_dir("/");
    if rustix::process::geteuid().is_root() {
        command.uid(54_321).gid(54_321);
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn for_agent() -> Guarded {
    let guard = Sandbox::new().with("CLAUDEOPS_GUARD_UIDS", "54321");
    guard.write(
        "hosts.yaml",
        "services: {jellyfin: {health: none, dns: none, guests: [vm], check: {command: ['true'], where: local}}}",
    );
    Guarded::with(guard, |agent| agent)
}

#[test]
fn an_agent_clears_no_budget_by_statements_or_by_many_checks_in_invented_sessions() {
    let guarded = for_agent();
    for id in ["t1", "t2"] {
        passes(&guarded.agent.before(id, RESTART));
        passes(&guarded.agent.after(id, RESTART));
    }
    for session in ["one", "two", "three"] {
        let run = as_agent(&guarded, &["cooldown", "healthy", "jellyfin"], session);
        assert!(run.code == Some(0) && run.stdout.contains("2/2 restarts"), "{run:?}");
        // An invented session begins like any other.
        let input = json!({"session_id": session, "cwd": "/app", "source": "startup"});
        guarded.agent.hook("session-start", &input);
        let run = as_agent(&guarded, &["verify", "jellyfin"], session);
        assert!(run.code == Some(0) && run.stdout.contains("jellyfin: healthy"), "{run:?}");
    }
    denied(&guarded.agent.before("t3", RESTART));
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM budget_resets"), "0");
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM verified_checks"), "3");
    let run = as_agent(&guarded, &["cooldown", "reset", "jellyfin"], "one");
    assert!(run.code != Some(0) && run.stderr.contains("works on the guard's side only"), "{run:?}");
    assert_eq!(guarded.guard.opsctl(&["cooldown", "reset", "jellyfin"], b"").code, Some(0));
    passes(&guarded.agent.before("t4", RESTART));
}

#[test]
fn an_event_of_a_peer_is_marked_and_cannot_pass_for_one_of_the_guard() {
    let guarded = Guarded::new();
    record(&guarded, "nas", event("Verified healthy after remediation", "info")).unwrap();
    record(&guarded, "nas", event(&"x".repeat(500_000), "critical")).unwrap();
    let events = guarded.guard.opsctl(&["events", "--json"], b"");
    let events: Value = serde_json::from_str(&events.stdout).unwrap();
    for event in events["events"].as_array().unwrap() {
        let message = event["message"].as_str().unwrap();
        assert!(message.starts_with("Stated by the agent: ") && message.len() < 9_000, "{event}");
    }
    assert_eq!(guarded.guard.sql("SELECT DISTINCT source FROM recorded_events"), "agent");
    assert!(
        guarded.guard.opsctl(&["status", "--no-hosts"], b"").stdout.contains("Stated by the agent: Verified")
    );
    // A level that does not exist makes the whole request invalid, which the guard refuses.
    let mut call = serde_json::to_value(event("x", "info")).unwrap();
    for (level, is_read) in [("info", true), ("fatal", false), ("", false)] {
        call["event"]["event"]["level"] = level.into();
        assert_eq!(serde_json::from_value::<RecordCall>(call.clone()).is_ok(), is_read, "{level}");
    }
    let failure = json!({"at": "2999-01-01T00:00:00Z", "session": "s", "message": "Guard failed to count: x", "decision": null});
    send(&guarded, "nas", Call::Kept, &failure.to_string()).unwrap();
    let forged =
        "SELECT count(*) FROM events WHERE message NOT LIKE 'Stated by the agent: %' OR created_at > '2990'";
    assert_eq!(guarded.guard.sql(forged), "0");
}

#[test]
fn a_peer_ends_and_resumes_only_sessions_that_its_agent_has_begun() {
    let guarded = Guarded::new();
    let row = record(&guarded, "nas", begin("a")).unwrap().as_i64().unwrap();
    for call in [end(row, |_| {}), RecordCall::Resume { row }, end(999, |_| {})] {
        let why = record(&guarded, "pie", call).unwrap_err();
        assert!(why.contains("was not begun by agent pie"), "{why}");
    }
    // Of another user, or of opsctl on the guard's side.
    for peer in ["54321", "NULL"] {
        let own = guarded.guard.sql("SELECT peer FROM client_runs");
        guarded.guard.sql(&format!("UPDATE client_runs SET peer = {peer}"));
        assert!(record(&guarded, "nas", end(row, |_| {})).is_err());
        guarded.guard.sql(&format!("UPDATE client_runs SET peer = {own}"));
    }
    assert_eq!(guarded.guard.sql("SELECT outcome FROM client_runs"), "running");
    let wrong: [fn(&mut RunEnd); 6] = [
        |end| end.cost_usd = Some(-1.0),
        |end| end.cost_usd = Some(1e12),
        |end| end.turns = Some(-1),
        |end| end.input_tokens = Some(i64::MAX),
        |end| end.duration_ms = -1,
        |end| end.outcome = "won".into(),
    ];
    for (number, change) in wrong.into_iter().enumerate() {
        let why = record(&guarded, "nas", end(row, change)).unwrap_err();
        assert!(why.starts_with("the ") && why.lines().count() == 1, "{number}: {why}");
    }
    let long = begin(&"x".repeat(300));
    assert!(record(&guarded, "nas", long).unwrap_err().contains("session"));
    assert_eq!(guarded.guard.sql("SELECT count(*), sum(outcome = 'running') FROM client_runs"), "1|1");
    record(&guarded, "nas", end(row, |_| {})).unwrap();
    assert_eq!(guarded.guard.sql("SELECT outcome, cost_usd FROM client_runs"), "completed|0.5");
    let shown = guarded.guard.opsctl(&["status", "--no-hosts"], b"").stdout;
    assert!(shown.contains("| $0.500 | stated by the agent"), "{shown}");
    let shown = guarded.guard.opsctl(&["status", "--no-hosts", "--json"], b"").stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["sessions"][0]["stated"], true, "{shown}");
}

#[test]
fn notices_of_a_peer_are_marked_few_and_silence_none_of_the_guard() {
    let guarded = Guarded::new();
    send(&guarded, "nas", Call::Notice, &notice("budget/restart/jellyfin", "All is well")).unwrap();
    let row = "SELECT key, title, quiet_until < '2100' FROM notices";
    assert_eq!(guarded.guard.sql(row), "stated/budget/restart/jellyfin|Stated by the agent: All is well|1");
    let mut refused = 0;
    for number in 0..100 {
        let sent = send(&guarded, "nas", Call::Notice, &notice(&format!("k{number}"), "x"));
        refused += usize::from(sent.is_err_and(|why| why.contains("sent too many notifications")));
    }
    assert!(refused >= 39, "{refused}");
    for id in ["t1", "t2"] {
        passes(&guarded.agent.before(id, RESTART));
        passes(&guarded.agent.after(id, RESTART));
    }
    denied(&guarded.agent.before("t3", RESTART));
    // A denial is answered before it is recorded.
    let of_guard = "SELECT count(*) FROM notices WHERE key = 'budget/restart/jellyfin'";
    let began = Instant::now();
    while guarded.guard.sql(of_guard) != "1" {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{}",
            guarded.guard.sql("SELECT key, state FROM notices")
        );
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_peer_cannot_fill_the_ledger_and_a_session_is_still_recorded() {
    let guarded = Guarded::new();
    let mut refused = 0;
    for number in 0..900 {
        let sent = record(&guarded, "nas", event(&number.to_string(), "info"));
        refused += usize::from(sent.is_err_and(|why| why.contains("sent too many records")));
    }
    let written: usize = guarded.guard.sql("SELECT count(*) FROM events").parse().unwrap();
    assert!(refused > 200 && written < 700, "{refused} refused, {written} written");
    let lines = (0..5_000).map(|number| {
        json!({"at": "2026-03-21T14:00:00Z", "session": null, "message": number.to_string()}).to_string()
    });
    send(&guarded, "nas", Call::Kept, &lines.collect::<Vec<_>>().join("\n")).unwrap();
    let more: usize = guarded.guard.sql("SELECT count(*) FROM events").parse().unwrap();
    assert!(more < written + 250, "{more}");
    std::thread::sleep(Duration::from_secs(2));
    assert!(record(&guarded, "nas", begin("a")).is_ok());
}

/// Whether a hook has let the call run.
fn is_allowed(run: &Run) -> bool {
    let output: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
    run.code == Some(0) && output["hookSpecificOutput"]["permissionDecision"].is_null()
}

/// A guard with an approved question about the call `t3`.
fn approved() -> Guarded {
    let guard = Sandbox::new().with("USER", "ann");
    let key = guard.opsctl(&["key"], b"");
    let hosts = format!("services: {{jellyfin: {{}}}}\npolicy:\n  ask: [budget]\n  {}\n", key.stdout.trim());
    guard.write("hosts.yaml", &hosts);
    let guarded = Guarded::with(guard, |agent| agent);
    guarded.agent.write("hosts.yaml", &hosts);
    for id in ["t1", "t2"] {
        assert!(is_allowed(&hook(&guarded.agent, &call(id, RESTART))));
        passes(&guarded.agent.after(id, RESTART));
    }
    assert!(!is_allowed(&hook(&guarded.agent, &call("t3", RESTART))));
    let run = guarded.guard.opsctl(&["approve", "1"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    guarded
}

#[test]
fn an_approved_call_runs_once_for_hooks_at_the_same_time_and_later() {
    let guarded = approved();
    let third = call("t3", RESTART);
    let runs: Vec<Run> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..4).map(|_| scope.spawn(|| hook(&guarded.agent, &third))).collect();
        started.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(runs.iter().filter(|run| is_allowed(run)).count(), 1, "{runs:?}");
    assert!(!is_allowed(&hook(&guarded.agent, &third)));
    passes(&guarded.agent.after("t3", RESTART));
    assert!(!is_allowed(&hook(&guarded.agent, &third)));
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM cooldown_actions"), "3");
}

#[test]
fn one_request_is_answered_once_by_a_guard_and_once_more_by_the_next_one() {
    let mut guarded = Guarded::new();
    let ask = |guarded: &Guarded, request: &str, command: &str| -> Value {
        let facts = SessionFacts {
            request: Some(request.into()),
            project_dir: "/app".into(),
            results_dir: "/results".into(),
            ..SessionFacts::default()
        };
        let event = Call::Event { event: Some("pre-tool-use".into()) };
        let answer = of(guarded, facts, event, &call("t1", command).to_string()).unwrap();
        answer["answer"]["denial"].clone()
    };
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..4).map(|_| scope.spawn(|| ask(&guarded, "n1", RESTART))).collect();
        started.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|denial| denial.is_null()).count(), 1, "{answers:?}");
    guarded.kill();
    guarded.start();
    assert_eq!(ask(&guarded, "n1", RESTART), Value::Null);
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM hook_actions"), "1");
    // Not for another call, and not once it has run.
    guarded.kill();
    guarded.start();
    assert_eq!(ask(&guarded, "n1", "docker restart sonarr"), Value::Null);
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM hook_actions"), "2");
    passes(&guarded.agent.after("t1", RESTART));
    guarded.kill();
    guarded.start();
    assert_eq!(ask(&guarded, "n1", RESTART), Value::Null);
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM hook_actions WHERE service = 'jellyfin'"), "2");
}
