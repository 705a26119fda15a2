//! The report in a real browser: its content, its accessibility, and that it loads nothing. The pictures are in
//! `target/tmp/report`.
#![cfg(test)]

mod browser;
#[path = "../support/sandbox.rs"]
mod sandbox;

use std::path::PathBuf;

use serde_json::{Value, json};

use browser::{Browser, CONTRAST, LOOKS, OUTSIDE};
use sandbox::{Sandbox, denied, passes};

/// The page of a sandbox, written in an isolated network.
fn report(sandbox: &Sandbox, since: &str) -> PathBuf {
    let run = sandbox.in_own_network("true", &["report", "--html", "report.html", "--since", since], "");
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "report.html\n", ""),
        "{run:?}"
    );
    sandbox.path("report.html")
}

/// An incident through the real hooks, after a week of sessions.
fn incident() -> Sandbox {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    sandbox.write(
        "hosts.yaml",
        "domain: lab.example\n\
         hosts: {ie01: {address: 127.0.0.1}, nas: {address: 127.0.0.2}, attic: {address: 192.0.2.1}}\n\
         services: {jellyfin: {host: ie01}, adguard: {}, nginx: {}, paperless: {}, grafana: {}}\n",
    );
    sandbox.write("cooldown.json", "{}");
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
        passes(&sandbox.after(id, "docker restart jellyfin"));
    }
    denied(&sandbox.before("t3", "ssh root@ie01 'docker restart jellyfin'"));
    denied(&sandbox.before("t4", "docker restart $(docker ps -q)"));
    passes(&sandbox.before("t5", "docker restart adguard"));
    passes(&sandbox.hook("post-tool-use-failure", &sandbox::call("t5", "docker restart adguard")));
    sandbox.sql(WEEK);
    sandbox
}

/// Whether the table of a lane is to be seen.
const LANE_IS_OPEN: &str =
    "[...document.querySelectorAll('#timeline table')].some(it => it.checkVisibility())";

/// Sessions of a week, verifications, a failure of the guard and a notice that needs attention.
const WEEK: &str = "
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 83)
    INSERT INTO client_runs (session_id, tier, model, started_at, outcome, cost_usd, turns, duration_ms)
    SELECT 'session-' || i, iif(i % 9, 1, 2), iif(i % 9, 'haiku', 'sonnet'),
        strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || (2 * (83 - i)) || ' hours', '-5 minutes'),
        iif(i % 40 = 7, 'timeout', 'completed'), 0.01 * (1 + i % 7), 5 + i % 9, 60000 + 1000 * i FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 24)
    INSERT INTO events (level, service, message, created_at, source)
    SELECT iif(i % 5, 'info', 'warning'), iif(i % 3, 'jellyfin', 'nginx'),
        iif(i % 5, 'Verified healthy after remediation', 'Unhealthy after remediation (attempt 1 of 3): status 502'),
        strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || (6 * i) || ' hours'), 'hook' FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 24)
    INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier)
    SELECT iif(i % 3, 'jellyfin', 'nginx'), 'restart',
        strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || (6 * i) || ' hours', '-4 minutes'), i % 6 > 0, 2 FROM n;
    INSERT INTO hook_decisions (at, verdict, rule, actions, services, budgets, reason, micros) VALUES
        (strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-2 hours'), 'fail-open', 'on_failure', 'docker restart paperless', 'paperless', '',
         'the ledger cannot be used: database or disk is full', 9000);
    INSERT INTO notices (key, created_at, level, title, body, format, tags, state) VALUES
        ('verify/x', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-20 minutes'), 'critical', 'nginx is still unhealthy after 3 attempts', '', 'text', '', 'failed')";

#[test]
fn the_page_is_readable_in_light_and_dark_mode_on_screens_and_phones() {
    let sandbox = incident();
    let page = report(&sandbox, "7d");
    let mut browser = Browser::start();
    for look in LOOKS {
        browser.open(&page, look);
        let picture = browser.screenshot(look.name);
        let place = format!("{}, see {}", look.name, picture.display());
        let text = browser.text();
        for seen in [
            "5 things need attention",
            "nginx is still unhealthy after 3 attempts",
            "attic (192.0.2.1) does not answer",
            "jellyfin has no restart left",
            "The last 7 days",
            "no single service",
            "ran unchecked",
            "2/2",
            "next ",
            "in 3h59m",
            "2 of 3 hosts reachable",
            "no restart left",
            "docker restart $(docker ps)",
            "tier 2, 10 sessions",
            "the budget was used up",
            "pre-tool-use",
            "1 command could not be checked in the last day",
            "the ledger cannot be used: database or disk is full",
            "Container restart failed",
        ] {
            assert!(text.contains(seen), "{place}: {seen} is not to be seen in {text}");
        }
        assert_eq!(browser.evaluate(LANE_IS_OPEN), false, "{place}: a closed table is open");
        let contrast = browser.evaluate(CONTRAST);
        assert_eq!(contrast["low"], json!([]), "{place}");
        assert!(contrast["seen"].as_u64().unwrap() > 200, "{place}: {contrast}");
        assert_eq!(browser.evaluate(OUTSIDE), json!([]), "{place}");
        assert_eq!(
            browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
            json!(true),
            "{place}"
        );
        let dark = browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 27)";
        assert_eq!(dark, look.scheme == "dark", "{place}");
        // Each mark has a size and is in its lane; later marks are further to the right.
        let marks = browser.evaluate(
            "[...document.querySelectorAll('details .track')].map(track => { const of = track.getBoundingClientRect(); \
             return [...track.querySelectorAll('.mark.done')].map(mark => mark.getBoundingClientRect()) \
             .map(at => [at.width > 6 && at.left >= of.left - 1 && at.right <= of.right + 1 && at.top >= of.top && at.bottom <= of.bottom, at.left]); })",
        );
        let lanes: Vec<&Vec<Value>> =
            marks.as_array().unwrap().iter().map(|lane| lane.as_array().unwrap()).collect();
        assert!(lanes.iter().map(|lane| lane.len()).sum::<usize>() > 15, "{place}: {marks}");
        for lane in lanes {
            assert!(lane.iter().all(|mark| mark[0] == true), "{place}: {marks}");
            assert!(
                lane.windows(2).all(|pair| pair[0][1].as_f64() > pair[1][1].as_f64()),
                "{place}: {marks}"
            );
        }
        assert_eq!((browser.requests(&page), browser.complaints()), (vec![], vec![]), "{place}");
    }
    // No table is wider than a phone: its rows are cards there.
    let wide = browser.evaluate(
        "(() => { document.querySelectorAll('details').forEach(it => it.open = true); \
         return [...document.querySelectorAll('.scroll')].filter(it => it.scrollWidth > it.clientWidth + 1).map(it => it.outerHTML.slice(0, 200)); })()",
    );
    assert_eq!(wide, json!([]));
    assert_eq!(browser.evaluate(OUTSIDE), json!([]), "with all details open");
    browser.screenshot("phone-open");
    browser.media("print", "dark");
    let printed =
        "[getComputedStyle(document.body).backgroundColor, document.querySelector('nav').checkVisibility()]";
    assert_eq!(browser.evaluate(printed), json!(["rgb(255, 255, 255)", false]));
    assert_eq!(browser.evaluate(CONTRAST)["low"], json!([]), "in print");
}

#[test]
fn a_link_filters_the_page_by_service_and_host_without_a_script() {
    let sandbox = incident();
    let page = report(&sandbox, "7d");
    let mut browser = Browser::start();
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    let shown = "['.tile .name b', '#denials td.command', '.lanes .who b'].map(of => [...document.querySelectorAll(of)].filter(it => it.checkVisibility()).map(it => it.textContent).join())";
    browser.open(&page, LOOKS[0]);
    let all = browser.evaluate(shown);
    assert!(
        all[0].as_str().unwrap().contains("nginx") && all[2].as_str().unwrap().contains("no single service"),
        "{all}"
    );
    for filter in ["#service-jellyfin", "#host-ie01"] {
        browser.visit("about:blank", LOOKS[0]);
        browser.visit(&format!("file://{}{filter}", page.display()), LOOKS[0]);
        assert_eq!(
            browser.evaluate(shown),
            json!(["jellyfin", "ssh root@ie01 'docker restart jellyfin'", "jellyfin"]),
            "{filter}"
        );
    }
    browser.visit("about:blank", LOOKS[0]);
    browser.visit(&format!("file://{}#session-sess-abc-123", page.display()), LOOKS[0]);
    let sessions = "[...document.querySelectorAll('#sessions td.id > :first-child')].filter(it => it.checkVisibility()).map(it => it.textContent)";
    assert_eq!(browser.evaluate(sessions), json!(["sess-abc-123"]));
}

#[test]
fn times_are_local_with_their_offset() {
    let sandbox = incident().with("TZ", "CET-1");
    let page = report(&sandbox, "7d");
    let mut browser = Browser::start();
    browser.open(&page, LOOKS[0]);
    let text = browser.text();
    assert!(text.contains(" +01:00") && !text.contains("UTC,") && !text.contains(":00Z"), "{text}");
    let moment = browser.evaluate("(() => { const it = document.querySelector('td.when time'); return [it.dateTime, it.textContent]; })()");
    let at: chrono::DateTime<chrono::Utc> = moment[0].as_str().unwrap().parse().unwrap();
    let zone = chrono::FixedOffset::east_opt(3600).unwrap();
    assert_eq!(moment[1], at.with_timezone(&zone).format("%-d %b %H:%M +01:00").to_string());
}

#[test]
fn the_page_references_no_external_resource() {
    let sandbox = incident();
    let page = std::fs::read_to_string(report(&sandbox, "7d")).unwrap();
    for hint in
        ["http:", "https:", "src=", "url(", "@import", "<script", "<link", "<img", "javascript:", "style=\""]
    {
        assert!(!page.contains(hint), "{hint} at {:?}", page.find(hint));
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn ledger_content_is_escaped_in_the_page() {
    let sandbox = Sandbox::new();
    let evil = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">'\"></style></title>{{ 7 * 7 }}&lt;";
    sandbox.write("hosts.yaml", "policy: {}\n");
    sandbox.write("cooldown.json", "{}");
    passes(&sandbox.before("t1", "docker restart x"));
    let quoted = evil.replace('\'', "''");
    sandbox.sql(&format!(
        "INSERT INTO events (level, service, message, created_at) VALUES ('{quoted}', '{quoted}', '{quoted}', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));
         INSERT INTO events (level, service, message, created_at) VALUES ('info', '{quoted}', 'Verified healthy after remediation', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));
         INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier) VALUES ('{quoted}', 'restart', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 0, 2);
         INSERT INTO hook_decisions (at, verdict, rule, actions, services, budgets, reason, micros) VALUES
             (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'fail-open', '{quoted}', '{quoted}', 'a<b>', '', '{quoted}', 1);
         INSERT INTO hook_times (at, event, micros) VALUES (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), '{quoted}', 5);
         INSERT INTO notices (key, created_at, level, title, body, format, tags, state) VALUES
             ('k', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'critical', '{quoted}', '', 'text', '', 'failed');
         INSERT INTO client_runs (session_id, tier, model, started_at, outcome) VALUES
             ('{quoted}', 1, '{quoted}', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'completed')"
    ));
    let page = report(&sandbox, "1h");
    let mut browser = Browser::start();
    // Without the page's own policy, which would hold even if something slipped through.
    browser.call("Page.setBypassCSP", &json!({"enabled": true}));
    browser.open(&page, LOOKS[0]);
    browser.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
    let found = browser.evaluate(
        "[document.title.includes('owned'), document.scripts.length, document.images.length, !!document.getElementById('owned'), document.querySelectorAll('style').length]",
    );
    assert_eq!(found, json!([false, 0, 0, false, 1]));
    let text = browser.text();
    assert!(text.matches(evil).count() >= 8, "the texts are to be seen as they are: {text}");
    assert!(!text.contains("{{ 49"), "{text}");
    assert_eq!(browser.requests(&page), [""; 0]);
}

#[test]
fn the_timeline_is_accessible_by_keyboard_and_screen_reader() {
    let sandbox = incident();
    let page = report(&sandbox, "7d");
    let mut browser = Browser::start();
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.open(&page, LOOKS[0]);
    let focused = "(document.activeElement.closest('summary.lane')?.textContent ?? '').trim().split(' ')[0]";
    let mut steps = 0;
    while browser.evaluate(focused) != "jellyfin" {
        browser.press("Tab", 9, "");
        steps += 1;
        assert!(steps < 60, "jellyfin is out of reach, at {}", browser.evaluate(focused));
    }
    let outlined = browser.evaluate("getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(outlined, "solid", "it is to be seen where one is");
    assert_eq!(browser.evaluate(LANE_IS_OPEN), false);
    browser.press("Enter", 13, "\r");
    assert_eq!(browser.evaluate(LANE_IS_OPEN), true);
    let tree = browser.call("Accessibility.getFullAXTree", &json!({}));
    let named: Vec<(&str, &str)> = tree["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["ignored"] == false)
        .map(|node| {
            (node["role"]["value"].as_str().unwrap_or(""), node["name"]["value"].as_str().unwrap_or(""))
        })
        .collect();
    let has = |role: &str, words: &str| named.iter().any(|(of, name)| *of == role && name.contains(words));
    for (role, words) in [
        ("heading", "5 things need attention"),
        ("navigation", "Sections"),
        ("region", "Timeline"),
        ("DisclosureTriangle", "jellyfin"),
        ("DisclosureTriangle", "1 denied"),
        ("table", "What happened to jellyfin"),
        ("table", "Denials"),
        ("columnheader", "Rule"),
        ("region", "Services"),
        ("columnheader", "When"),
        ("rowheader", "budget"),
        ("image", "Cost per day"),
    ] {
        assert!(has(role, words), "no {role} `{words}` among {named:?}");
    }
}

#[test]
fn a_month_with_ten_thousand_events_is_a_page_that_opens() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\n");
    sandbox.write("cooldown.json", "{}");
    passes(&sandbox.before("t1", "docker restart x"));
    sandbox.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO events (level, service, message, created_at, source)
         SELECT 'info', 'svc-' || (i % 60), 'Verified healthy after remediation',
             strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || (4 * i) || ' minutes'), 'hook' FROM n;
         INSERT INTO hook_decisions (at, verdict, rule, actions, services, budgets, reason, micros)
         SELECT created_at, iif(id % 3, 'allow', 'deny'), iif(id % 3, '', 'budget'), 'docker restart ' || service, service, '', 'Cooldown limit exceeded.', 5000 FROM events;
         INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier)
         SELECT service, 'restart', created_at, 1, 2 FROM events",
    );
    let page = report(&sandbox, "30d");
    let size = std::fs::metadata(&page).unwrap().len();
    eprintln!("the page has {size} bytes");
    assert!(size < 200_000, "{size} bytes");
    let mut browser = Browser::start();
    browser.open(&page, LOOKS[0]);
    browser.screenshot("month");
    let elements = browser.evaluate("document.querySelectorAll('*').length").as_u64().unwrap();
    assert!(elements < 6_000, "{elements} elements");
    let text = browser.text();
    assert!(text.contains("30 days") && text.contains("45 more services"), "{text}");
    assert!(text.contains("actions\n10,000\n") && text.contains("$0.00"), "{text}");
}
