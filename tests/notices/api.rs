//! Notices of failed requests to the model, from both sources.

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::target::{Manner, Target};
use crate::{arrived, delivering, listening, settled, wait_until};

fn stop_failure(sandbox: &Sandbox) {
    let input = json!({"session_id": "s1", "hook_event_name": "StopFailure", "error": "rate_limit",
                       "last_assistant_message": "API Error: Request rejected (429)"});
    assert_eq!(sandbox.hook("stop-failure", &input).code, Some(0));
}

fn session_end(sandbox: &Sandbox) {
    let error = json!({"type": "assistant", "isApiErrorMessage": true, "error": "rate_limit",
                       "message": {"content": [{"type": "text", "text": "API Error: Request rejected (429)"}]}});
    let transcript = sandbox.write("transcript.jsonl", &format!("{error}\n{{\"type\":\"cost-state\"}}\n"));
    let input = json!({"session_id": "s1", "transcript_path": transcript, "reason": "other"});
    assert_eq!(sandbox.hook("session-end", &input).code, Some(0));
}

fn events(sandbox: &Sandbox) -> String {
    sandbox.sql("SELECT recorded_events.session_id, level, events.source, message FROM events JOIN recorded_events ON event_id = id")
}

const EVENT: &str = "s1|warning|hook|Session stopped: a request to the model failed (rate_limit)";

/// The client does not wait for the hook of a failed stop, and may end it before it has begun.
#[test]
fn each_source_is_enough_and_both_report_once() {
    let both = |sandbox: &Sandbox| {
        stop_failure(sandbox);
        session_end(sandbox);
    };
    let ways: [fn(&Sandbox); 3] = [stop_failure, session_end, both];
    for way in ways {
        let target = Target::new(Manner::Takes);
        let sandbox = listening(&target);
        way(&sandbox);
        wait_until("it is written down", || sandbox.path("claudeops.db").exists());
        wait_until("the operators are notified", || !target.titles().is_empty());
        assert_eq!(settled(&sandbox), "delivered");
        // A second call changes nothing.
        session_end(&sandbox);
        stop_failure(&sandbox);
        wait_until("both have ended", || !delivering(&sandbox));
        assert_eq!(settled(&sandbox), "delivered");
        assert_eq!(arrived(&target, &sandbox), ["The agent stopped: rate limit"]);
        assert_eq!(events(&sandbox), EVENT);
    }
}

#[test]
fn a_notice_is_recorded_without_a_target() {
    let sandbox = Sandbox::new();
    stop_failure(&sandbox);
    wait_until("it is written down", || sandbox.path("claudeops.db").exists() && events(&sandbox) == EVENT);
    assert_eq!(settled(&sandbox), "no_target");
}

#[test]
fn every_kind_of_error_is_recorded_with_its_level() {
    for (error, level) in [
        ("rate_limit", "warning"),
        ("server_error", "warning"),
        ("max_output_tokens", "warning"),
        ("authentication_failed", "critical"),
        ("billing_error", "critical"),
        ("invalid_request", "critical"),
        ("unknown", "critical"),
    ] {
        let sandbox = Sandbox::new();
        let input = json!({"session_id": "s1", "hook_event_name": "StopFailure", "error": error});
        assert_eq!(sandbox.hook("stop-failure", &input).code, Some(0));
        let event = format!("s1|{level}|hook|Session stopped: a request to the model failed ({error})");
        wait_until(error, || sandbox.path("claudeops.db").exists() && events(&sandbox) == event);
        assert_eq!(settled(&sandbox), "no_target");
        assert_eq!(sandbox.sql("SELECT level FROM notices"), level, "{error}");
    }
}

#[test]
fn a_session_that_ended_well_is_not_reported() {
    let sandbox = Sandbox::new();
    let transcript =
        sandbox.write("transcript.jsonl", "{\"type\":\"assistant\",\"message\":{\"content\":[]}}\n");
    let input = json!({"session_id": "s1", "transcript_path": transcript, "reason": "other"});
    assert_eq!(sandbox.hook("session-end", &input).code, Some(0));
    assert!(!delivering(&sandbox));
    assert_eq!(sandbox.sql("SELECT (SELECT count(*) FROM notices) + (SELECT count(*) FROM events)"), "0");
}
