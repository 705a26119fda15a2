//! Notifications to the operators through the real `apprise`.

use crate::guard::guarded;
use crate::support::{Program, Ran, Session, Workspace, api_error};
use serde_json::json;

fn notify(hook: Program<'_>) -> Ran {
    let input = json!({"hook_event_name": "Notification", "session_id": "3f0c", "cwd": "/repos",
                       "title": "Claude Ops", "message": "jellyfin is still down: \"502\" ✗ a_b *c*"});
    hook.args(["hook", "notification"]).stdin(&input.to_string()).run()
}

#[test]
fn a_notification_reaches_the_operators_as_it_is() {
    let workspace = Workspace::new();
    let ran = notify(Program::opsctl(&workspace).operators_listen());
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (Some(0), ""));
    assert!(!ran.notifications.is_empty());
    // On a slow machine, `apprise` is killed after it has delivered, and started again.
    for notification in &ran.notifications {
        assert_eq!(notification["title"], "Claude Ops");
        assert_eq!(notification["message"], "jellyfin is still down: \"502\" ✗ a_b *c*");
    }
}

#[test]
fn operators_are_notified_once_of_a_used_up_budget() {
    let finished = guarded()
        .operators_listen()
        .commands(["docker restart jellyfin"; 5])
        .commands(["ssh root@ie01 'docker restart jellyfin'"])
        .run();
    assert_eq!(finished.marks("docker").len(), 2);
    let [shown] = finished.notifications() else { panic!("{:?}", finished.notifications()) };
    assert_eq!((&shown["title"], &shown["type"]), (&json!("jellyfin: no restart left"), &json!("warning")));
    let message = shown["message"].as_str().unwrap();
    assert!(
        message.starts_with("**jellyfin** has used up its budget: 2/2 restarts in last 4h. "),
        "{message}"
    );
    assert!(message.contains("- denied: `docker restart jellyfin`"), "{message}");
    assert!(message.contains(&format!("- session: {}", finished.session_id())), "{message}");
    let rows = finished.rows("SELECT state, attempts FROM notice_states");
    assert_eq!(rows, [json!({"state": "delivered", "attempts": 1})]);
}

#[test]
fn operators_are_notified_why_a_model_request_failed() {
    for (status, kind, error, level) in [
        (429, "rate_limit_error", "rate_limit", "warning"),
        (500, "api_error", "server_error", "warning"),
        (401, "authentication_error", "authentication_failed", "critical"),
        (400, "invalid_request_error", "unknown", "critical"),
    ] {
        let finished = guarded()
            .operators_listen()
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            .answering(move |_| Some(api_error(status, kind)))
            .run();
        let shown = finished.notifications();
        assert_eq!(shown.len(), 1, "{status}: {shown:?}");
        assert_eq!(shown[0]["title"], format!("The agent stopped: {}", error.replace('_', " ")));
        assert!(shown[0]["message"].as_str().unwrap().contains(&format!("a scripted {kind}")), "{shown:?}");
        let event = json!({"level": level, "session_id": finished.session_id(),
                           "message": format!("Session stopped: a request to the model failed ({error})")});
        assert_eq!(finished.rows("SELECT level, recorded_events.session_id, message FROM events JOIN recorded_events ON event_id = id"), [event]);
        // The next session fails as well; the operators know.
        let again = Session::continuing(finished.into_workspace())
            .operators_listen()
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            .answering(move |_| Some(api_error(status, kind)))
            .run();
        assert_eq!(again.notifications(), [json!(null); 0]);
        assert_eq!(again.rows("SELECT count(*) AS n FROM events"), [json!({"n": 2})]);
    }
}

#[test]
fn the_operators_urls_stay_out_of_the_process_list_and_the_ledger() {
    let workspace = Workspace::new();
    workspace.put_stub("apprise", "exit 1");
    let url = "mailto://user:secret@example.org";
    let ran = Program::opsctl(&workspace).args(["notify", "--test"]).env("CLAUDEOPS_APPRISE_URLS", url).run();
    assert_eq!(ran.exit_code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("opsctl: notification not sent: apprise ended with "), "{}", ran.stderr);
    let marks = workspace.marks("apprise");
    assert_eq!(marks.len(), 1);
    assert!(!format!("{marks:?}{}", ran.stderr).contains("secret"));
}

#[test]
fn without_a_target_nothing_is_sent() {
    let workspace = Workspace::new();
    let ran = notify(Program::opsctl(&workspace));
    assert_eq!((ran.exit_code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(workspace.marks("apprise"), [""; 0]);
    assert_eq!(workspace.rows("SELECT state FROM notice_states"), [json!({"state": "no_target"})]);
}
