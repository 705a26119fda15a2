//! The documentation and the dashboard of the metrics name those that exist, and all of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use opsctl::pages::metrics::families::METRICS;
use opsctl::pages::metrics::format::Kind;
use opsctl::pages::metrics::format::Metric;
use regex_lite::Regex;
use serde_json::Value;

/// The name of the samples of a metric: that of a counter ends with `_total`.
fn name(metric: &Metric) -> String {
    let total = if metric.kind == Kind::Counter { "_total" } else { "" };
    format!("{}{total}", metric.name)
}

fn names() -> BTreeSet<String> {
    METRICS.iter().map(name).collect()
}

/// The rows of the table in the documentation.
fn rows() -> String {
    let row = |metric: &Metric| {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!(" `{label}`")).collect();
        format!("| `{}` |{} | {} |\n", name(metric), labels.join(","), metric.help)
    };
    METRICS.iter().map(row).collect()
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn read(file: &str) -> String {
    std::fs::read_to_string(path(file)).unwrap()
}

/// The metrics that a text mentions, without the suffixes of a histogram.
fn mentioned(text: &str) -> BTreeSet<String> {
    let metric = Regex::new(r"\bopsctl_[a-z_0-9]+").unwrap();
    let found = metric.find_iter(text).map(|found| found.as_str());
    found.map(|name| name.trim_end_matches("_bucket").to_owned()).collect()
}

#[test]
fn the_documentation_lists_every_metric() {
    let text = read("docs/metrics.md");
    let (listed, others): (Vec<&str>, Vec<&str>) =
        text.split_inclusive('\n').partition(|line| line.starts_with("| `opsctl_"));
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        let others = others.concat().replacen("|---|---|---|\n", &format!("|---|---|---|\n{}", rows()), 1);
        return std::fs::write(path("docs/metrics.md"), others).unwrap();
    }
    assert_eq!(listed.concat(), rows(), "run UPDATE_REFERENCE=1 cargo test --test project metrics");
    assert!(mentioned(&text).is_subset(&names()));
}

#[test]
fn the_dashboard_shows_every_metric() {
    let dashboard: Value = serde_json::from_str(&read("docs/grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut expressions = String::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert!(!panel["title"].as_str().unwrap().is_empty());
        for target in panel["targets"].as_array().unwrap() {
            expressions += target["expr"].as_str().unwrap();
            expressions.push('\n');
        }
        let place = &panel["gridPos"];
        assert!(place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24, "{place}");
    }
    assert_eq!(mentioned(&expressions), names());
}
