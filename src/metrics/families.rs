//! The metrics of opsctl, from values.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{Family, Kind, Sample};
use crate::guard::budgets::{KindBudget, ServiceBudget};
use crate::guard::spending::Spending;
use crate::ledger::counters::{BUCKETS, Counters, Counts};
use crate::model::spend::Usd;
use crate::probe::hosts::Found;
use crate::probe::icmp::Reachability;

/// The maximum number of values of a label that the agent or another program can choose. Further ones are counted as `other`.
const MOST_VALUES: usize = 100;

/// Everything that the metrics state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values {
    /// The release of opsctl.
    pub version: &'static str,
    /// Whether the ledger could be read, or does not exist yet.
    pub ledger_readable: bool,
    /// The counters of the ledger.
    pub counters: Counters,
    /// Sessions that run.
    pub running_sessions: u64,
    /// Questions to a person that are open.
    pub open_questions: u64,
    /// Notifications of the last day that are not delivered.
    pub undelivered: u64,
    /// Failures of the guard that are not in the ledger.
    pub unrecorded_failures: u64,
    /// The budgets.
    pub budgets: Vec<ServiceBudget>,
    /// The reachability of hosts.
    pub hosts: Vec<Found>,
    /// What was spent in the last 24 hours, and the limits.
    pub spending: Spending,
}

/// A metric: how it is named and described, and where its samples come from.
#[derive(Debug)]
pub struct Metric {
    /// Its name, which ends with the unit; without `_total`.
    pub name: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it states, in one sentence.
    pub help: &'static str,
    source: Source,
}

/// Where samples come from.
#[derive(Debug)]
enum Source {
    /// A counter of the ledger by the name that it has there, with the size of a unit.
    Counter(&'static str, f64),
    /// Counts by the values of the labels, which only increase.
    Counts(fn(&Counters) -> Counts),
    /// The histogram of hook durations.
    Durations,
    /// One value.
    Value(fn(&Values) -> f64),
    /// Values with their labels.
    Samples(fn(&Values) -> Vec<Sample>),
}

/// All metrics, in the order of the documentation. A new one stands here and, if the ledger counts it, in its queries.
pub const METRICS: &[Metric] = &[
    metric("opsctl_build_info", &["version"], "The release of opsctl; always 1.", Source::Samples(version)),
    metric(
        "opsctl_ledger_readable",
        &[],
        "Whether the ledger can be read or does not exist yet.",
        Source::Value(|values| number(values.ledger_readable.into())),
    ),
    metric(
        "opsctl_decisions",
        &["verdict", "effect"],
        "Decisions on commands and tools.",
        Source::Counter("decisions", 1.0),
    ),
    metric(
        "opsctl_denials",
        &["rule", "effect"],
        "Denials by rule; a call that several rules deny counts for each.",
        Source::Counts(by_rule),
    ),
    metric(
        "opsctl_hook_duration_seconds",
        &["event"],
        "Duration of hooks on commands that act, without the time to record it.",
        Source::Durations,
    ),
    metric(
        "opsctl_guard_failures",
        &["verdict"],
        "Calls that could not be judged: fail-open or fail-closed.",
        Source::Counts(guard_failures),
    ),
    metric(
        "opsctl_guard_failures_unrecorded",
        &[],
        "Failures of the guard that the ledger does not contain yet.",
        Source::Value(|values| number(values.unrecorded_failures)),
    ),
    metric(
        "opsctl_budget_used",
        &["service", "kind", "agent"],
        "Actions that count against a budget now; with `per: agent`, by agent.",
        Source::Samples(|values| budgets(values, |kind| number(kind.used as u64))),
    ),
    metric(
        "opsctl_budget_limit",
        &["service", "kind", "agent"],
        "The limit of a budget.",
        Source::Samples(|values| budgets(values, |kind| f64::from(kind.limit))),
    ),
    metric(
        "opsctl_host_reachable",
        &["host"],
        "Whether a host of hosts.yaml answers a ping; missing if that is unknown.",
        Source::Samples(hosts),
    ),
    metric(
        "opsctl_sessions",
        &["tier", "outcome"],
        "Ended sessions of `opsctl session`.",
        Source::Counter("sessions", 1.0),
    ),
    metric(
        "opsctl_sessions_running",
        &[],
        "Sessions that are recorded as running.",
        Source::Value(|values| number(values.running_sessions)),
    ),
    metric(
        "opsctl_session_cost_usd",
        &["tier"],
        "Cost of ended sessions, as the client estimates it.",
        Source::Counter("session_cost", 1e-6),
    ),
    metric(
        "opsctl_api_requests",
        &["model"],
        "Requests to the model that the guard forwarded.",
        Source::Counter("api_requests", 1.0),
    ),
    metric(
        "opsctl_api_tokens",
        &["model", "kind"],
        "Tokens of these requests: input, output, cache_write, cache_write_1h, cache_read.",
        Source::Counter("api_tokens", 1.0),
    ),
    metric("opsctl_api_cost_usd", &["model"], "Cost of these requests.", Source::Counter("api_cost", 1e-6)),
    metric(
        "opsctl_spent_day_usd",
        &[],
        "Cost of the requests of the last 24 hours, which policy.spend.day limits.",
        Source::Value(|values| values.spending.day.dollars()),
    ),
    metric("opsctl_spend_limit_usd", &["limit"], "The limits of policy.spend.", Source::Samples(limits)),
    metric(
        "opsctl_questions_open",
        &[],
        "Questions to a person that are not answered.",
        Source::Value(|values| number(values.open_questions)),
    ),
    metric("opsctl_events", &["level"], "Events by level.", Source::Counter("events", 1.0)),
    metric(
        "opsctl_notifications_undelivered",
        &[],
        "Notifications of the last day that are not delivered.",
        Source::Value(|values| number(values.undelivered)),
    ),
];

const fn metric(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    source: Source,
) -> Metric {
    Metric { name, labels, help, source }
}

/// All metrics with their samples.
pub fn of(values: &Values) -> Vec<Family> {
    METRICS.iter().map(|metric| metric.family(values)).collect()
}

impl Metric {
    /// Its kind.
    pub const fn kind(&self) -> Kind {
        match self.source {
            Source::Counter(..) | Source::Counts(_) => Kind::Counter,
            Source::Durations => Kind::Histogram,
            Source::Value(_) | Source::Samples(_) => Kind::Gauge,
        }
    }

    fn family(&self, values: &Values) -> Family {
        let Self { name, labels, help, source } = self;
        let counters = &values.counters;
        let samples = match source {
            Source::Counter(counter, unit) => samples(&counters.of(counter), labels, *unit),
            Source::Counts(counts) => samples(&counts(counters), labels, 1.0),
            Source::Durations => durations(counters),
            Source::Value(value) => vec![Sample::new(vec![], value(values))],
            Source::Samples(samples) => samples(values),
        };
        let unit = ["usd", "seconds"].into_iter().find(|unit| name.ends_with(unit)).unwrap_or_default();
        Family { name, kind: self.kind(), unit, help, samples }
    }
}

fn version(values: &Values) -> Vec<Sample> {
    vec![Sample::new(vec![("version", values.version.to_owned())], 1.0)]
}

fn limits(values: &Values) -> Vec<Sample> {
    let Spending { day_limit, session_limit, .. } = values.spending;
    let limits = [("day", day_limit), ("session", session_limit)];
    let sample = |(name, limit): (&str, Option<Usd>)| {
        Some(Sample::new(vec![("limit", name.to_owned())], limit?.dollars()))
    };
    limits.into_iter().filter_map(sample).collect()
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
const fn number(count: u64) -> f64 {
    count as f64
}

/// A sample for each labels. Of a label with many values, the most frequent ones are kept.
fn samples(counts: &Counts, names: &[&'static str], unit: f64) -> Vec<Sample> {
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
    let labelled = |labels: Vec<String>| names.iter().copied().zip(labels).collect();
    kept.into_iter().map(|(labels, count)| Sample::new(labelled(labels), scaled(count, unit))).collect()
}

/// `count` in units of `unit`, without the error of a multiplication with a millionth.
fn scaled(count: u64, unit: f64) -> f64 {
    if unit < 1.0 { number(count) / unit.recip() } else { number(count) }
}

/// Counts of single rules from those of lists of rules.
fn by_rule(counters: &Counters) -> Counts {
    let mut found = Counts::new();
    for (labels, count) in &counters.of("denials") {
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

fn budgets(values: &Values, value: impl Fn(&KindBudget) -> f64) -> Vec<Sample> {
    let of_service = |budget: &ServiceBudget| {
        [("restart", &budget.restart), ("redeployment", &budget.redeployment)].map(|(kind, found)| {
            let mut labels = vec![("service", budget.service.clone()), ("kind", kind.to_owned())];
            labels.extend(budget.agent.clone().map(|agent| ("agent", agent)));
            Sample::new(labels, value(found))
        })
    };
    values.budgets.iter().flat_map(of_service).collect()
}

fn hosts(values: &Values) -> Vec<Sample> {
    let sample = |Found { name, reachability, .. }: &Found| {
        let is_up = match reachability {
            Reachability::Reachable(_) => 1.0,
            Reachability::Unreachable | Reachability::Unresolved => 0.0,
            Reachability::Unknown => return None,
        };
        Some(Sample::new(vec![("host", name.clone())], is_up))
    };
    values.hosts.iter().filter_map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::format::{Format, text};

    fn counts(rows: &[(&[&str], u64)]) -> Counts {
        rows.iter()
            .map(|(labels, count)| (labels.iter().map(|label| (*label).to_owned()).collect(), *count))
            .collect()
    }

    fn values<const N: usize>(counters: [(&'static str, Counts); N]) -> Values {
        Values { counters: Counters::from(counters), ..Values::default() }
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
    fn names_end_with_their_unit_and_are_unique() {
        let families = of(&Values::default());
        let names: BTreeSet<&str> = families.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), families.len());
        for Family { name, unit, help, .. } in families {
            assert!(unit.is_empty() || name.ends_with(&format!("_{unit}")), "{name}");
            assert!(name.starts_with("opsctl_") && !name.ends_with("_total"), "{name}");
            assert!(help.ends_with('.'), "{name}");
        }
    }
}
