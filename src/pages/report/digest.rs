//! The daily digest: when it is due, and its text.

use std::collections::BTreeMap;

use chrono::{DateTime, Days, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use minijinja::value::{Serde, Value};
use serde_json::{Value as Json, json};

use super::data::ReportData;
use super::engine;
use super::format::{plain, shown, span};
use opsctl_ledger::records::decisions::Statistics;
use opsctl_ledger::{Event, LastCheck};
use opsctl_policy::model::records::event::Level;
use opsctl_policy::model::records::notice::{Body, Notice};
use opsctl_policy::texts::report::verification;

const TEMPLATE: &str = include_str!("../../../templates/digest.md.j2");

/// The key of its notice.
pub const KEY: &str = "digest";

/// Processes that find it due at the same time raise it once.
const QUIET: TimeDelta = TimeDelta::hours(1);

/// A digest that was missed shortly before midnight is raised after midnight, up to this time after its own.
const LATE: TimeDelta = TimeDelta::hours(12);

/// Whether a digest of the time of day `at` is due. All times are local. `last`: when the last one was raised.
///
/// Local times without an offset are sufficient: an hour that occurs twice does not make a digest due again, and a time
/// that a day does not have has passed in the next minute.
pub fn is_due(at: NaiveTime, now: NaiveDateTime, last: Option<NaiveDateTime>) -> bool {
    let today = now.date();
    let day = if at <= now.time() { Some(today) } else { today.checked_sub_days(Days::new(1)) };
    let Some(wanted) = day.map(|day| day.and_time(at)) else { return false };
    let is_missed = last.is_none_or(|last| last < wanted);
    is_missed && (wanted.date() == today || now - wanted <= LATE)
}

/// The notice with the digest of the time since the last one. `checks`: the last recorded health check of each service, of any
/// time. An error is a bug in the template.
pub fn notice(data: &ReportData<'_>, checks: &[LastCheck]) -> Result<Notice, minijinja::Error> {
    let view = view(data, checks);
    let body = engine(data.now)?.render_str(TEMPLATE, Value::from(Serde(&view)))?;
    Ok(Notice {
        key: KEY.to_owned(),
        quiet_until: Some(data.now + QUIET),
        level: Level::Info,
        title: "opsctl: daily digest".to_owned(),
        body: Body::Markdown(body),
        tags: vec![KEY.to_owned()],
    })
}

fn view(data: &ReportData<'_>, checks: &[LastCheck]) -> Json {
    let ReportData { now, since, .. } = *data;
    // For each tier, the number of sessions for each outcome, and their cost.
    let mut tiers: BTreeMap<u8, (BTreeMap<String, usize>, f64)> = BTreeMap::new();
    for run in &data.runs.rows {
        let (outcomes, cost) = tiers.entry(run.tier).or_default();
        *outcomes.entry(plain(&run.outcome_in_words(&data.installation.policy, now))).or_default() += 1;
        *cost += run.cost_usd.unwrap_or_default();
    }
    let Statistics { verdicts, rules, .. } = &data.statistics;
    let of = |verdict: &str| verdicts.get(verdict).copied().unwrap_or_default();
    let event = |event: &Event| {
        let service = event.service.as_ref().map(|service| format!("{service}: ")).unwrap_or_default();
        json!({ "at": event.at, "text": plain(&format!("{service}{}", event.message)) })
    };
    let events = |level: Level| -> Vec<Json> {
        data.events.rows.iter().filter(|event| event.level == level.as_str()).map(event).collect()
    };
    json!({
        "since": since,
        "span": span(now - since),
        "sessions": data.runs.rows.len(),
        "cost": tiers.values().map(|(_, cost)| cost).sum::<f64>(),
        "tiers": tiers,
        "actions": data.actions.rows.len(),
        "services": actions(data),
        "denials": of("deny") + of("fail-closed"),
        "head": data.audit_head.as_ref().filter(|head| head.entries > 0),
        "rules": rules.iter().map(|(rule, number)| (plain(rule), number)).collect::<Vec<_>>(),
        "critical": events(Level::Critical),
        "warnings": events(Level::Warning),
        "unhealthy": unhealthy(data, checks),
    })
}

/// For each service, the numbers of actions and of failed ones for each kind, and its budgets.
fn actions(data: &ReportData<'_>) -> Vec<Json> {
    let mut services: BTreeMap<&str, BTreeMap<String, (usize, usize)>> = BTreeMap::new();
    for action in &data.actions.rows {
        let (all, failed) =
            services.entry(&action.service).or_default().entry(plain(&action.kind)).or_default();
        *all += 1;
        *failed += usize::from(action.succeeded != Some(true));
    }
    let service = |(name, kinds): (&str, _)| {
        let budget = data.budgets.iter().find(|budget| budget.service == name);
        json!({ "name": plain(name), "kinds": kinds, "budget": shown(budget) })
    };
    services.into_iter().map(service).collect()
}

/// The services whose last check or verification in the period found them unhealthy, and its time.
fn unhealthy(data: &ReportData<'_>, checks: &[LastCheck]) -> Vec<(String, DateTime<Utc>)> {
    let mut last: BTreeMap<&str, (DateTime<Utc>, bool)> = BTreeMap::new();
    let checked = checks.iter().map(|check| (check.service.as_str(), check.at, check.healthy));
    let verified = data
        .events
        .rows
        .iter()
        .rev()
        .filter_map(|event| Some((event.service.as_deref()?, event.at?, verification(&event.message)?)));
    for (service, at, healthy) in checked.chain(verified).filter(|(_, at, _)| *at >= data.since) {
        let newest = last.entry(service).or_insert((at, healthy));
        if at >= newest.0 {
            *newest = (at, healthy);
        }
    }
    let unhealthy = last.into_iter().filter(|(_, (_, healthy))| !healthy);
    unhealthy.map(|(service, (at, _))| (plain(service), at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_due_once_per_day_and_soon_after_a_missed_time() {
        let local =
            |text: &str| NaiveDateTime::parse_from_str(&format!("2026-03-{text}"), "%F %H:%M").unwrap();
        for (at, now, last, due) in [
            ("08:00", "21 07:59", None, false),
            ("08:00", "21 08:00", None, true),
            ("08:00", "21 23:59", None, true),
            ("08:00", "21 08:05", Some("21 08:00"), false),
            ("08:00", "21 23:59", Some("21 08:00"), false),
            ("08:00", "22 07:59", Some("21 08:00"), false),
            ("08:00", "22 08:00", Some("21 09:30"), true),
            // Missed on the whole day before.
            ("08:00", "22 06:00", Some("20 08:00"), false),
            ("23:59", "22 00:04", Some("20 23:59"), true),
            ("23:59", "22 11:59", Some("20 23:59"), true),
            ("23:59", "22 12:00", Some("20 23:59"), false),
            ("23:59", "22 23:59", Some("22 00:04"), true),
            ("00:00", "22 00:00", Some("21 00:00"), true),
        ] {
            let case = format!("at {at}, now {now}, last {last:?}");
            let at = NaiveTime::parse_from_str(at, "%H:%M").unwrap();
            assert_eq!(is_due(at, local(now), last.map(local)), due, "{case}");
        }
    }
}
