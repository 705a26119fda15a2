//! The Notification hook: what the operators hear, through the real `apprise`.

use crate::support::{Program, Ran, Workspace};
use serde_json::json;

fn notify(hook: Program<'_>) -> Ran {
    let input = json!({"hook_event_name": "Notification", "session_id": "3f0c", "cwd": "/repos",
                       "title": "Claude Ops", "message": "jellyfin is still down: \"502\" ✗"});
    hook.args(["hook", "notification"]).stdin(&input.to_string()).run()
}

#[test]
fn a_notification_reaches_the_operators() {
    let workspace = Workspace::new();
    let ran = notify(Program::opsctl(&workspace).operators_listen());
    assert_eq!(ran.exit_code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.notifications.len(), 1, "{}", ran.stderr);
    assert_eq!(ran.notifications[0]["title"], "Claude Ops");
    assert_eq!(ran.notifications[0]["message"], "jellyfin is still down: \"502\" ✗");
}

#[test]
fn the_operators_urls_stay_out_of_the_process_list() {
    let workspace = Workspace::new();
    let url = "mailto://user:secret@example.org";
    let ran = notify(Program::opsctl(&workspace).env("CLAUDEOPS_APPRISE_URLS", url));
    assert_eq!(ran.exit_code, Some(0), "{}", ran.stderr);
    let marks = workspace.marks("apprise");
    assert_eq!(marks.len(), 1);
    assert!(!marks[0].contains("secret"), "{}", marks[0]);
}

#[test]
fn a_notification_that_cannot_be_sent_harms_nothing_but_itself() {
    let workspace = Workspace::new();
    workspace.put_stub("apprise", "echo 'no route to the mail server' >&2; exit 1");
    let ran =
        notify(Program::opsctl(&workspace).env("CLAUDEOPS_APPRISE_URLS", "mailto://user:secret@example.org"));
    assert_eq!(ran.exit_code, Some(0), "{}", ran.stderr);
    assert_eq!(workspace.marks("apprise").len(), 1);
    assert!(ran.stderr.contains("apprise"), "a person is told on stderr: {}", ran.stderr);
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
}

#[test]
fn where_nobody_listens_nothing_is_sent() {
    let workspace = Workspace::new();
    let ran = notify(Program::opsctl(&workspace));
    assert_eq!((ran.exit_code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(workspace.marks("apprise"), [""; 0]);
}
