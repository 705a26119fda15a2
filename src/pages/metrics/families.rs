//! The metrics of opsctl, from values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::format::{Family, Kind, Metric, Sample};
use super::values::{Values, number};
use opsctl_ledger::upkeep::counters::{BUCKETS, Counters, Counts};

/// The maximum number of values of a label that the agent or another program can choose. Further ones are counted as `other`.
const MOST_VALUES: usize = 100;

/// All metrics, in the order of the documentation. The tests read the file, so it is valid.
pub static METRICS: LazyLock<Vec<Metric>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("metrics.yaml")).unwrap_or_default());

/// All metrics with their samples.
pub fn of(values: &Values) -> Vec<Family<'static>> {
    let with_samples = |metric: &'static Metric| {
        let samples = match metric.kind {
            Kind::Counter => {
                let counts = values.counters.as_ref().map(|counters| counts(&metric.source, counters));
                counts.map(|counts| samples(&counts, metric)).unwrap_or_default()
            }
            Kind::Histogram => values.counters.as_ref().map(durations).unwrap_or_default(),
            Kind::Gauge => values.gauges.get(metric.source.as_str()).cloned().unwrap_or_default(),
        };
        Family { metric, samples }
    };
    METRICS.iter().map(with_samples).collect()
}

fn counts(source: &str, counters: &Counters) -> Counts {
    match source {
        "denials" | "would_denials" => by_rule(source, counters),
        "guard_failures" => guard_failures(counters),
        source => counters.of(source),
    }
}

/// A sample for each labels. Of a label with many values, the most frequent ones are kept.
fn samples(counts: &Counts, metric: &'static Metric) -> Vec<Sample> {
    let names = &metric.labels;
    let unit = if metric.name.ends_with("_usd") { 1e-6 } else { 1.0 };
    let mut kept = counts.clone();
    for at in 0..names.len() {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for (labels, count) in &kept {
            *sums.entry(labels.get(at).cloned().unwrap_or_default()).or_default() += count;
        }
        if sums.len() <= MOST_VALUES {
            continue;
        }
        let mut order: Vec<(String, u64)> = sums.into_iter().collect();
        order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let shown: BTreeSet<String> = order.into_iter().take(MOST_VALUES).map(|(value, _)| value).collect();
        let mut merged = Counts::new();
        for (mut labels, count) in kept {
            if let Some(label) = labels.get_mut(at).filter(|label| !shown.contains(*label)) {
                "other".clone_into(label);
            }
            *merged.entry(labels).or_default() += count;
        }
        kept = merged;
    }
    let labelled = |labels: Vec<String>| names.iter().map(String::as_str).zip(labels).collect();
    kept.into_iter().map(|(labels, count)| Sample::new(labelled(labels), scaled(count, unit))).collect()
}

/// `count` in units of `unit`, without the error of a multiplication with a millionth.
fn scaled(count: u64, unit: f64) -> f64 {
    if unit < 1.0 { number(count) / unit.recip() } else { number(count) }
}

/// Counts of single rules from those of lists of rules.
fn by_rule(source: &str, counters: &Counters) -> Counts {
    let mut found = Counts::new();
    for (labels, count) in &counters.of(source) {
        let [rules, effect] = labels.as_slice() else { continue };
        for rule in rules.split_whitespace() {
            *found.entry(vec![rule.to_owned(), effect.clone()]).or_default() += count;
        }
    }
    found
}

fn guard_failures(counters: &Counters) -> Counts {
    let mut found = Counts::from(["fail-closed", "fail-open"].map(|verdict| (vec![verdict.to_owned()], 0)));
    for (labels, count) in &counters.of("decisions") {
        if let Some(failures) = found.get_mut(labels.get(..1).unwrap_or_default()) {
            *failures += count;
        }
    }
    found
}

/// The histogram of hook durations, by event.
fn durations(counters: &Counters) -> Vec<Sample> {
    let (hooks, all_micros) = (counters.of("hooks"), counters.of("hook_micros"));
    let mut events: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (labels, count) in &hooks {
        let [event, bucket] = labels.as_slice() else { continue };
        let buckets = events.entry(event).or_insert_with(|| vec![0; BUCKETS.len() + 1]);
        if let Some(slot) = bucket.parse().ok().and_then(|bucket: usize| buckets.get_mut(bucket)) {
            *slot += count;
        }
    }
    let mut samples = Vec::new();
    for (event, buckets) in events {
        let label = || ("event", event.to_owned());
        let mut sum = 0;
        for (at, count) in buckets.iter().enumerate() {
            sum += count;
            let bound = BUCKETS.get(at).map_or_else(
                || "+Inf".to_owned(),
                |micros| format!("{:?}", scaled(u64::try_from(*micros).unwrap_or(0), 1e-6)),
            );
            samples.push(Sample {
                suffix: "_bucket",
                labels: vec![label(), ("le", bound)],
                value: number(sum),
            });
        }
        let micros = all_micros.get(&vec![event.to_owned()]).copied().unwrap_or(0);
        samples.push(Sample { suffix: "_sum", labels: vec![label()], value: scaled(micros, 1e-6) });
        samples.push(Sample { suffix: "_count", labels: vec![label()], value: number(sum) });
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::environment::Environment;
    use crate::pages::metrics::format::{Format, text};
    use crate::pages::metrics::values;

    fn counts(rows: &[(&[&str], u64)]) -> Counts {
        rows.iter()
            .map(|(labels, count)| (labels.iter().map(|label| (*label).to_owned()).collect(), *count))
            .collect()
    }

    fn values<const N: usize>(counters: [(&'static str, Counts); N]) -> Values {
        Values { counters: Some(Counters::from(counters)), ..Values::default() }
    }

    fn lines(values: &Values, name: &str) -> Vec<String> {
        let text = text(&of(values), Format::OpenMetrics);
        text.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect()
    }

    #[test]
    fn a_denial_by_two_rules_counts_for_both() {
        let denials =
            counts(&[(&["never tier", "changes"], 2), (&["tier", "changes"], 3), (&["tier", ""], 1)]);
        let values = values([("denials", denials)]);
        assert_eq!(
            lines(&values, "opsctl_denials"),
            [
                "opsctl_denials_total{rule=\"never\",effect=\"changes\"} 2",
                "opsctl_denials_total{rule=\"tier\",effect=\"\"} 1",
                "opsctl_denials_total{rule=\"tier\",effect=\"changes\"} 5",
            ]
        );
    }

    #[test]
    fn buckets_of_a_histogram_are_cumulative() {
        let hooks = counts(&[(&["stop", "0"], 2), (&["stop", "2"], 3), (&["stop", "12"], 1)]);
        let hook_micros = counts(&[(&["stop"], 61_500_000)]);
        let values = values([("hooks", hooks), ("hook_micros", hook_micros)]);
        let lines = lines(&values, "opsctl_hook_duration_seconds");
        assert_eq!(lines.len(), BUCKETS.len() + 3);
        let found: Vec<&str> =
            lines.iter().map(|line| line.split_once(',').map_or(line.as_str(), |(_, rest)| rest)).collect();
        assert_eq!(found[..4], ["le=\"0.001\"} 2", "le=\"0.0025\"} 2", "le=\"0.005\"} 5", "le=\"0.01\"} 5"]);
        assert_eq!(found[11..13], ["le=\"10.0\"} 5", "le=\"+Inf\"} 6"]);
        assert_eq!(
            found[13..],
            [
                "opsctl_hook_duration_seconds_sum{event=\"stop\"} 61.5",
                "opsctl_hook_duration_seconds_count{event=\"stop\"} 6"
            ]
        );
    }

    #[test]
    fn a_label_that_others_choose_has_bounded_values() {
        let api_requests: Counts =
            (0..500_u64).map(|number| (vec![format!("model-{number:03}")], number + 1)).collect();
        let total: u64 = api_requests.values().sum();
        let values = values([("api_requests", api_requests)]);
        let lines = lines(&values, "opsctl_api_requests");
        assert_eq!(lines.len(), MOST_VALUES + 1);
        assert!(lines.contains(&"opsctl_api_requests_total{model=\"model-499\"} 500".to_owned()));
        let sum: u64 =
            lines.iter().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        assert_eq!(sum, total);
    }

    #[test]
    fn names_are_unique_and_every_gauge_has_a_value() {
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name.as_str()).collect();
        assert!(!names.is_empty() && names.len() == METRICS.len(), "{names:?}");
        let values = values::read(&Environment::from_variables(|_| None), chrono::Utc::now(), false);
        for Metric { name, kind, help, source, .. } in METRICS.iter() {
            assert!(name.starts_with("opsctl_") && !name.ends_with("_total"), "{name}");
            assert!(help.ends_with('.'), "{name}");
            assert!(*kind != Kind::Gauge || values.gauges.contains_key(source.as_str()), "{name}");
        }
    }
}
