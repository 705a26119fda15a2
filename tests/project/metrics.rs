//! The documentation and the dashboard of the metrics name those that exist, and all of them.

use std::collections::BTreeSet;
use std::path::Path;

use opsctl::metrics::families::{Values, of};
use opsctl::metrics::format::Kind;
use regex_lite::Regex;
use serde_json::Value;

/// The names of samples: those of counters end with `_total`.
fn names() -> BTreeSet<String> {
    let name = |name: &str, kind| match kind {
        Kind::Counter => format!("{name}_total"),
        Kind::Gauge | Kind::Histogram => name.to_owned(),
    };
    of(&Values::default()).into_iter().map(|family| name(family.name, family.kind)).collect()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
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
    let rows: String =
        text.lines().filter(|line| line.starts_with("| `opsctl_")).collect::<Vec<_>>().join("\n");
    assert_eq!(mentioned(&rows), names());
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
