//! What pages of other sites and their names cannot do.

use serde_json::{Value, json};

use super::server::State;

#[test]
fn an_answer_needs_the_form_of_its_own_login() {
    let state = State::new();
    state.ask("docker restart jellyfin");
    let desk = state.start();
    let (own, other) = (desk.log_in(&state.token()), desk.log_in(&state.token()));
    let page = desk.get("/", &[("Cookie", &own)]);
    let (form, shown) = (page.field("form"), page.field("shown"));
    let foreign = desk.get("/", &[("Cookie", &other)]).field("form");
    let fields = |form: &str| {
        vec![("id", "1".to_owned()), ("form", form.to_owned()), ("decision", "approve".to_owned())]
    };
    let post = |headers: &[(&str, &str)], fields: &[(&str, String)]| {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        desk.post("/answer", headers, &fields).status
    };
    let cookie = ("Cookie", own.as_str());
    assert_eq!(post(&[cookie], &fields("")), 403, "no token");
    assert_eq!(post(&[cookie], &fields(&foreign)), 403, "the token of another login");
    assert_eq!(post(&[], &fields(&form)), 401, "no login");
    for foreign in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        assert_eq!(post(&[cookie, ("Origin", foreign)], &fields(&form)), 403, "{foreign}");
    }
    for site in ["cross-site", "same-site", "none"] {
        assert_eq!(post(&[cookie, ("Sec-Fetch-Site", site)], &fields(&form)), 403, "{site}");
    }
    assert_eq!(post(&[cookie, ("Host", "evil.example")], &fields(&form)), 421);
    let mut changed = fields(&form);
    changed.push(("shown", shown.replace(|c: char| c.is_ascii_digit(), "a")));
    assert_eq!(post(&[cookie], &changed), 409, "another command was shown");
    let mut wrong = fields(&form);
    wrong[2].1 = "yes".to_owned();
    assert_eq!(post(&[cookie], &wrong), 400);
    let mut unknown = fields(&form);
    unknown[0].1 = "2".to_owned();
    assert_eq!(post(&[cookie], &unknown), 404);
    for path in
        ["/answer?id=1&decision=approve", "/answer/link?id=1&decision=approve", "/?id=1&decision=approve"]
    {
        desk.get(path, &[cookie]);
    }
    assert_eq!(state.answers(), "");
    let mut right = fields(&form);
    right.push(("shown", shown));
    let origin = format!("http://{}", desk.address);
    assert_eq!(post(&[cookie, ("Origin", &origin), ("Sec-Fetch-Site", "same-origin")], &right), 303);
    assert_eq!(state.answers(), "1|approve|desk|");
    assert_eq!(post(&[cookie], &right), 409, "answered twice");
    assert_eq!(state.answers(), "1|approve|desk|");
}

#[test]
fn a_login_form_of_another_site_is_refused() {
    let state = State::new();
    let desk = state.start();
    let token = state.token();
    let answer = desk.post("/login", &[("Origin", "https://evil.example")], &[("token", &token)]);
    assert_eq!((answer.status, answer.header("set-cookie")), (403, None));
}

#[test]
fn every_answer_forbids_frames_other_sources_and_storing() {
    let state = State::new();
    state.ask("docker restart jellyfin");
    let desk = state.start();
    let cookie = desk.log_in(&state.token());
    let logged_in = [("Cookie", cookie.as_str())];
    for (path, headers, status) in [
        ("/", &logged_in[..], 200),
        ("/", &[][..], 303),
        ("/login", &[][..], 200),
        ("/q/1", &logged_in[..], 200),
        ("/q/1", &[][..], 401),
        ("/q/1?t=x", &[][..], 403),
        ("/q/2", &logged_in[..], 404),
        ("/q/x", &logged_in[..], 404),
        ("/answer", &logged_in[..], 405),
        ("/sessions", &logged_in[..], 200),
        ("/sessions/..%2f..%2fetc%2fpasswd/log", &logged_in[..], 404),
        ("/static/desk.css", &[][..], 200),
        ("/static/desk.js", &[][..], 200),
        ("/static/icon.svg", &[][..], 200),
        ("/static/..%2fdesk.css", &[][..], 404),
        ("/nothing", &[][..], 404),
        ("/", &[("Host", "evil.example")][..], 421),
        ("http://evil.example/", &[][..], 421),
    ] {
        let answer = desk.get(path, headers);
        assert_eq!(answer.status, status, "{path} {answer:?}");
        let policy = answer.header("content-security-policy").expect(path);
        for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"]
        {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
}

#[test]
fn the_log_of_a_session_is_shown_without_secrets_and_without_following_links() {
    let state = State::new();
    let run = |id: &str, log: &str| {
        state.sandbox.sql(&format!(
            "INSERT INTO client_runs (session_id, tier, model, started_at, outcome, log_path) VALUES
                 ('{id}', 2, 'sonnet', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'completed', '{log}')"
        ));
    };
    run("one", "/results/of/the/agent/a.jsonl");
    run("two", "/results/b.jsonl");
    run("three", "../../desk-token");
    // A padded text is cut in the middle of a token, whose beginning is not recognised.
    let padded = format!("{} ghp_0123456789abcdefghij", "x".repeat(1990));
    let says = |block: Value| json!({"type": "assistant", "message": {"content": [block]}});
    let call =
        json!({"type": "tool_use", "name": "Bash", "input": {"command": "mysql --password hunter22 <b>"}});
    let log = format!("{}\n{}\n", says(call), says(json!({"type": "text", "text": padded})));
    state.sandbox.write("results/a.jsonl", &log);
    let target = state.sandbox.write("secret.txt", "{\"type\":\"opsctl\",\"at\":\"t\",\"x\":\"stolen\"}\n");
    std::os::unix::fs::symlink(target, state.sandbox.path("results/b.jsonl")).unwrap();
    let desk = state.start();
    let cookie = desk.log_in(&state.token());
    let log = |id: &str| desk.get(&format!("/sessions/{id}/log"), &[("Cookie", &cookie)]);
    let page = log("one");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("Bash: mysql --password [redacted] &lt;b&gt;"), "{}", page.body);
    assert!(page.body.contains("xxx") && !page.body.contains("ghp_"), "{}", page.body);
    for id in ["two", "three", "four"] {
        assert_eq!(log(id).status, 404, "{id}");
    }
    assert!(desk.get("/sessions", &[("Cookie", &cookie)]).body.contains("/sessions/one/log"));
}
