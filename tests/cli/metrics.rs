//! `opsctl metrics`: both formats, read by a strict parser, and the file for the textfile collector.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;

use crate::sandbox::{Sandbox, denied, passes};

/// A ledger with a row of every kind that metrics count.
fn full() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "hosts.yaml",
        "hosts: {ie01: {address: 127.0.0.1}, attic: {address: 192.0.2.1}}\nservices: {jellyfin: {host: ie01}}\n\
         policy: {spend: {day: 20, session: 5}}\n",
    );
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
        passes(&sandbox.after(id, "docker restart jellyfin"));
    }
    denied(&sandbox.before("t3", "docker restart jellyfin"));
    sandbox.sql(
        "INSERT INTO client_runs (session_id, tier, model, started_at, outcome, cost_usd) VALUES
             ('s1', 1, 'haiku', '2026-01-01T00:00:00Z', 'completed', 0.03125),
             ('s2', 1, 'haiku', '2026-01-01T00:00:00Z', 'completed', 0.5),
             ('s3', 2, 'sonnet', '2026-01-01T00:00:00Z', 'timeout', NULL),
             ('s4', 1, 'haiku', '2026-01-01T00:00:00Z', 'running', NULL);
         INSERT INTO api_requests (at, session_id, model, input_tokens, output_tokens, cache_write_tokens,
                 cache_write_1h_tokens, cache_read_tokens, web_searches, cost_micros, estimated) VALUES
             ('2026-01-01T00:00:00Z', 's1', 'a\"b\\c', 1, 2, 3, 4, 5, 0, 6, 0),
             (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 's1', 'claude-haiku-5-5', 10, 20, 30, 40, 50, 0, 1500000, 0);
         INSERT INTO hook_decisions (at, verdict, rule, actions, services, budgets, reason) VALUES
             ('2026-01-01T00:00:00Z', 'fail-open', 'on_failure', 'docker restart x', 'x', '', 'disk full')",
    );
    sandbox
}

type Labels = BTreeMap<String, String>;

/// A metric as the parser reads it.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    samples: Vec<(String, Labels, f64)>,
}

/// Parses the text, and fails on everything that the format does not allow.
fn parse(text: &str, openmetrics: bool) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let (mut current, mut seen) = (String::new(), BTreeSet::new());
    let mut lines = text.lines().peekable();
    assert!(text.ends_with('\n'));
    while let Some(line) = lines.next() {
        if line == "# EOF" {
            assert!(openmetrics && lines.peek().is_none(), "EOF within the text");
            return families;
        }
        if let Some(comment) = line.strip_prefix("# ") {
            let parts: Vec<&str> = comment.splitn(3, ' ').collect();
            let [keyword, name, value] = parts.as_slice() else { panic!("{line}") };
            match *keyword {
                "TYPE" => {
                    assert!(!families.contains_key(*name), "{name} twice");
                    assert!(["counter", "gauge", "histogram"].contains(value), "{line}");
                    families
                        .insert((*name).to_owned(), Family { kind: (*value).to_owned(), samples: vec![] });
                    (*name).clone_into(&mut current);
                }
                "HELP" => assert_eq!(*name, current, "{line}"),
                "UNIT" => {
                    assert!(
                        openmetrics && *name == current && name.ends_with(&format!("_{value}")),
                        "{line}"
                    );
                }
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, labels, value) = sample(line);
        let family = families.get_mut(&current).unwrap();
        let suffix = name.strip_prefix(&current).unwrap_or_else(|| panic!("{line} is not of {current}"));
        let allowed: &[&str] = match (family.kind.as_str(), openmetrics) {
            ("counter", true) => &["_total"],
            ("counter", false) => {
                assert!(current.ends_with("_total"));
                &[""]
            }
            ("gauge", _) => &[""],
            _ => &["_bucket", "_sum", "_count"],
        };
        assert!(allowed.contains(&suffix), "{line}");
        assert!(seen.insert((name.clone(), labels.clone())), "{line} twice");
        family.samples.push((name, labels, value));
    }
    assert!(!openmetrics, "no EOF");
    families
}

/// `name{a="x",b="y"} 1.5`
fn sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(['{', ' ']).unwrap();
    let (name, mut rest) = line.split_at(end);
    assert!(
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'),
        "{line}"
    );
    let mut labels = Labels::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").unwrap();
            let mut value = String::new();
            let mut characters = after.char_indices();
            let end = loop {
                match characters.next().unwrap() {
                    (at, '"') => break at,
                    (_, '\\') => match characters.next().unwrap().1 {
                        'n' => value.push('\n'),
                        c @ ('\\' | '"') => value.push(c),
                        c => panic!("\\{c} in {line}"),
                    },
                    (_, c) => value.push(c),
                }
            };
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            rest = &after[end + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').unwrap();
    }
    (name.to_owned(), labels, rest.strip_prefix(' ').unwrap().parse().unwrap())
}

fn value(families: &BTreeMap<String, Family>, name: &str, labels: &[(&str, &str)]) -> f64 {
    let wanted: Labels =
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let all = families.values().flat_map(|family| &family.samples);
    let found =
        all.filter(|(known, labels, _)| known == name && *labels == wanted).map(|(_, _, value)| *value);
    let found: Vec<f64> = found.collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {families:?}");
    found[0]
}

fn printed(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let run = sandbox.in_own_network("true", &[&["metrics"], arguments].concat(), "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    run.stdout
}

#[test]
fn both_formats_state_what_the_ledger_contains() {
    let sandbox = full();
    for (arguments, openmetrics) in [(&["--openmetrics"][..], true), (&[][..], false)] {
        let metrics = parse(&printed(&sandbox, arguments), openmetrics);
        let value = |name: &str, labels: &[(&str, &str)]| value(&metrics, name, labels);
        let is = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
        is(value("opsctl_ledger_readable", &[]), 1.0);
        is(value("opsctl_decisions_total", &[("verdict", "allow"), ("effect", "acts")]), 2.0);
        is(value("opsctl_denials_total", &[("rule", "budget"), ("effect", "acts")]), 1.0);
        is(value("opsctl_guard_failures_total", &[("verdict", "fail-open")]), 1.0);
        is(value("opsctl_budget_used", &[("service", "jellyfin"), ("kind", "restart")]), 2.0);
        is(value("opsctl_budget_limit", &[("service", "jellyfin"), ("kind", "redeployment")]), 1.0);
        is(value("opsctl_host_reachable", &[("host", "ie01")]), 1.0);
        is(value("opsctl_host_reachable", &[("host", "attic")]), 0.0);
        is(value("opsctl_sessions_total", &[("tier", "1"), ("outcome", "completed")]), 2.0);
        is(value("opsctl_sessions_running", &[]), 1.0);
        is(value("opsctl_session_cost_usd_total", &[("tier", "1")]), 0.53125);
        is(value("opsctl_api_requests_total", &[("model", "a\"b\\c")]), 1.0);
        is(
            value("opsctl_api_tokens_total", &[("model", "claude-haiku-5-5"), ("kind", "cache_write_1h")]),
            40.0,
        );
        is(value("opsctl_api_cost_usd_total", &[("model", "claude-haiku-5-5")]), 1.5);
        is(value("opsctl_spent_day_usd", &[]), 1.5);
        is(value("opsctl_spend_limit_usd", &[("limit", "session")]), 5.0);
        is(value("opsctl_questions_open", &[]), 0.0);
        let event = ("event", "pre-tool-use");
        let count = value("opsctl_hook_duration_seconds_count", &[event]);
        assert!(count >= 3.0, "{count}");
        is(value("opsctl_hook_duration_seconds_bucket", &[event, ("le", "+Inf")]), count);
    }
}

#[test]
fn a_file_is_replaced_and_readable_by_everyone() {
    let sandbox = full();
    let file = sandbox.write("opsctl.prom", "an earlier one");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = file.to_str().unwrap().to_owned();
    assert_eq!(printed(&sandbox, &["--no-hosts", "--out", &file]), "");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!parse(&text, false).contains_key("opsctl_host_reachable"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    let nowhere = sandbox.in_own_network("true", &["metrics", "--out", "/nowhere/opsctl.prom"], "");
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.stderr.contains("/nowhere/opsctl.prom cannot be written"), "{}", nowhere.stderr);
}

#[test]
fn a_ledger_that_cannot_be_read_is_a_metric() {
    let sandbox = full();
    std::fs::write(
        sandbox.path("claudeops.db"),
        "not a database, and longer than the header of one".repeat(99),
    )
    .unwrap();
    let metrics = parse(&printed(&sandbox, &["--no-hosts", "--openmetrics"]), true);
    assert!(value(&metrics, "opsctl_ledger_readable", &[]).abs() < f64::EPSILON);
    let none = Sandbox::new();
    let metrics = parse(&printed(&none, &["--no-hosts", "--openmetrics"]), true);
    assert!((value(&metrics, "opsctl_ledger_readable", &[]) - 1.0).abs() < f64::EPSILON);
    assert!(!none.path("claudeops.db").exists());
}

#[test]
fn counters_do_not_decrease_after_a_prune() {
    let sandbox = full();
    let counters = || {
        let metrics = parse(&printed(&sandbox, &["--no-hosts"]), false);
        let counters = metrics.into_iter().filter(|(_, family)| family.kind != "gauge");
        counters.map(|(name, family)| (name, format!("{:?}", family.samples))).collect::<BTreeMap<_, _>>()
    };
    let before = counters();
    let pruned = sandbox.opsctl(&["prune", "--keep", "2d"], b"");
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert!(!pruned.stdout.starts_with("0 rows"), "{pruned:?}");
    assert_eq!(sandbox.sql("SELECT count(*) FROM client_runs WHERE outcome <> 'running'").trim(), "0");
    assert_eq!(counters(), before);
}

#[test]
fn invented_names_have_neither_budgets_nor_series_without_end() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\n");
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    let row =
        |number| format!("('invented{number}', 'restart', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 1, 2)");
    let rows = (0..1000).map(row).collect::<Vec<_>>().join(", ");
    sandbox.sql(&format!(
        "INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier) VALUES {rows}"
    ));

    passes(&sandbox.before("t2", "docker restart jellyfin invented7"));
    // Neither an action of long ago makes a name known, nor more names than are allowed.
    let recorded =
        sandbox.opsctl(&["cooldown", "record", "old", "--force", "--at", "2026-01-01T00:00:00Z"], b"");
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    denied(&sandbox.before("t5", "docker restart old"));
    let reason = denied(&sandbox.before("t3", "docker restart invented1000"));
    let shown =
        "`invented1000` is not listed in hosts.yaml, and 1001 names have used a budget in the last 24h";
    assert!(reason.contains(shown), "{reason}");
    denied(&sandbox.before("t4", "docker restart invented7 invented1001"));

    let families = parse(&printed(&sandbox, &["--no-hosts"]), false);
    let used = |service| value(&families, "opsctl_budget_used", &[("service", service), ("kind", "restart")]);
    // The row of another writer and the restart of opsctl in these two minutes are one.
    assert!((used("unlisted") - 1.0).abs() < f64::EPSILON);
    assert_eq!(families["opsctl_budget_used"].samples.len(), 4, "two services, two kinds");
}
