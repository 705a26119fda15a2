//! The pages in a real browser, on a desktop and on a phone.

use serde_json::json;

use super::server::{Server, State};
use crate::browser::{Browser, CONTRAST, LOOKS, Look, OUTSIDE};

const DESK: &str = "http://127.0.0.1:8080";
pub const PHONE: Look = Look { name: "phone", scheme: "light", width: 375 };
pub const DESKTOP: Look = LOOKS[0];

/// A browser, and a desk in its network.
fn start(state: &State) -> (Browser, Server) {
    let browser = Browser::start();
    let desk = state.start_beside(browser.pid());
    (browser, desk)
}

/// Types the token into the form, as a person does.
pub fn log_in(browser: &mut Browser, token: &str, look: Look) {
    browser.visit(&format!("{DESK}/login"), look);
    browser.wait_until("document.activeElement.id === 'token'");
    browser.call("Input.insertText", &json!({"text": token}));
    browser.follow("document.querySelector('button').click()");
    assert_eq!(browser.evaluate("location.href"), format!("{DESK}/"), "{}", browser.text());
}

/// Writes a note to the first question, and presses this button.
pub fn answer(browser: &mut Browser, button: &str, note: &str) {
    browser.evaluate("document.querySelector('input[name=note]').focus()");
    browser.call("Input.insertText", &json!({"text": note}));
    click(browser, &format!("button.{button}"));
    browser.wait_until("location.search === '?answered=1' && document.readyState === 'complete'");
}

/// Clicks into the middle of the first element of this selector, if nothing covers it.
fn click(browser: &mut Browser, selector: &str) {
    let at = browser.evaluate(&format!(
        "(() => {{ const it = document.querySelector('{selector}'); it.scrollIntoView({{block: 'center'}}); const at = it.getBoundingClientRect(); \
         const [x, y] = [at.x + at.width / 2, at.y + at.height / 2]; return [x, y, document.elementFromPoint(x, y) === it, at.height]; }})()"
    ));
    assert_eq!(at[2], true, "{selector} is covered: {at}");
    assert!(at[3].as_f64().unwrap() >= 44.0, "{selector} is too small for a finger: {at}");
    for kind in ["mousePressed", "mouseReleased"] {
        browser.call(
            "Input.dispatchMouseEvent",
            &json!({"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}),
        );
    }
}

#[test]
fn a_question_is_approved_on_a_desktop_and_on_a_phone() {
    for look in [DESKTOP, PHONE] {
        let state = State::new();
        state.ask("ssh root@ie01 'docker restart jellyfin'");
        let (mut browser, _desk) = start(&state);
        log_in(&mut browser, &state.token(), look);
        let text = browser.text();
        for seen in [
            "One question is open",
            "Restart of jellyfin on ie01",
            "ssh root@ie01 'docker restart jellyfin'",
            "Cooldown limit exceeded for jellyfin: 2/2 restarts",
            "database was locked by a backup",
            "tier 2",
            "asked 3m ago",
            "Approving runs this once on ie01",
            "0 of 2 used now",
            "There is no log: opsctl did not start this session.",
        ] {
            assert!(text.contains(seen), "{}: {seen} is not in {text}", look.name);
        }
        browser.screenshot(&format!("question-{}", look.name));
        // That of docs/desk.md.
        let clip = json!({"x": 0, "y": 0, "width": look.width, "height": 640, "scale": 1});
        browser.picture(&format!("docs-{}", look.name), &json!({"format": "png", "clip": clip}));
        assert_eq!(state.answers(), "");
        answer(&mut browser, "approve", "");
        assert_eq!(state.answers(), "1|approve|desk|", "{}", look.name);
        let text = browser.text();
        assert!(
            text.contains("No open questions") && text.contains("The session has not run it yet."),
            "{text}"
        );
        browser.screenshot(&format!("answered-{}", look.name));
        let width = "document.querySelector('.overview').getBoundingClientRect().width > 100";
        assert_eq!(browser.evaluate(width), true, "the state is not to be seen");
        // What comes next does not take the answer off the page.
        state.ask("docker restart adguard");
        browser.wait_until("document.body.innerText.includes('One question is open')");
        assert!(browser.text().contains("The session has not run it yet."), "{}", browser.text());
        // The outcome is shown as soon as the hooks have recorded it.
        state.sandbox.sql(RAN);
        browser.wait_until(
            "document.querySelector('.flash').innerText.includes('exit code 0, healthy after 12s.')",
        );
        // The browser draws the sign of an input of a time from an address of its own.
        let is_foreign = |address: &String| !address.starts_with(DESK) && !address.starts_with("data:");
        let foreign: Vec<String> = browser.asked_for().into_iter().filter(is_foreign).collect();
        assert_eq!((foreign, browser.complaints()), (vec![], vec![]), "{}", look.name);
    }
}

#[test]
fn a_question_is_refused_with_a_note_by_keyboard_alone_and_without_scripts() {
    let state = State::new();
    state.ask("docker restart jellyfin");
    let (mut browser, _desk) = start(&state);
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.visit(&format!("{DESK}/login"), DESKTOP);
    browser.wait_until("document.activeElement.id === 'token'");
    browser.call("Input.insertText", &json!({"text": state.token()}));
    browser.press("Enter", 13, "\r");
    browser.wait_until("!!document.querySelector('article.question')");
    let mut steps = 0;
    while browser.evaluate("document.activeElement.name") != "note" {
        browser.press("Tab", 9, "");
        steps += 1;
        assert!(steps < 15, "the note is out of reach");
    }
    assert_eq!(browser.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid");
    browser.call("Input.insertText", &json!({"text": "not <b>during</b> the film"}));
    browser.press("Tab", 9, "");
    assert_eq!(browser.evaluate("document.activeElement.value"), "refuse");
    browser.press("Enter", 13, "\r");
    browser.wait_until("location.search === '?answered=1' && document.readyState === 'complete'");
    assert_eq!(state.answers(), "1|refuse|desk|not <b>during</b> the film");
    assert!(browser.text().contains("not <b>during</b> the film"), "{}", browser.text());
    // Without scripts the page reloads.
    let refresh = browser.evaluate("document.querySelector('meta[http-equiv=refresh]')?.content");
    assert_eq!(refresh, "60");
}

#[test]
fn a_new_question_appears_without_a_reload_and_a_typed_note_stays() {
    let state = State::new();
    let (mut browser, desk) = start(&state);
    log_in(&mut browser, &state.token(), DESKTOP);
    browser.wait_until("document.getElementById('live').textContent === 'live'");
    browser.evaluate("window.untouched = true");
    let asked = std::time::Instant::now();
    state.ask("docker restart jellyfin");
    browser.wait_until("document.body.innerText.includes('One question is open')");
    let took = asked.elapsed();
    eprintln!("a new question appeared after {took:?}");
    assert!(took.as_secs() < 10, "{took:?}");
    assert!(browser.evaluate("document.title").as_str().unwrap().starts_with("One question is open"));
    browser.evaluate("document.getElementById('note1').focus()");
    browser.call("Input.insertText", &json!({"text": "half a sen"}));
    state.ask("docker restart adguard");
    browser.wait_until("document.querySelectorAll('article.question').length === 2");
    browser.call("Input.insertText", &json!({"text": "tence"}));
    assert_eq!(browser.evaluate("document.getElementById('note1').value"), "half a sentence");
    // Answered elsewhere.
    let form = browser.evaluate("document.querySelector('[name=form]').value");
    assert_eq!(form.as_str().unwrap().len(), 64);
    state.sandbox.sql(
        "INSERT INTO question_answers VALUES (1, 'refuse', 'ann', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '+1 hour'), NULL, '')",
    );
    browser.wait_until("document.querySelectorAll('article.question').length === 1");
    // A restarted desk has the same page again, and the browser notices.
    desk.kill();
    browser.wait_until("document.getElementById('live').textContent === 'reconnecting'");
    let _desk = state.start_beside(browser.pid());
    state.ask("docker restart nginx");
    browser.wait_until("document.querySelectorAll('article.question').length === 2");
    assert_eq!(browser.evaluate("window.untouched"), true, "the page was reloaded");
    assert_eq!(
        browser.complaints().iter().filter(|it| !it.contains("ERR_")).count(),
        0,
        "{:?}",
        browser.complaints()
    );
}

/// The period and the filters are in the address, and a form sets them by keyboard.
#[test]
fn denials_are_filtered_by_address_and_by_form() {
    let state = State::new();
    for (hours, service, rule, tier) in
        [(1, "jellyfin", "budget", 2), (30, "adguard", "tier", 1), (24 * 20, "jellyfin", "never", 2)]
    {
        state.sandbox.sql(&format!(
            "INSERT INTO hook_decisions (at, session_id, tier, verdict, rule, actions, services, budgets, reason)
             VALUES (strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-{hours} hours'), 'session-{tier}', {tier}, 'deny', '{rule}',
                 'docker restart {service}', '{service}', '', 'denied for `{rule}`, token ghp_0123456789abcdefghijklmnopqrstuvwxyz')"
        ));
    }
    let (mut browser, _desk) = start(&state);
    log_in(&mut browser, &state.token(), DESKTOP);
    let rules = "[...document.querySelectorAll('#denials td.rule code')].map(it => it.textContent).join()";
    for (query, found) in [
        ("", "budget,tier"),
        ("?range=24h", "budget"),
        ("?range=30d", "budget,tier,never"),
        ("?range=30d&service=jellyfin", "budget,never"),
        ("?range=30d&host=ie01", "budget,never"),
        ("?range=30d&tier=1", "tier"),
        ("?range=30d&session=session-2&rule=never", "never"),
        ("?service=none", ""),
    ] {
        browser.visit(&format!("{DESK}/denials{query}"), PHONE);
        assert_eq!(browser.evaluate(rules), found, "{query}");
        assert_eq!(browser.evaluate(OUTSIDE), json!([]), "{query}");
        let text = browser.text();
        assert!(!text.contains("ghp_0123") && !text.contains('`'), "{text}");
    }
    browser.visit(&format!("{DESK}/denials?range=30d"), DESKTOP);
    browser.evaluate("document.querySelector('.filter summary').focus()");
    browser.press("Enter", 13, "\r");
    browser.evaluate("document.querySelector('[name=session]').focus()");
    browser.call("Input.insertText", &json!({"text": "session-2"}));
    browser.press("Enter", 13, "\r");
    browser.wait_until("location.search.includes('session=session-2') && document.readyState === 'complete'");
    assert_eq!(browser.evaluate(rules), "budget,never");
    assert!(browser.text().contains("session session-2"), "{}", browser.text());
    assert_eq!(browser.complaints(), vec![] as Vec<String>);
}

/// The filter follows a change of the ledger, and works by keyboard.
#[test]
fn a_page_is_filtered_by_agent() {
    let state = State::new();
    for (agent, session) in [("nas", "s1"), ("pie <b>2</b>", "s2")] {
        state.sandbox.sql(&format!(
            "INSERT INTO client_runs (session_id, tier, model, started_at, outcome, agent)
             VALUES ('{session}', 2, 'sonnet', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'completed', '{agent}')"
        ));
    }
    state.ask("docker restart jellyfin");
    state.sandbox.sql("UPDATE questions SET agent = 'nas'");
    let (mut browser, _desk) = start(&state);
    log_in(&mut browser, &state.token(), DESKTOP);
    let choices = "[...document.querySelectorAll('nav.agents a')].map((it) => it.textContent + ':' + it.getAttribute('aria-current')).join()";
    assert_eq!(browser.evaluate(choices), "All agents:true,nas:null,pie <b>2</b>:null");
    assert!(browser.text().contains("agent nas"), "the question has no agent: {}", browser.text());
    browser.evaluate("document.querySelectorAll('nav.agents a')[2].focus()");
    browser.press("Enter", 13, "\r");
    browser.wait_until("location.search.startsWith('?agent=pie') && document.readyState === 'complete'");
    assert_eq!(browser.evaluate(choices), "All agents:null,nas:null,pie <b>2</b>:true");
    let sessions =
        "[...document.querySelectorAll('#sessions td.id > :first-child')].map((it) => it.textContent).join()";
    assert_eq!(browser.evaluate(sessions), "s2");
    // Open questions of all agents stay, and a change of the ledger leaves the filter.
    browser.wait_until("document.getElementById('live').textContent === 'live'");
    state.ask("docker restart adguard");
    browser.wait_until("document.querySelectorAll('article.question').length === 2");
    assert_eq!(browser.evaluate(sessions), "s2");
    browser.visit(&format!("{DESK}/sessions?agent=nas"), PHONE);
    assert_eq!(
        browser.evaluate(
            "[...document.querySelectorAll('td.id > :first-child')].map((it) => it.textContent).join()"
        ),
        "s1,5f0c4b1e-1d2c-4e55-9d0a-2f6f1f3c7a10"
    );
    assert_eq!(browser.complaints(), vec![] as Vec<String>);
}

#[test]
fn a_command_is_shown_as_text_with_all_that_it_contains() {
    let evil = "docker restart x</pre><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">{{ 7 * 7 }}&lt;\u{202e}\u{1b}[31m";
    let state = State::new();
    let id = state.ask(evil);
    let quoted = evil.replace('\'', "''");
    state.sandbox.sql(&format!(
        "UPDATE questions SET words = '{quoted}', service = '{quoted}', session_id = '{quoted}', reasons = json_array('{quoted}'),
             actions = json_array('{quoted}', '{quoted}')"
    ));
    let (mut browser, _desk) = start(&state);
    // Without the page's own policy, which would hold even if something slipped through.
    browser.call("Page.setBypassCSP", &json!({"enabled": true}));
    log_in(&mut browser, &state.token(), DESKTOP);
    for page in ["/".to_owned(), format!("/q/{id}")] {
        browser.visit(&format!("{DESK}{page}"), DESKTOP);
        let found = browser.evaluate(
            "[document.title.includes('owned'), document.images.length, document.querySelectorAll('script:not([src])').length]",
        );
        assert_eq!(found, json!([false, 0, 0]), "{page}");
        let command = browser.evaluate("document.querySelector('pre.command').textContent");
        let visible = evil.replace('\u{202e}', "\\u{202e}").replace('\u{1b}', "\\u{1b}");
        assert_eq!(command.as_str().unwrap(), visible, "{page}");
    }
}

#[test]
fn the_pages_are_readable_in_light_and_dark_mode_on_screens_and_phones() {
    let state = State::new();
    let long = format!("for i in {}; do docker restart jellyfin; done", "a-long-name ".repeat(80));
    state.ask(&long);
    state.ask("docker restart jellyfin");
    for command in ["docker restart nginx", "docker restart adguard", "docker restart grafana"] {
        state.ask(command);
    }
    state.sandbox.sql(HISTORY);
    state.sandbox.write("results/a.jsonl", LOG);
    let (mut browser, _desk) = start(&state);
    log_in(&mut browser, &state.token(), DESKTOP);
    let link = state.link(2);
    for look in LOOKS.into_iter().chain([PHONE]) {
        for (name, page) in [
            ("desk", "/"),
            ("link", &link),
            ("sessions", "/sessions"),
            ("denials", "/denials"),
            ("questions", "/questions"),
            ("filtered", "/?range=30d&host=ie01"),
            ("log", "/sessions/one/log"),
            ("nothing", "/x"),
        ] {
            browser.visit(&format!("{DESK}{page}"), look);
            browser.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
            let place = format!("{name}, {}", look.name);
            browser.screenshot(&format!("{name}-{}", look.name));
            let contrast = browser.evaluate(CONTRAST);
            assert_eq!(contrast["low"], json!([]), "{place}");
            assert_eq!(browser.evaluate(OUTSIDE), json!([]), "{place}");
            assert_eq!(
                browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
                true,
                "{place}"
            );
            let complaints = browser.complaints();
            assert!(
                complaints.iter().all(|it| name == "nothing" && it.contains("404")),
                "{place}: {complaints:?}"
            );
        }
    }
    browser.visit(&format!("{DESK}/"), DESKTOP);
    let tree = browser.call("Accessibility.getFullAXTree", &json!({}));
    let nodes = tree["nodes"].as_array().unwrap();
    for (role, name) in [
        ("heading", "2 questions are open"),
        ("article", "Restart of jellyfin on ie01"),
        ("textbox", "Note the agent reads it"),
        ("button", "Approve once"),
        ("button", "Refuse"),
        ("region", "Command of question 2"),
        ("navigation", "Pages"),
    ] {
        let has = nodes.iter().any(|node| node["role"]["value"] == role && node["name"]["value"] == name);
        assert!(has, "no {role} `{name}`");
    }
}

/// The approved call has run, and its service was checked.
const RAN: &str = "
    UPDATE questions SET used_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE id = 1;
    INSERT INTO hook_actions (session_id, tool_use_id, service, kind, verb, host, counts, state, reserved_at, settled_at)
    SELECT session_id, tool_use_id, 'jellyfin', 'restart', 'restart', 'ie01', 1, 'done', used_at, used_at FROM questions WHERE id = 1;
    INSERT INTO service_checks (service, healthy, at)
    SELECT 'jellyfin', 1, strftime('%Y-%m-%dT%H:%M:%SZ', used_at, '+12 seconds') FROM questions WHERE id = 1";

/// Answered questions, a session with its log, and what the report shows.
const HISTORY: &str = "
    INSERT INTO question_answers VALUES
        (3, 'approve', 'ann', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 minute'), strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '+1 hour'), NULL, ''),
        (4, 'refuse', 'link', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 minute'), strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '+1 hour'), 'not during the film', '');
    UPDATE questions SET used_at = asked_at WHERE id = 3;
    UPDATE questions SET expires_at = asked_at WHERE id = 5;
    INSERT INTO client_runs (session_id, tier, model, started_at, outcome, cost_usd, turns, duration_ms, log_path) VALUES
        ('one', 2, 'sonnet', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-10 minutes'), 'completed', 0.31, 12, 190000, '/results/a.jsonl');
    INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier) VALUES
        ('jellyfin', 'restart', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-80 minutes'), 1, 2),
        ('jellyfin', 'restart', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-30 minutes'), 1, 2);
    INSERT INTO events (level, service, message, created_at, source) VALUES
        ('warning', 'jellyfin', 'Unhealthy after remediation (attempt 2 of 3): status 502', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-20 minutes'), 'hook')";

const LOG: &str = r#"{"type":"opsctl","at":"2026-03-21T14:00:00Z","started":"tier 2, sonnet"}
{"type":"assistant","message":{"content":[{"type":"text","text":"Jellyfin answers 502."},{"type":"tool_use","name":"Bash","input":{"command":"docker logs jellyfin"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":"Cooldown limit exceeded for jellyfin"}]}}
"#;
