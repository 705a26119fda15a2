//! A ledger in a file with many rows in each table that grows, and what reads it.

use serde_json::json;

use crate::sandbox::call;

use super::{Run, Sandbox};

const YEARS: &str = include_str!("../fixtures/years.sql");

const HOSTS: &str = "hosts: {nas: {address: 127.0.0.1}}\nservices: {service1: {host: nas}, jellyfin: {host: nas}}\npolicy: {digest: '00:00'}\n";

/// The verbs that read the ledger, with the selections that have an index or a limit of their own.
const READING: &[&str] = &[
    "approvals",
    "approvals --all",
    "audit",
    "audit --agent agent9",
    "audit --rule tier",
    "audit --service service1",
    "audit --session s77",
    "audit --since 2d",
    "audit --verdict fail-open",
    "cooldown",
    "cooldown show service1",
    "events",
    "events --agent agent9",
    "events --level critical",
    "events --level denied --service service1",
    "events --service service1",
    "events --session s77",
    "events --since 2d",
    "metrics --no-hosts",
    "notify",
    "notify --digest",
    "report --html report.html",
    "sessions",
    "sessions --active",
    "sessions --agent agent9",
    "sessions --mission nothing",
    "sessions --session s77",
    "sessions --since 2d",
    "sessions --stale",
    "sessions --tier 2",
    "stats",
    "status --no-hosts",
    "suggest",
];

const EVENTS: &[&str] = &[
    "session-start",
    "user-prompt-submit",
    "pre-tool-use",
    "post-tool-use",
    "post-tool-batch",
    "subagent-start",
    "subagent-stop",
    "notification",
    "stop",
    "session-end",
];

/// A sandbox whose ledger has this many rows in each table.
pub fn years(rows: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", HOSTS);
    sandbox.before("t", "docker restart service3");
    let apart = format!("* {} ", 7_700_000 / rows);
    sandbox.sql(&YEARS.replace("100000", &rows.to_string()).replace("* 77 ", &apart));
    sandbox
}

/// Runs the verbs that read the ledger, and all hooks.
pub fn use_all(sandbox: &Sandbox, check: impl Fn(&str, Run)) {
    for words in READING {
        let arguments: Vec<&str> = words.split(' ').collect();
        check(words, sandbox.opsctl(&arguments, b""));
    }
    for event in EVENTS {
        let mut input = call("t1", "ssh nas docker restart jellyfin");
        // A session that acted would ask the host.
        input["session_id"] = json!(if *event == "stop" { "quiet" } else { "s4998" });
        check(event, sandbox.hook(event, &input));
    }
}
