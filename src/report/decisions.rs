//! The section with decisions, rules and hook durations.

use serde::Serialize;

use super::data::ReportData;
use super::format::{Moment, grouped, per_cent, plain};
use crate::ledger::decisions::Decision;
use crate::model::percentile::{milliseconds, percentile};

/// The maximum number of listed guard failures.
const MOST_FAILURES: usize = 10;

#[derive(Serialize)]
pub struct DecisionsView {
    verdicts: Vec<CountView>,
    rules: Vec<CountView>,
    hooks: Vec<HookView>,
    failures: Vec<FailureView>,
    more_failures: usize,
    waiting: usize,
}

#[derive(Serialize)]
struct CountView {
    name: String,
    meaning: &'static str,
    count: String,
    /// The length of the bar, in per cent of the largest count.
    width: f64,
}

#[derive(Serialize)]
struct HookView {
    event: String,
    calls: String,
    p50: String,
    p95: String,
    p99: String,
}

#[derive(Serialize)]
struct FailureView {
    at: Option<Moment>,
    ran: bool,
    actions: String,
    reason: String,
}

impl DecisionsView {
    pub fn of(data: &ReportData<'_>) -> Self {
        let statistics = &data.statistics;
        let failed = |decision: &&Decision| decision.verdict.starts_with("fail-");
        let failures: Vec<&Decision> = data.decisions.rows.iter().filter(failed).collect();
        Self {
            verdicts: counts(statistics.verdicts.iter(), verdict_means),
            rules: counts(statistics.rules.iter(), rule_means),
            hooks: statistics
                .times
                .iter()
                .map(|(event, micros)| {
                    let at = |percent| format!("{:.1}", milliseconds(percentile(micros, percent)));
                    HookView {
                        event: plain(event),
                        calls: grouped(micros.len()),
                        p50: at(50),
                        p95: at(95),
                        p99: at(99),
                    }
                })
                .collect(),
            more_failures: failures.len().saturating_sub(MOST_FAILURES),
            failures: failures.into_iter().take(MOST_FAILURES).map(|it| failure(it, data)).collect(),
            waiting: data.guard_failures,
        }
    }
}

/// Sorts counts in descending order and adds meaning and bar.
fn counts<'a>(
    counts: impl Iterator<Item = (&'a String, &'a u64)>,
    meaning: fn(&str) -> &'static str,
) -> Vec<CountView> {
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let mut counts: Vec<(&String, u64)> = counts.map(|(name, count)| (name, *count)).collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let most = counts.first().map_or(0, |(_, count)| number(*count));
    counts
        .into_iter()
        .map(|(name, count)| CountView {
            name: plain(name),
            meaning: meaning(name),
            count: grouped(number(count)),
            width: per_cent(number(count), most),
        })
        .collect()
}

fn verdict_means(verdict: &str) -> &'static str {
    match verdict {
        "allow" => "allowed",
        "deny" => "denied",
        "fail-open" => "the guard failed, and the command ran",
        "fail-closed" => "the guard failed, and the command was denied",
        _ => "",
    }
}

fn rule_means(rule: &str) -> &'static str {
    match rule {
        "budget" => "the budget was used up",
        "exclusive" => "another agent is remediating the service",
        "tier" => "the tier does not allow it",
        "forbidden" => "denied at every tier",
        "repeats" => "a loop of unknown length",
        "unresolved" => "the target service cannot be determined",
        "dry_run" => "a dry run denies changes",
        "never" => "a command that is always denied",
        "protect" => "a write-protected file",
        "secret" => "a secret file",
        "on_failure" => "the guard failed",
        _ => "",
    }
}

fn failure(decision: &Decision, data: &ReportData<'_>) -> FailureView {
    FailureView {
        at: decision.at.map(|at| Moment::of(at, data.now)),
        ran: decision.verdict == "fail-open",
        actions: plain(&decision.actions),
        reason: plain(&decision.reason),
    }
}
