//! What the metrics state: the counters of the ledger, and the gauges.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::format::Sample;
use crate::guard::budgets::{KindBudget, ServiceBudget, of_agents};
use crate::guard::failures;
use crate::machine::environment::Environment;
use crate::machine::installation;
use opsctl_ledger::upkeep::counters::Counters;
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::decide::UNLISTED;
use opsctl_policy::model::rights::spend::Usd;
use opsctl_probe::hosts::{PingedHost, look};
use opsctl_probe::icmp::Reachability;

/// The timeout for pinging all hosts.
const HOSTS_DEADLINE: Duration = Duration::from_secs(1);

/// How long rows are counted that have not been counted yet.
const UPKEEP: Duration = Duration::from_secs(8);

/// Everything that the metrics state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values {
    /// The counters of the ledger; `None`: it cannot be read.
    pub counters: Option<Counters>,
    /// The samples of each gauge.
    pub gauges: BTreeMap<&'static str, Vec<Sample>>,
}

/// Reads the values. A ledger that cannot be read is one of them; what it would state is left out then.
pub fn read(environment: &Environment, now: DateTime<Utc>, ping_hosts: bool) -> Values {
    // `opsctl status` shows the warnings.
    let mut warnings = Vec::new();
    let installation = installation::in_force(environment, &mut warnings).installation;
    let budgets = of_agents(environment, &installation, None, now, &mut warnings);
    let listed = Some(&installation.inventory.hosts).filter(|_| ping_hosts);
    let hosts = listed.map(|hosts| look(hosts, HOSTS_DEADLINE).0).unwrap_or_default();
    let spend = installation.policy.spend;
    let limits = [("day", spend.day), ("session", spend.session)];
    let limit = |(name, limit): (&str, Option<Usd>)| Some(labelled("limit", name, limit?.dollars()));
    let gauges = BTreeMap::from([
        ("build_info", vec![labelled("version", env!("CARGO_PKG_VERSION"), 1.0)]),
        ("guard_failures_unrecorded", one(number(failures::kept(environment) as u64))),
        ("budget_used", of_budgets(&budgets, |kind| number(kind.used as u64))),
        ("budget_limit", of_budgets(&budgets, |kind| f64::from(kind.limit))),
        ("host_reachable", hosts.iter().filter_map(of_host).collect()),
        ("spend_limit_usd", limits.into_iter().filter_map(limit).collect()),
    ]);
    let mut values = Values { gauges, ..Values::default() };
    let is_readable = add_ledger(&mut values, environment, now).is_ok();
    values.gauges.insert("ledger_readable", one(number(is_readable.into())));
    values
}

fn add_ledger(values: &mut Values, environment: &Environment, now: DateTime<Utc>) -> Result<()> {
    let Some(ledger) = Ledger::open_existing(&environment.ledger)? else {
        for gauge in ["sessions_running", "questions_open", "notifications_undelivered", "spent_day_usd"] {
            values.gauges.insert(gauge, one(0.0));
        }
        values.counters = Some(Counters::default());
        return Ok(());
    };
    if ledger.counts_are_behind()? {
        // Where it cannot be written, all rows are counted each time.
        let _ = Ledger::tidy_at(&environment.ledger, None, UPKEEP, now, |_| true);
    }
    values.counters = Some(ledger.counters()?);
    let mut state = |gauge, value| values.gauges.insert(gauge, one(value));
    state("sessions_running", number(ledger.running_sessions()?));
    state("questions_open", number(ledger.open_questions(now)?));
    state("notifications_undelivered", f64::from(ledger.undelivered_notices(now)?));
    state("spent_day_usd", ledger.spent("", now)?.day.dollars());
    Ok(())
}

fn one(value: f64) -> Vec<Sample> {
    vec![Sample::new(vec![], value)]
}

fn labelled(label: &'static str, name: &str, value: f64) -> Sample {
    Sample::new(vec![(label, name.to_owned())], value)
}

/// A count as a value.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
pub const fn number(count: u64) -> f64 {
    count as f64
}

/// A sample for each listed service and kind, and one for the highest value of all other names: a session that invents names
/// shall not invent series.
fn of_budgets(budgets: &[ServiceBudget], value: impl Fn(&KindBudget) -> f64) -> Vec<Sample> {
    let mut highest: BTreeMap<(&str, &str, Option<&str>), f64> = BTreeMap::new();
    for budget in budgets {
        let service = if budget.listed { &budget.service } else { UNLISTED };
        for (kind, found) in [("restart", &budget.restart), ("redeployment", &budget.redeployment)] {
            let known = highest.entry((service, kind, budget.agent.as_deref())).or_default();
            *known = known.max(value(found));
        }
    }
    let sample = |((service, kind, agent), value): ((&str, &str, Option<&str>), f64)| {
        let mut labels = vec![("service", service.to_owned()), ("kind", kind.to_owned())];
        labels.extend(agent.map(|agent| ("agent", agent.to_owned())));
        Sample::new(labels, value)
    };
    highest.into_iter().map(sample).collect()
}

fn of_host(PingedHost { name, reachability, .. }: &PingedHost) -> Option<Sample> {
    match reachability {
        Reachability::Reachable(_) => Some(labelled("host", name, 1.0)),
        Reachability::Unreachable | Reachability::Unresolved => Some(labelled("host", name, 0.0)),
        Reachability::Unknown => None,
    }
}
