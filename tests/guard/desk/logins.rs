//! Who may use the desk.

use super::http::{answer_to, send};
use super::server::State;
use crate::sandbox::Sandbox;

#[test]
fn a_login_with_the_token_lasts_until_the_logout() {
    let state = State::new();
    let desk = state.start();
    let answer = desk.get("/", &[]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/login")));
    assert_eq!(desk.get("/", &[("Cookie", "opsctl_desk=0")]).status, 303);
    for path in ["/events", "/sessions", "/sessions/x/log"] {
        assert_eq!(desk.get(path, &[("Accept", "text/event-stream")]).status, 401, "{path}");
    }
    assert!(desk.get("/login", &[]).body.contains("desk-token"));
    let wrong = desk.post("/login", &[], &[("token", "0123456789abcdef")]);
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    let answer = desk.post("/login", &[], &[("token", &state.token())]);
    let set = answer.header("set-cookie").unwrap();
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age=43200"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Secure"), "{set}");
    let cookie = answer.cookie();
    assert_eq!(cookie.len(), "opsctl_desk=".len() + 64);
    let page = desk.get("/", &[("Cookie", &cookie)]);
    assert_eq!(page.status, 200);
    assert!(page.body.contains("No open questions"), "{}", page.body);
    assert!(!state.sandbox.sql("SELECT * FROM desk_logins").contains(&cookie[12..]), "the cookie is stored");
    assert_eq!(desk.post("/logout", &[("Cookie", &cookie)], &[("form", "")]).status, 403);
    let out = desk.post("/logout", &[("Cookie", &cookie)], &[("form", &page.field("form"))]);
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"), "{out:?}");
    assert_eq!(desk.get("/", &[("Cookie", &cookie)]).status, 303);
}

#[test]
fn a_new_token_ends_all_logins() {
    let state = State::new();
    let desk = state.start();
    let cookie = desk.log_in(&state.token());
    desk.kill();
    let desk = state.start();
    assert_eq!(desk.get("/", &[("Cookie", &cookie)]).status, 200);
    desk.kill();
    std::fs::remove_file(state.sandbox.path("desk-token")).unwrap();
    let desk = state.start();
    assert_eq!(desk.get("/", &[("Cookie", &cookie)]).status, 303);
}

#[test]
fn a_login_expires_after_twelve_hours() {
    let state = State::new();
    let desk = state.start();
    let cookie = desk.log_in(&state.token());
    let hours = state
        .sandbox
        .sql("SELECT round((julianday(expires_at) - julianday(created_at)) * 24) FROM desk_logins");
    assert_eq!(hours, "12.0");
    state.sandbox.sql("UPDATE desk_logins SET expires_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now')");
    assert_eq!(desk.get("/", &[("Cookie", &cookie)]).status, 303);
}

#[test]
fn the_sixth_wrong_token_has_to_wait_and_so_has_the_right_one() {
    let state = State::new();
    let desk = state.start();
    for _ in 0..5 {
        assert_eq!(desk.post("/login", &[], &[("token", "wrong")]).status, 401);
    }
    for token in ["wrong", &state.token()] {
        // The header counts only from a listed proxy.
        let answer = desk.post("/login", &[("X-Forwarded-For", "198.51.100.7")], &[("token", token)]);
        assert_eq!(answer.status, 429, "{answer:?}");
        assert!(answer.header("retry-after").unwrap().parse::<u32>().unwrap() > 200);
    }
}

#[test]
fn logins_and_tokens_outlive_a_killed_desk() {
    let state = State::new();
    let question = state.ask("docker restart jellyfin");
    let desk = state.start();
    let (token, link) = (state.token(), state.link(question));
    let cookie = desk.log_in(&token);
    let form = desk.get("/", &[("Cookie", &cookie)]).field("form");
    desk.kill();
    let desk = state.start();
    assert_eq!((state.token(), state.link(question)), (token, link));
    let fields = [("id", "1"), ("form", &form), ("decision", "approve")];
    let answer = desk.post("/answer", &[("Cookie", &cookie)], &fields);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/?answered=1")), "{answer:?}");
    assert_eq!(state.answers(), "1|approve|desk|");
    assert_eq!(desk.end(), Some(0));
}

#[test]
fn a_proxy_names_the_user_and_no_other_address_can() {
    let header = ("CLAUDEOPS_DESK_USER_HEADER", "Remote-User");
    let of =
        |proxy: &str| State::of(Sandbox::new().with(header.0, header.1).with("CLAUDEOPS_DESK_PROXY", proxy));
    let state = of("127.0.0.1");
    state.ask("docker restart jellyfin");
    let desk = state.start();
    let page = desk.get("/", &[("Remote-User", "ann")]);
    assert_eq!(page.status, 200);
    let form = page.field("form");
    let answer = |user: &str| {
        let fields = [("id", "1"), ("form", form.as_str()), ("decision", "refuse"), ("note", "later")];
        desk.post("/answer", &[("Remote-User", user)], &fields).status
    };
    assert_eq!((answer("bob"), state.answers()), (403, String::new()));
    assert_eq!((answer("ann"), state.answers()), (303, "1|refuse|ann|later".to_owned()));
    for headers in [&[][..], &[("Remote-User", "")], &[("Remote-User", "ann"), ("Remote-User", "bob")]] {
        assert_eq!(desk.get("/", headers).status, 303, "{headers:?}");
    }
    // There is no token beside it.
    assert_eq!(desk.post("/login", &[], &[("token", "0123456789abcdef")]).status, 401);
    assert!(!state.sandbox.path("desk-token").exists());
    let state = of("192.0.2.1");
    assert_eq!(state.start().get("/", &[("Remote-User", "ann")]).status, 303);
}

#[test]
fn behind_https_the_cookie_is_for_https_only() {
    let state = State::of(Sandbox::new().with("CLAUDEOPS_DESK_URL", "https://desk.example.org"));
    let desk = state.start();
    let headers = [("Host", "desk.example.org"), ("Origin", "https://desk.example.org")];
    let answer = desk.post("/login", &headers, &[("token", &state.token())]);
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-opsctl_desk=") && set.ends_with("; Secure"), "{set}");
}

#[test]
fn health_and_metrics_are_for_this_machine_or_a_bearer_token() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("metrics-token", "a-token-for-metrics\n");
    let state = State::of(sandbox.with("CLAUDEOPS_METRICS_TOKEN_FILE", file.to_str().unwrap()));
    let desk = state.start();
    let answer = desk.get("/healthz", &[]);
    assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"));
    let metrics = desk.get("/metrics", &[]);
    assert_eq!((metrics.status, metrics.body.ends_with("# EOF\n")), (200, true), "{metrics:?}");
    assert!(
        metrics.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0")
    );
    for header in ["X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "Via"] {
        assert_eq!(desk.get("/metrics", &[(header, "x")]).status, 401, "{header}");
        assert_eq!(desk.get("/healthz", &[(header, "x")]).status, 401, "{header}");
    }
    let forwarded = ("X-Forwarded-For", "198.51.100.7");
    assert_eq!(desk.get("/healthz", &[forwarded, ("Authorization", "Bearer wrong")]).status, 401);
    assert_eq!(
        desk.get("/healthz", &[forwarded, ("Authorization", "Bearer a-token-for-metrics")]).status,
        200
    );
    assert_eq!(desk.get("/", &[("Authorization", "Bearer a-token-for-metrics")]).status, 303);
}

#[test]
fn the_desk_is_not_healthy_without_its_ledger() {
    let state = State::new();
    let desk = state.start();
    assert_eq!(desk.get("/healthz", &[]).status, 200);
    let lock = state.sandbox.path("claudeops.db");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let answer = desk.get("/healthz", &[]);
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains("cannot be used"), "{answer:?}");
    assert_eq!(send(desk.address, "GET", "/", &[("Cookie", "opsctl_desk=1")], "").status, 503);
}

#[test]
fn beyond_loopback_the_desk_does_not_start_without_a_login() {
    let state = State::new();
    let run = state.sandbox.opsctl(&["serve", "--listen", "0.0.0.0:0"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("CLAUDEOPS_DESK_TOKEN_FILE"), "{run:?}");
    let short = state.sandbox.write("short", "0123\n");
    let state = State::of(Sandbox::new().with("CLAUDEOPS_DESK_TOKEN_FILE", short.to_str().unwrap()));
    let run = state.sandbox.opsctl(&["serve", "--listen", "127.0.0.1:0"], b"");
    assert!(run.code == Some(1) && run.stderr.contains("shorter than 16 characters"), "{run:?}");
}

#[test]
fn a_slow_head_and_a_large_form_are_refused() {
    let state = State::new();
    let desk = state.start();
    let large = format!("token={}", "x".repeat(20_000));
    assert_eq!(send(desk.address, "POST", "/login", &[], &large).status, 413);
    let started = std::time::Instant::now();
    let answer = answer_to(desk.address, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    assert!(answer.status == 0 || answer.status == 408, "{answer:?}");
    assert!((10..40).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}
