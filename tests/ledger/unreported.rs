//! Calls that were allowed and whose result no hook reported: refused ones are free again, and all others count.

use serde_json::{Value, json};

use crate::clock::{Clock, is_used_up};
use crate::sandbox::Sandbox;

const RESTART: &str = "docker restart jellyfin";

const REFUSED: &str = "Permission to use Bash with command docker restart jellyfin has been denied.";

fn states(clock: &Clock) -> String {
    clock.sandbox.sql("SELECT state FROM hook_actions ORDER BY id").replace('\n', " ")
}

fn count(clock: &Clock, table: &str) -> String {
    clock.sandbox.sql(&format!("SELECT count(*) FROM {table}"))
}

/// The end of a message with these calls, each with the result that the client states.
fn batch(clock: &Clock, calls: &[(&str, Value)]) {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, result)| json!({"tool_name": "Bash", "tool_use_id": id, "tool_response": result}))
        .collect();
    clock.tell("post-tool-batch", None, "", &json!({"tool_calls": calls}));
}

#[test]
fn what_the_client_refused_is_free_again_after_the_message() {
    let clock = Clock::new();
    for id in ["t1", "t2"] {
        assert_eq!(clock.ask(id, RESTART), None);
    }
    batch(&clock, &[("t1", json!(REFUSED)), ("t2", json!("PreToolUse:Bash hook error: not now"))]);
    assert_eq!((states(&clock).as_str(), clock.settled("jellyfin")), ("released released", 0));
    clock.run("t3", RESTART);
    clock.run("t4", RESTART);
    assert!(clock.ask("t5", RESTART).is_some());
}

#[test]
fn a_call_that_ran_counts_although_no_hook_reported_it() {
    let mut clock = Clock::new();
    assert_eq!(clock.ask("t1", RESTART), None);
    clock.minutes(30);
    batch(&clock, &[("t1", json!("Exit code 1\nPermission to use docker was denied"))]);
    assert_eq!(states(&clock), "unknown");
    // From the time at which it was allowed.
    let row = "SELECT timestamp, success, error FROM cooldown_actions";
    assert_eq!(clock.sandbox.sql(row), "2026-03-21T14:00:00Z|0|no hook has reported it");
    let event = "SELECT level, service, message FROM events";
    assert_eq!(
        clock.sandbox.sql(event),
        "critical|jellyfin|jellyfin restarted, outcome unknown: no hook has reported it"
    );
    assert_eq!(clock.sandbox.sql("SELECT level, title FROM notices"), "critical|jellyfin: outcome unknown");
    assert!(clock.sandbox.sql("SELECT state FROM hook_actions").contains("unknown"));
    // Its report arrives late: it is the same action.
    clock.done("t1", RESTART);
    assert_eq!((states(&clock).as_str(), clock.settled("jellyfin")), ("done", 1));
    clock.run("t2", RESTART);
    is_used_up(clock.ask("t3", RESTART), "2026-03-21T18:00:00Z");
}

#[test]
fn the_end_of_a_session_counts_what_the_transcript_does_not_refuse() {
    let clock = Clock::new();
    for id in ["t1", "t2"] {
        assert_eq!(clock.ask(id, RESTART), None);
    }
    let result =
        |id: &str| json!({"type": "tool_result", "is_error": true, "content": REFUSED, "tool_use_id": id});
    let line = json!({"type": "user", "message": {"content": [result("t2")]}});
    clock.sandbox.write("s1.jsonl", &format!("{line}\n"));
    clock.tell("session-end", None, "", &json!({"transcript_path": clock.sandbox.path("s1.jsonl")}));
    assert_eq!((states(&clock).as_str(), clock.settled("jellyfin")), ("unknown released", 1));
    // The next session is another one, and starts with one restart.
    assert_eq!(clock.ask("t3", RESTART), None);
    is_used_up(clock.ask("t4", RESTART), "2026-03-21T18:00:00Z");
    // Another end of the session changes nothing.
    clock.end_session();
    assert_eq!(clock.settled("jellyfin"), 2);
    assert_eq!(count(&clock, "events"), "2");
}

#[test]
fn another_session_settles_nothing_before_the_longest_deadline_is_over() {
    let mut clock = Clock::new();
    assert_eq!(clock.ask("t1", RESTART), None);
    clock.session = "s2";
    clock.end_session();
    for (minutes, state) in [(34, "reserved"), (1, "reserved"), (90, "unknown")] {
        clock.minutes(minutes);
        clock.tell("session-start", None, "", &json!({"source": "startup"}));
        assert_eq!(states(&clock), state, "after {minutes} minutes more");
    }
    assert_eq!(clock.sandbox.sql("SELECT session_id FROM recorded_actions"), "s1");
}

#[test]
fn the_next_session_verifies_a_service_whose_outcome_is_unknown_and_is_not_held_up() {
    let sandbox = Sandbox::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let health = |port: u16| {
        format!("services: {{jellyfin: {{tcp: ['127.0.0.1:{port}']}}}}\npolicy: {{verify: {{grace: 1s}}}}\n")
    };
    sandbox.write("hosts.yaml", &health(closed));
    let mut clock = Clock::in_sandbox(sandbox);
    assert_eq!(clock.ask("t1", RESTART), None);
    clock.end_session();
    clock.session = "s2";
    clock.minutes(1);
    assert_eq!(clock.tell("stop", None, "", &Value::Null).denial, None);
    let of_s2 = "SELECT message FROM events JOIN recorded_events ON event_id = events.id WHERE recorded_events.session_id = 's2'";
    let said = clock.sandbox.sql(of_s2);
    assert!(said.starts_with("Needs human attention: still unhealthy after an earlier session: "), "{said}");
    assert_eq!(clock.sandbox.sql("SELECT count(*) FROM notices"), "2");
    // Once: the check is recorded.
    clock.session = "s3";
    clock.minutes(1);
    clock.tell("stop", None, "", &Value::Null);
    assert_eq!(count(&clock, "service_checks"), "1");
}
