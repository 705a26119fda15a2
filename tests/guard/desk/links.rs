//! Signed links of notifications.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use super::http::send;
use super::server::State;
use crate::sandbox::Sandbox;

#[test]
fn opening_a_link_shows_the_question_and_answers_nothing() {
    let state = State::new();
    let question = state.ask("docker restart jellyfin");
    let desk = state.start();
    let link = state.link(question);
    for _ in 0..20 {
        for method in ["GET", "HEAD", "OPTIONS"] {
            for more in ["", "&decision=approve&id=1"] {
                send(desk.address, method, &format!("{link}{more}"), &[], "");
            }
        }
    }
    assert_eq!(state.answers(), "");
    let page = desk.get(&link, &[]);
    assert_eq!(page.status, 200);
    assert!(page.body.contains("docker restart jellyfin"), "{}", page.body);
    assert!(!page.body.contains("Sessions"), "a link leads to its question only: {}", page.body);
    assert_eq!(desk.get("/", &[]).status, 303);
}

#[test]
fn a_link_answers_its_question_once() {
    let state = State::new();
    let (first, second) = (state.ask("docker restart jellyfin"), state.ask("docker restart adguard"));
    let desk = state.start();
    let link = state.link(first);
    let page = desk.get(&link, &[]);
    let (token, shown) = (page.field("t"), page.field("shown"));
    assert_eq!(link, format!("/q/{first}?t={token}"));
    let answer = |id: &str, token: &str, decision: &str, headers: &[(&str, &str)]| {
        let fields = [("id", id), ("t", token), ("decision", decision), ("shown", &shown), ("note", "once")];
        desk.post("/answer/link", headers, &fields)
    };
    let mut altered = token.clone();
    altered.replace_range(20..21, if &token[20..21] == "a" { "b" } else { "a" });
    for (id, token) in [("2", token.as_str()), ("1", altered.as_str()), ("1", ""), ("3", token.as_str())] {
        assert_eq!(answer(id, token, "approve", &[]).status, 403, "{id} {token}");
    }
    assert_eq!(answer("1", &token, "approve", &[("Origin", "https://evil.example")]).status, 403);
    assert_eq!(state.answers(), "");
    let origin = format!("http://{}", desk.address);
    let answered = answer("1", &token, "approve", &[("Origin", &origin)]);
    assert_eq!((answered.status, answered.header("location")), (303, Some(link.as_str())), "{answered:?}");
    assert_eq!(state.answers(), "1|approve|link|once");
    for decision in ["approve", "refuse"] {
        assert_eq!(answer("1", &token, decision, &[]).status, 409, "a link that was used");
    }
    assert_eq!(state.answers(), "1|approve|link|once");
    let page = desk.get(&link, &[]);
    assert!(page.body.contains("by link") && !page.body.contains("<form"), "{}", page.body);
    assert!(
        page.body.contains(r#"http-equiv="refresh" content="5""#),
        "the outcome is not waited for: {}",
        page.body
    );
    // The button of a notification sends no page's headers, and gets a word.
    let page = desk.get(&state.link(second), &[]);
    let fields = [("id", "2"), ("t", &page.field("t")), ("decision", "refuse")];
    let answered = desk.post("/answer/link", &[], &fields);
    assert_eq!((answered.status, answered.body.as_str()), (200, "refused\n"));
    assert_eq!(state.answers(), "1|approve|link|once\n2|refuse|link|");
}

#[test]
fn links_expire_and_belong_to_one_ledger() {
    let state = State::new();
    let question = state.ask("docker restart jellyfin");
    let desk = state.start();
    let link = state.link(question);
    let token = link.split('=').nth(1).unwrap().to_owned();
    let refused = |state: &State| {
        let fields = [("id", "1"), ("t", token.as_str()), ("decision", "approve")];
        let statuses = (desk.get(&link, &[]).status, desk.post("/answer/link", &[], &fields).status);
        assert_eq!(state.answers(), "");
        statuses
    };
    state.sandbox.sql("UPDATE questions SET expires_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 minute')");
    assert_eq!(refused(&state), (200, 409), "the question has expired; the link shows its outcome");
    state.sandbox.sql("UPDATE questions SET digest = 'another call'");
    assert_eq!(refused(&state), (403, 403));
    state.sandbox.sql("UPDATE questions SET digest = 'd1', tool_use_id = 'toolu_2'");
    assert_eq!(refused(&state), (403, 403));
    state.sandbox.sql("DELETE FROM questions");
    assert_eq!(refused(&state), (403, 403));
}

/// A desk that notifies programs, which keep what they get in `sent-targets` and `sent-text`, and its address.
fn with_buttons() -> (State, String) {
    let sandbox = Sandbox::new();
    // Stands in for apprise: keeps its targets and the text.
    let apprise =
        sandbox.write("bin/apprise", "#!/bin/sh\ncat \"${1#--config=}\" > sent-targets\ncat > sent-text\n");
    std::fs::set_permissions(&apprise, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let desk = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let sandbox =
        sandbox.with("PATH", &path).with("CLAUDEOPS_DESK_URL", &desk).with("CLAUDEOPS_NTFY_ACTIONS", "true");
    (State::of(sandbox), desk)
}

/// Delivers a notice of this question.
fn notify(state: &State, question: impl std::fmt::Display) {
    state.sandbox.sql(&format!(
        "INSERT INTO notices (key, created_at, level, title, body, format, tags, state) VALUES
             ('question/{question}', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'warning', 'Question', 'Answer it.', 'markdown', '', 'pending')"
    ));
    let number = state.sandbox.sql("SELECT max(id) FROM notices");
    let run =
        state.sandbox.opsctl(&["notify", "--deliver", &number], b"ntfys://ntfy.example/ops json://other\n");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(state.sandbox.sql("SELECT DISTINCT state FROM notice_states"), "delivered");
}

#[test]
fn a_notification_that_does_not_show_the_whole_command_has_no_buttons() {
    let (state, desk) = with_buttons();
    let _server = state.start_at(desk.strip_prefix("http://").unwrap());
    for (lines, has_buttons) in [(40, true), (41, false)] {
        let question = state.ask(&"docker restart jellyfin\n".repeat(lines));
        let link = state.link(question);
        notify(&state, question);
        let targets = state.sandbox.read("sent-targets");
        assert!(targets.contains("click="), "{targets}");
        assert_eq!(targets.contains("actions="), has_buttons, "{lines}: {targets}");
        assert!(state.sandbox.read("sent-text").contains(&link));
    }
}

#[test]
fn a_notification_carries_a_link_and_buttons_that_the_ledger_does_not_contain() {
    let (state, desk) = with_buttons();
    let question = state.ask("docker restart jellyfin");
    let server = state.start_at(desk.strip_prefix("http://").unwrap());
    notify(&state, question);
    let link = format!("{desk}{}", state.link(question));
    assert_eq!(
        state.sandbox.read("sent-text"),
        format!("Answer it.\n\nThis link answers the question, once: {link}\n")
    );
    let token = link.split("t=").nth(1).unwrap();
    assert!(!state.sandbox.sql("SELECT * FROM notices").contains(token), "the link is stored");
    let listed = state.sandbox.opsctl(&["notify", "--json"], b"").stdout;
    assert!(listed.contains("Answer it.") && !listed.contains(token), "{listed}");
    // A person taps a button.
    let targets = state.sandbox.read("sent-targets");
    let (ntfy, other) = targets.trim().split_once('\n').unwrap();
    assert_eq!(other, "json://other");
    let target = url::Url::parse(ntfy).unwrap();
    let (_, actions) = target.query_pairs().find(|(name, _)| name == "actions").unwrap();
    let button = actions.split("; ").next().unwrap();
    let part = |name: &str| button.split(", ").find_map(|part| part.strip_prefix(name)).unwrap().to_owned();
    assert!(button.contains(&format!(", {desk}/answer/link, method=POST")), "{button}");
    let answer = send(server.address, "POST", "/answer/link", &[], &part("body="));
    assert_eq!((answer.status, answer.body.as_str()), (200, "approved\n"), "{answer:?}");
    assert_eq!(state.answers(), "1|approve|link|");
}
