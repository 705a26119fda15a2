//! The grid of services: the state, the history, the budget and the last action of each, by host.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::data::ReportData;
use super::format::{plain, shown, span};
use super::timeline::{Entry, Kind};
use crate::guard::budgets::{KindBudget, ServiceBudget};
use opsctl_probe::icmp::Reachability;

/// The maximum number of services in the grid; further ones are counted.
const MOST: usize = 60;

/// The number of bars of a history.
const BARS: u16 = 24;

/// The width of a history, with a gap after each bar.
const SLOT: u16 = 4;

/// Kinds of entries that a bar shows, the one that counts most first.
const MOST_SEVERE: [Kind; 6] =
    [Kind::Unhealthy, Kind::Failed, Kind::Unchecked, Kind::Denied, Kind::Done, Kind::Healthy];

/// What is known of a service.
struct Known<'a> {
    name: &'a str,
    entries: Vec<&'a Entry>,
}

/// The data of the section: the services of each host, those with a problem first, and the number of services that are left out.
pub fn services(data: &ReportData<'_>, entries: &[Entry]) -> Value {
    let inventory = &data.installation.inventory;
    let mut of_service: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        of_service.entry(entry.service.as_deref().unwrap_or_default()).or_default().push(entry);
    }
    let filter = &data.filter;
    let is_chosen = |name: &str, host: Option<&str>| {
        filter.service.as_deref().is_none_or(|wanted| wanted == name)
            && filter.host.as_deref().is_none_or(|wanted| host == Some(wanted))
    };
    let hosts = inventory.hosts.iter().map(|host| Some(host.name.as_str())).chain([None]);
    let mut left = MOST;
    let mut all = 0;
    let mut groups = Vec::new();
    for host in hosts {
        let is_here =
            |of: Option<&str>| of.filter(|of| inventory.hosts.iter().any(|host| host.name == *of)) == host;
        let chosen = inventory.services.iter().filter(|service| {
            is_here(service.host.as_deref()) && is_chosen(&service.name, service.host.as_deref())
        });
        let mut tiles: Vec<(u8, Value)> = chosen
            .map(|service| {
                let entries = of_service.get(service.name.as_str()).cloned().unwrap_or_default();
                tile(data, &Known { name: &service.name, entries })
            })
            .collect();
        all += tiles.len();
        tiles.sort_by_key(|(urgency, _)| *urgency);
        tiles.truncate(left);
        left -= tiles.len();
        let is_empty = tiles.is_empty() && (host.is_none() || filter.is_narrow());
        if !is_empty {
            let tiles: Vec<Value> = tiles.into_iter().map(|(_, tile)| tile).collect();
            groups.push(json!({ "host": host.map(|host| of_host(data, host)), "services": tiles }));
        }
    }
    let reachable =
        data.hosts.iter().flatten().filter(|host| matches!(host.reachability, Reachability::Reachable(_)));
    json!({
        "groups": groups,
        "all": all,
        "more": all.saturating_sub(MOST),
        "hosts": inventory.hosts.len(),
        "reachable": data.hosts.is_some().then(|| reachable.count()),
        "bar": span((data.until() - data.since) / i32::from(BARS)),
        "width": BARS * SLOT - 1,
    })
}

/// The name and the reachability of a host.
fn of_host(data: &ReportData<'_>, name: &str) -> Value {
    match data.hosts.iter().flatten().find(|host| host.name == name) {
        Some(host) => shown(host),
        None => json!({ "name": plain(name), "address": null, "state": "unknown", "rtt_ms": null }),
    }
}

/// How urgent it is to look at a service, 0 first, and what its tile shows.
fn tile(data: &ReportData<'_>, known: &Known<'_>) -> (u8, Value) {
    let is_action = |entry: &&&Entry| matches!(entry.kind, Kind::Done | Kind::Failed);
    let last = known.entries.iter().find(is_action).copied();
    let (state, words, at) = state(data, known, last);
    let budgets: Vec<&ServiceBudget> =
        data.budgets.iter().filter(|budget| budget.service == known.name).collect();
    let left = |of: fn(&ServiceBudget) -> &KindBudget| {
        let tightest = budgets.iter().map(|budget| of(budget)).min_by_key(|kind| unused(kind))?;
        Some(json!({ "left": unused(tightest), "limit": tightest.limit, "next": tightest.next_allowed }))
    };
    let lease = data.leases.iter().find(|lease| lease.service == known.name);
    let urgency = match state {
        "unhealthy" => 0,
        "unknown" if last.is_some() => 1,
        _ if last.is_some() => 2,
        _ => 3,
    };
    let counts = |kind| known.entries.iter().filter(|entry| entry.kind == kind).count();
    let counts: BTreeMap<Kind, usize> = Kind::ALL.into_iter().map(|kind| (kind, counts(kind))).collect();
    let tile = json!({
        "name": plain(known.name),
        "state": state,
        "words": words,
        "at": at,
        "agent": lease.map(|lease| plain(&lease.agent)),
        "bars": bars(data, &known.entries),
        "counts": counts,
        "restart": left(|budget| &budget.restart),
        "redeployment": left(|budget| &budget.redeployment),
        "last": last,
    });
    (urgency, tile)
}

const fn unused(kind: &KindBudget) -> usize {
    (kind.limit as usize).saturating_sub(kind.used)
}

/// The state of a service as far as the ledger knows it, in words, and since when.
fn state(
    data: &ReportData<'_>,
    known: &Known<'_>,
    last: Option<&Entry>,
) -> (&'static str, &'static str, Option<DateTime<Utc>>) {
    let verified = known.entries.iter().find(|entry| matches!(entry.kind, Kind::Healthy | Kind::Unhealthy));
    let verified = verified.map(|entry| (entry.at, entry.kind == Kind::Healthy));
    let checked = data.checks.iter().find(|check| check.service == known.name);
    let newest = verified.into_iter().chain(checked.map(|check| (check.at, check.healthy))).max();
    match newest {
        Some((at, false)) => ("unhealthy", "unhealthy", Some(at)),
        Some((at, true)) if last.is_none_or(|action| action.at <= at) => ("healthy", "healthy", Some(at)),
        _ if last.is_some() => ("unknown", "not checked since its last action", None),
        _ => ("unknown", "not checked yet", None),
    }
}

/// One path for each kind that a bar shows: the bars of the period in which something happened, and those without an entry.
fn bars(data: &ReportData<'_>, entries: &[&Entry]) -> Vec<Value> {
    let span = (data.until() - data.since).num_seconds().max(1);
    let place = |at: DateTime<Utc>| {
        let place = (at - data.since).num_seconds() * i64::from(BARS) / span;
        u16::try_from(place).unwrap_or_default().min(BARS - 1)
    };
    let rank = |kind| MOST_SEVERE.iter().position(|known| *known == kind).unwrap_or(MOST_SEVERE.len());
    let mut shown: BTreeMap<u16, usize> = BTreeMap::new();
    for entry in entries {
        let at = shown.entry(place(entry.at)).or_insert(MOST_SEVERE.len());
        *at = rank(entry.kind).min(*at);
    }
    let path = |wanted: usize| -> String {
        let is_wanted = |bar: &u16| shown.get(bar).copied().unwrap_or(MOST_SEVERE.len()) == wanted;
        (0..BARS).filter(is_wanted).map(|bar| format!("M{} 0h3v20h-3z", bar * SLOT)).collect()
    };
    let kinds = MOST_SEVERE.into_iter().map(Some).chain([None]).enumerate();
    let paths = kinds.map(|(rank, kind)| json!({ "kind": kind, "path": path(rank) }));
    paths.filter(|path| path["path"] != "").collect()
}
