//! `policy.mode: monitor` and `policy.monitor`: nothing is denied, and what would be is recorded.

use std::path::Path;

use opsctl::hooks;
use opsctl::machine::environment::Environment;
use opsctl::machine::request::Request;
use opsctl_ledger::Ledger;
use opsctl_ledger::records::decisions::Which;
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, denied, passes};

const HOSTS: &str = "hosts: {ie01: {address: 192.168.100.210}}\nservices: {jellyfin: {host: ie01}}\n";

/// The commands of all labelled rows, with their folders.
fn rows() -> Vec<(String, Value)> {
    let mut rows = Vec::new();
    for folder in ["corpus", "effects", "rules"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
        let mut files: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|kind| kind == "jsonl")) {
            let text = std::fs::read_to_string(file).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            rows.extend(
                lines.filter_map(|row| Some((row["command"].as_str()?.to_owned(), row["cwd"].clone()))),
            );
        }
    }
    rows
}

/// The verdict and the rules that the audit has of a call, in an installation of its own.
fn recorded(policy: &str, tier: &str, command: &str, cwd: &Value) -> Option<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts.yaml");
    std::fs::write(&hosts, format!("{HOSTS}{policy}")).unwrap();
    let environment = Environment::from_variables(|name| {
        Some(match name {
            "CLAUDEOPS_HOSTS" => hosts.clone().into(),
            "CLAUDEOPS_STATE_DIR" | "CLAUDE_PROJECT_DIR" => folder.path().into(),
            "CLAUDEOPS_TIER" => tier.into(),
            _ => return None,
        })
    });
    let request = Request::here(environment, chrono::Utc::now());
    let input = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "cwd": cwd,
        "tool_name": "Bash", "tool_input": {"command": command}});
    let mut is_denied = false;
    hooks::serve(input.to_string().as_bytes(), Some("pre-tool-use"), &request, |answer| {
        is_denied = answer.denial.is_some();
    });
    let found = Ledger::read_at(&request.ledger, |ledger| ledger.decisions(Which::default(), 10)).unwrap();
    let found = found.into_iter().next().map(|row| (row.verdict, row.rule));
    assert_eq!(is_denied, found.as_ref().is_some_and(|(verdict, _)| verdict == "deny"), "{command}");
    found
}

#[test]
fn what_is_recorded_as_would_deny_is_what_the_enforced_policy_denies() {
    // All of them take ten minutes: `MONITOR_EVERY=1 cargo test --test cli monitor`.
    let every = std::env::var("MONITOR_EVERY").map_or(23, |every| every.parse().unwrap());
    let (mut tried, mut denials) = (0, 0);
    for (number, (command, cwd)) in rows().into_iter().enumerate().step_by(every) {
        let tier = ["1", "2", "3"][number % 3];
        let enforced = recorded("", tier, &command, &cwd);
        let watched = recorded("policy: {mode: monitor}\n", tier, &command, &cwd);
        let expected = enforced.map(|(verdict, rules)| match verdict.as_str() {
            "deny" => ("would deny".to_owned(), rules),
            _ => (verdict, rules),
        });
        denials += usize::from(expected.as_ref().is_some_and(|(verdict, _)| verdict == "would deny"));
        tried += 1;
        // The first kind of objection is enough for a denial; what is watched lists all.
        let first = |found: &Option<(String, String)>| {
            found.clone().map(|(verdict, rules)| (verdict, rules.split(' ').next().map(str::to_owned)))
        };
        assert_eq!(first(&watched), first(&expected), "tier {tier}: {command}");
    }
    println!("{tried} rows, {denials} denials");
    assert!(denials > tried / 10, "{denials} of {tried} are denied");
}

#[test]
fn a_call_runs_only_if_every_objection_is_watched() {
    let watched = |policy: &str| {
        let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
        sandbox.write("hosts.yaml", &format!("{HOSTS}policy: {{monitor: {policy}}}\n"));
        sandbox
    };
    for (policy, runs, stops) in [
        ("{rules: [remove-volume]}", "docker volume rm x", "docker volume rm x; wipefs -a /dev/sda"),
        ("{rules: [budget]}", "docker restart jellyfin", "wipefs -a /dev/sda"),
        ("{budgets: [restart]}", "docker restart jellyfin", "helm upgrade jellyfin chart"),
        ("{hosts: [ie01]}", "ssh ie01 wipefs -a /dev/sda", "wipefs -a /dev/sda"),
        ("{tiers: [2]}", "wipefs -a /dev/sda", "opsctl_not_used() { :; }; :"),
        ("{rules: [unknown]}", "frobnicate --now", "wipefs -a /dev/sda"),
    ] {
        let sandbox = watched(policy);
        for id in ["t1", "t2", "t3"] {
            passes(&sandbox.before(id, runs));
        }
        if policy != "{tiers: [2]}" {
            denied(&sandbox.before("t4", stops));
        }
    }
}

#[test]
fn status_stats_and_audit_show_what_would_have_been_denied_apart() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    sandbox.write("hosts.yaml", &format!("{HOSTS}policy: {{mode: monitor}}\n"));
    for id in ["t1", "t2", "t3"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
        passes(&sandbox.after(id, "docker restart jellyfin"));
    }
    passes(&sandbox.before("t4", "wipefs -a /dev/sda"));
    let page = |arguments: &[&str]| sandbox.opsctl(arguments, b"").stdout;
    let status = page(&["status", "--no-hosts"]);
    assert!(status.contains("monitor: nothing is denied"), "{status}");
    assert!(status.contains("would have been denied in the last day: budget 1, never 1"), "{status}");
    assert!(status.contains("jellyfin: 3/2 restarts"), "what runs counts: {status}");
    assert!(!status.contains("denied in the last day:\n"), "{status}");
    let numbers: Value = serde_json::from_str(&page(&["stats", "--json"])).unwrap();
    assert_eq!(numbers["rules"], json!([]));
    assert_eq!(numbers["would_deny"], json!([{"name": "budget", "count": 1}, {"name": "never", "count": 1}]));
    assert!(page(&["audit", "--verdict", "would deny"]).contains("wipefs -a /dev/sda"));
    assert!(page(&["metrics"]).contains("opsctl_would_denials_total{rule=\"never\""));
    let report = page(&["gate", "report"]);
    assert!(report.contains("policy: {never: {storage: allow}}"), "{report}");
}

#[test]
fn enforce_prints_the_lines_that_enforce_one_rule() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    sandbox.write("hosts.yaml", &format!("{HOSTS}policy: {{mode: monitor}}\n"));
    passes(&sandbox.before("t1", "wipefs -a /dev/sda"));
    let printed = sandbox.opsctl(&["policy", "enforce", "never"], b"").stdout;
    assert!(
        printed.starts_with("# never would have denied one call:\n#   `wipefs -a /dev/sda`\n"),
        "{printed}"
    );
    // The lines are those of a policy in which it is enforced, and all else is not.
    let lines: String =
        printed.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    sandbox.write("hosts.yaml", &format!("{HOSTS}{lines}"));
    denied(&sandbox.before("t2", "wipefs -a /dev/sda"));
    for id in ["t3", "t4", "t5"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
    }
    let refused = sandbox.opsctl(&["policy", "enforce", "never"], b"");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("`never` is not only watched; these rules are: ask, budget"),
        "{refused:?}"
    );
    sandbox.write("hosts.yaml", &format!("{HOSTS}policy: {{monitor: {{rules: [bugdet], hosts: [ie02]}}}}\n"));
    let mistakes = sandbox.opsctl(&["render", "--check"], b"").stderr;
    assert!(
        mistakes.contains("did you mean `budget`?") && mistakes.contains("did you mean `ie01`?"),
        "{mistakes}"
    );
}
