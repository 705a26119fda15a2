//! The daily digest: when it is due, and its text.

use std::collections::BTreeMap;

use chrono::{DateTime, Days, NaiveDateTime, NaiveTime, TimeDelta, Utc};

use super::data::ReportData;
use super::format::{Moment, count, dollars, plain, span};
use crate::guard::budgets::ServiceBudget;
use opsctl_ledger::LastCheck;
use opsctl_ledger::records::decisions::Statistics;
use opsctl_policy::model::records::event::Level;
use opsctl_policy::model::records::notice::{Body, Notice};
use opsctl_policy::texts::report::verification;

/// The key of its notice.
pub const KEY: &str = "digest";

/// Processes that find it due at the same time raise it once.
const QUIET: TimeDelta = TimeDelta::hours(1);

/// A digest that was missed shortly before midnight is raised after midnight, up to this time after its own.
const LATE: TimeDelta = TimeDelta::hours(12);

/// The maximum number of listed services and of listed events of a level; further ones are counted.
const MOST: usize = 10;

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
/// time.
pub fn notice(data: &ReportData<'_>, checks: &[LastCheck]) -> Notice {
    let ReportData { now, since, .. } = *data;
    let sections = [sessions(data), actions(data), denials(data), events(data), unhealthy(data, checks)];
    let body =
        format!("Since {} ({}):\n\n{}", Moment::of(since, now).shown, span(now - since), sections.join("\n"));
    Notice {
        key: KEY.to_owned(),
        quiet_until: Some(now + QUIET),
        level: Level::Info,
        title: "Claude Ops: daily digest".to_owned(),
        body: Body::Markdown(body),
        tags: vec![KEY.to_owned()],
    }
}

/// A heading, and a list of at most [`MOST`] items.
fn section(heading: &str, items: Vec<String>) -> String {
    let more = items.len().saturating_sub(MOST);
    let mut text = format!("**{heading}**\n");
    if !items.is_empty() {
        text.push('\n');
    }
    text.extend(items.into_iter().take(MOST).map(|item| format!("- {item}\n")));
    if more > 0 {
        text += &format!("- and {more} more\n");
    }
    text
}

fn sessions(data: &ReportData<'_>) -> String {
    let mut tiers: BTreeMap<u8, (BTreeMap<String, usize>, f64)> = BTreeMap::new();
    for run in &data.runs.rows {
        let outcome = run.outcome_in_words(&data.installation.policy, data.now);
        let (outcomes, cost) = tiers.entry(run.tier).or_default();
        *outcomes.entry(outcome).or_default() += 1;
        *cost += run.cost_usd.unwrap_or_default();
    }
    let cost = dollars(tiers.values().map(|(_, cost)| cost).sum());
    let of_tier = |(tier, (outcomes, cost)): (u8, (BTreeMap<String, usize>, f64))| {
        let outcomes: Vec<String> =
            outcomes.iter().map(|(outcome, number)| format!("{number} {}", plain(outcome))).collect();
        format!("tier {tier}: {}, {}", outcomes.join(", "), dollars(cost))
    };
    let heading = format!("Sessions: {}, {cost}", data.runs.rows.len());
    section(&heading, tiers.into_iter().map(of_tier).collect())
}

fn actions(data: &ReportData<'_>) -> String {
    let mut services: BTreeMap<&str, BTreeMap<&str, (usize, usize)>> = BTreeMap::new();
    for action in &data.actions.rows {
        let kinds = services.entry(&action.service).or_default();
        let (all, failed) = kinds.entry(&action.kind).or_default();
        *all += 1;
        *failed += usize::from(!action.succeeded);
    }
    let of_service = |(service, kinds): (&str, BTreeMap<&str, (usize, usize)>)| {
        let mut parts: Vec<String> = kinds
            .iter()
            .map(|(kind, (all, failed))| {
                let failed = if *failed > 0 { format!(" ({failed} failed)") } else { String::new() };
                format!("{}{failed}", count(*all, &plain(kind), &format!("{}s", plain(kind))))
            })
            .collect();
        parts.extend(data.budgets.iter().find(|budget| budget.service == service).map(left));
        format!("{}: {}", plain(service), parts.join(", "))
    };
    let heading = format!("Actions: {}", data.actions.rows.len());
    section(&heading, services.into_iter().map(of_service).collect())
}

/// What is left of the budgets of a service.
fn left(budget: &ServiceBudget) -> String {
    let of_kind =
        [("restarts", &budget.restart), ("redeployments", &budget.redeployment)].map(|(kind, used)| {
            let limit = used.limit as usize;
            format!("{} of {limit} {kind}", limit.saturating_sub(used.used))
        });
    format!("left: {}", of_kind.join(" and "))
}

fn denials(data: &ReportData<'_>) -> String {
    let Statistics { verdicts, rules, .. } = &data.statistics;
    let of = |verdict: &str| verdicts.get(verdict).copied().unwrap_or_default();
    let heading = format!("Denials: {}", of("deny") + of("fail-closed"));
    section(&heading, rules.iter().map(|(rule, number)| format!("{}: {number}", plain(rule))).collect())
}

fn events(data: &ReportData<'_>) -> String {
    let of_level = |level: Level| {
        let items: Vec<String> = data
            .events
            .rows
            .iter()
            .filter(|event| event.level == level.as_str())
            .map(|event| {
                let at =
                    event.at.map(|at| format!("{}, ", Moment::of(at, data.now).shown)).unwrap_or_default();
                let service =
                    event.service.as_ref().map(|service| format!("{service}: ")).unwrap_or_default();
                format!("{at}{}", plain(&format!("{service}{}", event.message)))
            })
            .collect();
        let name = if level == Level::Critical { "Critical events" } else { "Warnings" };
        section(&format!("{name}: {}", items.len()), items)
    };
    [of_level(Level::Critical), of_level(Level::Warning)].join("\n")
}

/// The services whose last check or verification in the period found them unhealthy.
fn unhealthy(data: &ReportData<'_>, checks: &[LastCheck]) -> String {
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
    let items: Vec<String> = last
        .into_iter()
        .filter(|(_, (_, healthy))| !healthy)
        .map(|(service, (at, _))| format!("{}, checked {}", plain(service), Moment::of(at, data.now).shown))
        .collect();
    section(&format!("Unhealthy services: {}", items.len()), items)
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
