//! What the guard counted for requests to the model, as `opsctl status`, `stats` and `report` show it.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, passes};

fn place(policy: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", &format!("services: {{jellyfin: {{}}}}\npolicy: {policy}\n"));
    sandbox.write("cooldown.json", "{}");
    // Creates the ledger.
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    sandbox
}

fn spent(sandbox: &Sandbox) {
    sandbox.sql(
        "INSERT INTO api_requests (at, session_id, model, input_tokens, output_tokens, cache_write_tokens,
                 cache_write_1h_tokens, cache_read_tokens, web_searches, cost_micros, estimated) VALUES
             (strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-2 days'), 'old', 'claude-opus-5', 1, 1, 1, 1, 1, 0, 90000000, 0),
             (strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-2 days'), 's1', 'claude-opus-5', 1, 1, 1, 1, 1, 0, 1000000, 0),
             (strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 hours'), 's1', 'claude-opus-5', 100, 20, 3, 4, 5, 0, 3250000, 0),
             (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), '', 'claude-haiku-5-5', 10, 2, 0, 0, 0, 0, 500000, 1)",
    );
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let run = sandbox.opsctl(arguments, b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    run.stdout
}

#[test]
fn status_shows_what_was_spent_of_the_limits() {
    let sandbox = place("{spend: {day: 20, session: 5}}");
    let text = run(&sandbox, &["status", "--no-hosts"]);
    assert!(text.contains("\nrequests to the model:\n  the last 24 h: $0.00 of $20.00\n"), "{text}");
    spent(&sandbox);
    let text = run(&sandbox, &["status", "--no-hosts"]);
    let expected = "\nrequests to the model:\n  the last 24 h: $3.75 of $20.00\n  session s1: $4.25 of $5.00, 2 requests\n  \
         requests without a session: $0.50 of $5.00, 1 request\n";
    assert!(text.contains(expected), "{text}");
    let json: Value = serde_json::from_str(&run(&sandbox, &["status", "--no-hosts", "--json"])).unwrap();
    let sessions = json!([
        {"session": "s1", "requests": 2, "usd": 4.25},
        {"session": "", "requests": 1, "usd": 0.5},
    ]);
    let expected =
        json!({"usd_last_day": 3.75, "limit_usd_day": 20.0, "limit_usd_session": 5.0, "sessions": sessions});
    assert_eq!(json["spend"], expected);
}

#[test]
fn status_says_nothing_of_spending_that_is_not_limited_and_did_not_occur() {
    let sandbox = place("{}");
    assert!(!run(&sandbox, &["status", "--no-hosts"]).contains("requests to the model"));
    spent(&sandbox);
    let text = run(&sandbox, &["status", "--no-hosts"]);
    assert!(text.contains("  the last 24 h: $3.75\n  session s1: $4.25, 2 requests\n"), "{text}");
}

#[test]
fn the_short_form_is_the_limit_of_a_day() {
    for (policy, shown) in
        [("{spend: 20}", "of $20.00"), ("{spend: 0.5}", "of $0.50"), ("{spend: \"7\"}", "of $7.00")]
    {
        let text = run(&place(policy), &["status", "--no-hosts"]);
        assert!(text.contains(&format!("the last 24 h: $0.00 {shown}\n")), "{policy}: {text}");
    }
}

#[test]
fn stats_and_report_show_requests_and_cost() {
    let sandbox = place("{spend: {session: 5}}");
    assert!(!run(&sandbox, &["stats"]).contains("MODEL"));
    spent(&sandbox);
    let json: Value = serde_json::from_str(&run(&sandbox, &["stats", "--since", "24h", "--json"])).unwrap();
    let opus = json!({"model": "claude-opus-5", "requests": 1, "input_tokens": 112, "output_tokens": 20, "usd": 3.25});
    assert_eq!(json["models"][0], opus);
    assert_eq!(json["models"].as_array().unwrap().len(), 2);
    let text = run(&sandbox, &["stats"]);
    let row = text.lines().find(|line| line.contains("claude-opus-5")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["claude-opus-5", "3", "120", "22", "$94.25"],
        "{text}"
    );
    run(&sandbox, &["report", "--html", "r.html"]);
    let page = sandbox.read("r.html");
    for text in ["the last 24 h: $3.75</li>", "<li class=\"bad\">session s1: $4.25 of $5.00, 2 requests</li>"]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
}
