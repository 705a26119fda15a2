//! The section with sessions, their cost and outcome.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;

use super::data::ReportData;
use super::format::{Moment, count, dollars, plain, took};
use crate::ledger::client_runs::Run;

/// The maximum number of listed sessions, and of further listed ones that did not complete.
const MOST: usize = 15;

/// The maximum number of days in the chart, the latest ones.
const MOST_DAYS: usize = 62;

#[derive(Serialize)]
pub struct SessionsView {
    pub count: usize,
    pub incomplete: usize,
    pub cost: String,
    /// Whether the ledger has several agents.
    several: bool,
    rows: Vec<RunView>,
    more: usize,
    /// Earlier sessions that did not complete.
    failed: Vec<RunView>,
    tiers: Vec<TierView>,
    days: Vec<DayView>,
    /// The cost of the highest column.
    highest: String,
    /// What the guard counted for requests that it forwarded.
    spending: Vec<SpendView>,
}

#[derive(Serialize)]
struct SpendView {
    text: String,
    bad: bool,
}

#[derive(Serialize)]
struct RunView {
    at: Option<Moment>,
    session: String,
    agent: Option<String>,
    tier: u8,
    model: String,
    outcome: String,
    state: &'static str,
    took: Option<String>,
    turns: Option<i64>,
    cost: Option<String>,
    chain: Option<ChainView>,
}

#[derive(Serialize)]
struct ChainView {
    place: u32,
    sessions: u32,
    cost: Option<String>,
    parent: Option<String>,
}

#[derive(Serialize)]
struct TierView {
    tier: u8,
    sessions: String,
    cost: String,
}

/// A column of the chart; position and size in per cent.
#[derive(Serialize)]
struct DayView {
    day: String,
    cost: String,
    sessions: String,
    x: f64,
    width: f64,
    height: f64,
}

impl SessionsView {
    pub fn of(data: &ReportData<'_>) -> Self {
        let runs = &data.runs.rows;
        let mut tiers: BTreeMap<u8, (usize, f64)> = BTreeMap::new();
        for run in runs {
            let (sessions, cost) = tiers.entry(run.tier).or_default();
            *sessions += 1;
            *cost += run.cost_usd.unwrap_or_default();
        }
        let days = by_day(runs);
        let highest = days.values().map(|(_, cost)| *cost).fold(0.0, f64::max);
        Self {
            count: runs.len(),
            incomplete: runs.iter().filter(|run| state(run, data) == "bad").count(),
            cost: dollars(tiers.values().map(|(_, cost)| cost).sum()),
            several: data.agents.len() > 1,
            rows: runs.iter().take(MOST).map(|run| row(run, data)).collect(),
            more: runs.len().saturating_sub(MOST),
            failed: runs
                .iter()
                .skip(MOST)
                .filter(|run| state(run, data) == "bad")
                .take(MOST)
                .map(|run| row(run, data))
                .collect(),
            tiers: tiers
                .into_iter()
                .map(|(tier, (sessions, cost))| TierView {
                    tier,
                    sessions: count(sessions, "session", "sessions"),
                    cost: dollars(cost),
                })
                .collect(),
            days: columns(&days, data.since, data.now, highest),
            highest: dollars(highest),
            spending: data
                .spending
                .lines()
                .into_iter()
                .map(|line| SpendView { text: plain(&line.text), bad: line.is_near })
                .collect(),
        }
    }
}

fn row(run: &Run, data: &ReportData<'_>) -> RunView {
    let state = state(run, data);
    let outcome = match run.outcome.as_str() {
        "running" if state == "bad" => "cut off".to_owned(),
        outcome => plain(&outcome.replace('_', " ")),
    };
    let outcome = if run.is_stated { format!("{outcome}, stated by the agent") } else { outcome };
    RunView {
        at: run.started_at.map(|at| Moment::of(at, data.now)),
        session: plain(&run.session),
        agent: run.agent.as_deref().map(plain),
        tier: run.tier,
        model: plain(&run.model),
        outcome,
        state,
        took: run.duration_ms.map(took),
        turns: run.turns,
        cost: run.cost_usd.map(dollars),
        chain: run.chain.as_ref().map(|chain| ChainView {
            place: chain.place,
            sessions: chain.sessions,
            cost: chain.cost_usd.map(dollars),
            parent: chain.parent.as_deref().map(plain),
        }),
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

fn by_day(runs: &[Run]) -> BTreeMap<NaiveDate, (usize, f64)> {
    let mut days: BTreeMap<NaiveDate, (usize, f64)> = BTreeMap::new();
    for run in runs {
        if let Some(at) = run.started_at {
            let (sessions, cost) = days.entry(at.date_naive()).or_default();
            *sessions += 1;
            *cost += run.cost_usd.unwrap_or_default();
        }
    }
    days
}

/// One column per day of the period; none if nothing was spent or the period is one day.
fn columns(
    days: &BTreeMap<NaiveDate, (usize, f64)>,
    since: DateTime<Utc>,
    now: DateTime<Utc>,
    highest: f64,
) -> Vec<DayView> {
    let last = now.date_naive();
    let all: Vec<NaiveDate> = since.date_naive().iter_days().take_while(|day| *day <= last).collect();
    let shown = all.get(all.len().saturating_sub(MOST_DAYS)..).unwrap_or_default();
    if highest <= 0.0 || shown.len() < 2 {
        return vec![];
    }
    let slot = 100.0 / f64::from(u32::try_from(shown.len()).unwrap_or(u32::MAX));
    let mut x = -slot;
    shown
        .iter()
        .map(|day| {
            x += slot;
            let (sessions, cost) = days.get(day).copied().unwrap_or_default();
            DayView {
                day: day.format("%-d %b").to_string(),
                cost: dollars(cost),
                sessions: count(sessions, "session", "sessions"),
                x: x + slot * 0.15,
                width: slot * 0.7,
                height: (cost / highest * 1000.0).round() / 10.0,
            }
        })
        .collect()
}
