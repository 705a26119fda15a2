//! The section with sessions, their cost and outcome.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::{Value, json};

use super::data::ReportData;
use super::format::{local, plain, shown};
use opsctl_ledger::records::decisions::OPERATOR;
use opsctl_ledger::sessions::SeenSession;
use opsctl_ledger::sessions::client_runs::Run;

/// The maximum number of listed sessions, and of further listed ones that did not complete.
const MOST: usize = 15;

/// The maximum number of days in the chart, the latest ones.
const MOST_DAYS: usize = 62;

/// The data of the section: sums of those that opsctl started, and all that asked or acted, at most `most` in the table.
pub fn sessions(data: &ReportData<'_>, all: &[Active<'_>]) -> Value {
    let runs = &data.runs.rows;
    let mut tiers: BTreeMap<u8, Sum> = BTreeMap::new();
    let mut days: BTreeMap<NaiveDate, Sum> = BTreeMap::new();
    for run in runs {
        tiers.entry(run.tier).or_default().add(run);
        if let Some(at) = run.started_at {
            days.entry(local(at).date_naive()).or_default().add(run);
        }
    }
    let tiers = tiers
        .into_iter()
        .map(|(tier, Sum { sessions, cost })| json!({ "tier": tier, "sessions": sessions, "cost": cost }));
    let earlier = all.iter().skip(MOST).filter(|row| row.run.is_some_and(|run| state(run, data) == "bad"));
    let row = |row: &Active<'_>| row.view(data);
    let highest = days.values().map(|sum| sum.cost).fold(0.0, f64::max);
    json!({
        "rows": all.iter().take(MOST).map(row).collect::<Vec<_>>(),
        "more": all.len().saturating_sub(MOST),
        // Earlier sessions that did not complete.
        "failed": earlier.take(MOST).map(row).collect::<Vec<_>>(),
        "cost": cost(data),
        "tiers": tiers.collect::<Vec<_>>(),
        "days": columns(&days, data.since, data.until(), highest),
        // The cost of the highest column.
        "highest": highest,
        // What the guard counted for requests that it forwarded.
        "spending": shown(data.spending.lines()),
    })
}

/// What is known of one session.
#[derive(Debug, Default)]
pub struct Active<'a> {
    id: String,
    run: Option<&'a Run>,
    seen: Option<&'a SeenSession>,
    /// The numbers of commands that acted, of denials, and of questions.
    commands: usize,
    denied: usize,
    asked: usize,
    agent: Option<&'a String>,
    tier: Option<u8>,
    first: Option<DateTime<Utc>>,
    last: Option<DateTime<Utc>>,
}

impl<'a> Active<'a> {
    fn at(&mut self, at: Option<DateTime<Utc>>, agent: Option<&'a String>, tier: Option<u8>) {
        self.first = self.first.into_iter().chain(at).min();
        self.last = self.last.max(at);
        self.agent = self.agent.or(agent);
        self.tier = self.tier.or(tier);
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What a table shows of it.
    pub fn view(&self, data: &ReportData<'_>) -> Value {
        let Self { ref id, run, seen, commands, denied, asked, agent, tier, first, last } = *self;
        let outcome = match (run, seen.map(|seen| seen.ended.is_some())) {
            (Some(run), _) if run.outcome == "running" && state(run, data) == "bad" => "cut off".to_owned(),
            (Some(run), _) => plain(&run.outcome.replace('_', " ")),
            (None, Some(true)) => "ended".to_owned(),
            (None, _) => "not started by opsctl".to_owned(),
        };
        json!({
            "session": plain(id),
            "agent": agent.map(|agent| plain(agent)),
            "tier": tier,
            "model": run.map(|run| plain(&run.model)).or_else(|| seen?.model.as_deref().map(plain)),
            "started_at": first,
            "last_at": last,
            "outcome": outcome,
            "status": seen.and_then(|seen| seen.status.as_deref()).map(plain),
            "state": run.map_or("open", |run| state(run, data)),
            "stated": run.is_some_and(|run| run.is_stated),
            "commands": commands,
            "denied": denied,
            "asked": asked,
            "duration_ms": run.and_then(|run| run.duration_ms),
            "turns": run.and_then(|run| run.turns),
            "cost_usd": run.and_then(|run| run.cost_usd),
            "chain": run.and_then(|run| run.chain.as_ref()).map(shown),
            "has_log": run.is_some(),
        })
    }
}

/// All sessions that opsctl started, that asked, or that acted, the latest first.
pub fn active<'a>(data: &'a ReportData<'_>) -> Vec<Active<'a>> {
    let ids: BTreeMap<&str, &str> =
        (data.seen.iter()).filter_map(|seen| Some((seen.client_id.as_deref()?, seen.id.as_str()))).collect();
    // A session may have two ids: opsctl's and the client's.
    let id = |id: &'_ str| -> String { ids.get(id).map_or(id, |own| *own).to_owned() };
    let mut all: BTreeMap<String, Active<'_>> = BTreeMap::new();
    for run in &data.runs.rows {
        let row = all.entry(id(&run.session)).or_default();
        row.at(run.resumed_at.or(run.started_at), run.agent.as_ref(), Some(run.tier));
        row.at(run.started_at, None, None);
        row.run = row.run.or(Some(run));
    }
    for decision in data.decisions.rows.iter().filter(|decision| decision.verdict != OPERATOR) {
        let Some(session) = &decision.session else { continue };
        let row = all.entry(id(session)).or_default();
        row.at(decision.at, decision.agent.as_ref(), decision.tier);
        let is_denied = matches!(decision.verdict.as_str(), "deny" | "fail-closed");
        *(if is_denied { &mut row.denied } else { &mut row.commands }) += 1;
    }
    for question in &data.questions {
        let row = all.entry(id(&question.session)).or_default();
        row.at(Some(question.asked_at), question.agent.as_ref(), question.tier);
        row.asked += 1;
    }
    for seen in &data.seen {
        let Some(row) = all.get_mut(&seen.id) else { continue };
        row.at(seen.started, seen.agent.as_ref(), seen.tier);
        row.last = row.last.max(seen.last_seen);
        row.seen = Some(seen);
    }
    let mut all: Vec<Active<'_>> = all.into_iter().map(|(id, row)| Active { id, ..row }).collect();
    all.sort_by_key(|row| std::cmp::Reverse(row.last));
    all
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
    let last = local(now).date_naive();
    let all: Vec<NaiveDate> = local(since).date_naive().iter_days().take_while(|day| *day <= last).collect();
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
