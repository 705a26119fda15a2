//! The section with sessions, their cost and outcome.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::{Value, json};

use super::data::ReportData;
use super::format::shown;
use opsctl_ledger::sessions::client_runs::Run;

/// The maximum number of listed sessions, and of further listed ones that did not complete.
const MOST: usize = 15;

/// The maximum number of days in the chart, the latest ones.
const MOST_DAYS: usize = 62;

/// The data of the section.
pub fn sessions(data: &ReportData<'_>) -> Value {
    let runs = &data.runs.rows;
    let mut tiers: BTreeMap<u8, Sum> = BTreeMap::new();
    let mut days: BTreeMap<NaiveDate, Sum> = BTreeMap::new();
    for run in runs {
        tiers.entry(run.tier).or_default().add(run);
        if let Some(at) = run.started_at {
            days.entry(at.date_naive()).or_default().add(run);
        }
    }
    let tiers = tiers
        .into_iter()
        .map(|(tier, Sum { sessions, cost })| json!({ "tier": tier, "sessions": sessions, "cost": cost }));
    let row = |run: &Run| json!({ "run": shown(run), "state": state(run, data), "chain": shown(&run.chain) });
    let earlier = runs.iter().skip(MOST).filter(|run| state(run, data) == "bad");
    let highest = days.values().map(|sum| sum.cost).fold(0.0, f64::max);
    json!({
        "rows": runs.iter().take(MOST).map(row).collect::<Vec<_>>(),
        "more": runs.len().saturating_sub(MOST),
        // Earlier sessions that did not complete.
        "failed": earlier.take(MOST).map(row).collect::<Vec<_>>(),
        "cost": cost(data),
        "tiers": tiers.collect::<Vec<_>>(),
        "days": columns(&days, data.since, data.now, highest),
        // The cost of the highest column.
        "highest": highest,
        // What the guard counted for requests that it forwarded.
        "spending": shown(data.spending.lines()),
    })
}

/// The cost of all sessions in US dollars.
pub fn cost(data: &ReportData<'_>) -> f64 {
    data.runs.rows.iter().filter_map(|run| run.cost_usd).fold(0.0, |sum, cost| sum + cost)
}

/// The number of sessions that did not complete.
pub fn incomplete(data: &ReportData<'_>) -> usize {
    data.runs.rows.iter().filter(|run| state(run, data) == "bad").count()
}

/// The number of sessions and their cost.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sessions: usize,
    cost: f64,
}

impl Sum {
    fn add(&mut self, run: &Run) {
        self.sessions += 1;
        self.cost += run.cost_usd.unwrap_or_default();
    }
}

/// `good`, `open` or `bad`.
fn state(run: &Run, data: &ReportData<'_>) -> &'static str {
    match run.outcome.as_str() {
        "completed" => "good",
        "waiting" => "open",
        "running" if !run.is_cut_off(&data.installation.policy, data.now) => "open",
        _ => "bad",
    }
}

/// One column per day of the period, with position and size in per cent; none if nothing was spent or the period is one day.
fn columns(
    days: &BTreeMap<NaiveDate, Sum>,
    since: DateTime<Utc>,
    now: DateTime<Utc>,
    highest: f64,
) -> Vec<Value> {
    let last = now.date_naive();
    let all: Vec<NaiveDate> = since.date_naive().iter_days().take_while(|day| *day <= last).collect();
    let listed = all.get(all.len().saturating_sub(MOST_DAYS)..).unwrap_or_default();
    if highest <= 0.0 || listed.len() < 2 {
        return vec![];
    }
    let slot = 100.0 / f64::from(u32::try_from(listed.len()).unwrap_or(u32::MAX));
    let mut x = -slot;
    let column = |day: &NaiveDate| {
        x += slot;
        let Sum { sessions, cost } = days.get(day).copied().unwrap_or_default();
        json!({
            "day": day.format("%-d %b").to_string(),
            "cost": cost,
            "sessions": sessions,
            "x": x + slot * 0.15,
            "width": slot * 0.7,
            "height": (cost / highest * 1000.0).round() / 10.0,
        })
    };
    listed.iter().map(column).collect()
}
