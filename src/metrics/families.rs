//! The metrics of opsctl, from values.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{Family, Kind, Sample};
use crate::ledger::counters::{BUCKETS, Counters, Counts};
use crate::model::spend::Usd;

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
    pub budgets: Vec<BudgetValue>,
    /// Whether hosts answer, by name. A host whose state is unknown is left out.
    pub hosts: Vec<(String, bool)>,
    /// What was spent in the last 24 hours.
    pub spent: Usd,
    /// The limits by name: `day` and `session`.
    pub spend_limits: Vec<(&'static str, Usd)>,
}

/// The usage of one budget.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetValue {
    /// The service.
    pub service: String,
    /// The agent, where each has a budget of its own.
    pub agent: Option<String>,
    /// `restart` or `redeployment`.
    pub kind: &'static str,
    /// The number of actions that count.
    pub used: usize,
    /// The limit.
    pub limit: u32,
}

/// All metrics, in the order of the documentation.
pub fn of(values: &Values) -> Vec<Family> {
    let mut families = of_the_guard(values);
    families.extend(of_sessions(values));
    families
}

/// Decisions, hooks, failures, budgets and hosts.
fn of_the_guard(values: &Values) -> Vec<Family> {
    let Values { counters, .. } = values;
    let version = vec![Sample::new(vec![("version", values.version.to_owned())], 1.0)];
    vec![
        Family {
            name: "opsctl_build_info",
            kind: Kind::Gauge,
            unit: "",
            help: "The release of opsctl; always 1.",
            samples: version,
        },
        gauge("opsctl_ledger_readable", "Whether the ledger can be read.", values.ledger_readable.into()),
        counter(
            "opsctl_decisions",
            "Decisions on commands and tools, by verdict and effect.",
            samples(&counters.decisions, &["verdict", "effect"], 1.0),
        ),
        counter(
            "opsctl_denials",
            "Denials by rule; a call that several rules deny counts for each.",
            samples(&by_rule(&counters.denials), &["rule", "effect"], 1.0),
        ),
        durations(counters),
        counter(
            "opsctl_guard_failures",
            "Calls that could not be judged, by verdict: fail-open or fail-closed.",
            guard_failures(&counters.decisions),
        ),
        gauge(
            "opsctl_guard_failures_unrecorded",
            "Failures of the guard that the ledger does not contain yet.",
            values.unrecorded_failures,
        ),
        budget("opsctl_budget_used", "Actions that count against a budget now.", values, |budget| {
            number(budget.used as u64)
        }),
        budget("opsctl_budget_limit", "The limit of a budget.", values, |budget| f64::from(budget.limit)),
        Family {
            name: "opsctl_host_reachable",
            kind: Kind::Gauge,
            unit: "",
            help: "Whether a host of hosts.yaml answers a ping.",
            samples: hosts(values),
        },
    ]
}

/// Sessions, requests to the model, and what waits for a person.
fn of_sessions(values: &Values) -> Vec<Family> {
    let Values { counters, .. } = values;
    vec![
        counter(
            "opsctl_sessions",
            "Ended sessions by tier and outcome.",
            samples(&counters.sessions, &["tier", "outcome"], 1.0),
        ),
        gauge("opsctl_sessions_running", "Sessions that are recorded as running.", values.running_sessions),
        in_usd(
            "opsctl_session_cost_usd",
            "Cost of ended sessions by tier, as the client estimates it.",
            samples(&counters.session_cost, &["tier"], 1e-6),
        ),
        counter(
            "opsctl_api_requests",
            "Requests to the model that the guard forwarded, by model.",
            samples(&counters.api_requests, &["model"], 1.0),
        ),
        counter(
            "opsctl_api_tokens",
            "Tokens of these requests by model and kind.",
            samples(&counters.api_tokens, &["model", "kind"], 1.0),
        ),
        in_usd(
            "opsctl_api_cost_usd",
            "Cost of these requests by model.",
            samples(&counters.api_cost, &["model"], 1e-6),
        ),
        Family {
            name: "opsctl_spent_day_usd",
            kind: Kind::Gauge,
            unit: "usd",
            help: "Cost of the requests of the last 24 hours, which policy.spend.day limits.",
            samples: vec![Sample::new(vec![], values.spent.dollars())],
        },
        Family {
            name: "opsctl_spend_limit_usd",
            kind: Kind::Gauge,
            unit: "usd",
            help: "The limits of policy.spend.",
            samples: values
                .spend_limits
                .iter()
                .map(|(name, limit)| Sample::new(vec![("limit", (*name).to_owned())], limit.dollars()))
                .collect(),
        },
        gauge("opsctl_questions_open", "Questions to a person that are not answered.", values.open_questions),
        counter("opsctl_events", "Events by level.", samples(&counters.events, &["level"], 1.0)),
        gauge(
            "opsctl_notifications_undelivered",
            "Notifications of the last day that are not delivered.",
            values.undelivered,
        ),
    ]
}

fn gauge(name: &'static str, help: &'static str, value: u64) -> Family {
    Family { name, kind: Kind::Gauge, unit: "", help, samples: vec![Sample::new(vec![], number(value))] }
}

fn counter(name: &'static str, help: &'static str, samples: Vec<Sample>) -> Family {
    Family { name, kind: Kind::Counter, unit: "", help, samples }
}

fn in_usd(name: &'static str, help: &'static str, samples: Vec<Sample>) -> Family {
    Family { name, kind: Kind::Counter, unit: "usd", help, samples }
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
fn by_rule(denials: &Counts) -> Counts {
    let mut found = Counts::new();
    for (labels, count) in denials {
        let [rules, effect] = labels.as_slice() else { continue };
        for rule in rules.split_whitespace() {
            *found.entry(vec![rule.to_owned(), effect.clone()]).or_default() += count;
        }
    }
    found
}

fn guard_failures(decisions: &Counts) -> Vec<Sample> {
    let of = |verdict: &str| {
        let matching =
            decisions.iter().filter(|(labels, _)| labels.first().is_some_and(|label| label == verdict));
        matching.map(|(_, count)| *count).sum()
    };
    ["fail-closed", "fail-open"]
        .map(|verdict| Sample::new(vec![("verdict", verdict.to_owned())], number(of(verdict))))
        .to_vec()
}

/// The histogram of hook durations, by event.
fn durations(counters: &Counters) -> Family {
    let mut events: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (labels, count) in &counters.hooks {
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
        let micros = counters.hook_micros.get(&vec![event.to_owned()]).copied().unwrap_or(0);
        samples.push(Sample { suffix: "_sum", labels: vec![label()], value: scaled(micros, 1e-6) });
        samples.push(Sample { suffix: "_count", labels: vec![label()], value: number(sum) });
    }
    Family {
        name: "opsctl_hook_duration_seconds",
        kind: Kind::Histogram,
        unit: "seconds",
        help: "Duration of hooks on commands that act, without the time to record it.",
        samples,
    }
}

fn budget(
    name: &'static str,
    help: &'static str,
    values: &Values,
    value: impl Fn(&BudgetValue) -> f64,
) -> Family {
    let samples = values.budgets.iter().map(|budget| {
        let mut labels = vec![("service", budget.service.clone()), ("kind", budget.kind.to_owned())];
        labels.extend(budget.agent.clone().map(|agent| ("agent", agent)));
        Sample::new(labels, value(budget))
    });
    Family { name, kind: Kind::Gauge, unit: "", help, samples: samples.collect() }
}

fn hosts(values: &Values) -> Vec<Sample> {
    let sample = |(host, is_up): &(String, bool)| {
        Sample::new(vec![("host", host.clone())], if *is_up { 1.0 } else { 0.0 })
    };
    values.hosts.iter().map(sample).collect()
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

    fn lines(values: &Values, name: &str) -> Vec<String> {
        let text = text(&of(values), Format::OpenMetrics);
        text.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect()
    }

    #[test]
    fn a_denial_by_two_rules_counts_for_both() {
        let denials =
            counts(&[(&["never tier", "changes"], 2), (&["tier", "changes"], 3), (&["tier", ""], 1)]);
        let values = Values { counters: Counters { denials, ..Counters::default() }, ..Values::default() };
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
        let values =
            Values { counters: Counters { hooks, hook_micros, ..Counters::default() }, ..Values::default() };
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
        let values =
            Values { counters: Counters { api_requests, ..Counters::default() }, ..Values::default() };
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
