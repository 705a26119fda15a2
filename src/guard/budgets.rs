//! The budgets of all services at one time, for verbs and the session context; hooks read only those of a call.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};

use crate::guard::kept::Beside;
use crate::machine::environment::Environment;
use crate::machine::warning::Warning;
use opsctl_inventory::Installation;
use opsctl_ledger::cooldown::cooldown_file::CooldownFileError;
use opsctl_ledger::time as ledger_time;
use opsctl_ledger::{Ledger, LedgerError};
use opsctl_policy::budgets::budget::{Fit, fit};
use opsctl_policy::decide::{BudgetKey, Budgets, Snapshot};
use opsctl_policy::model::rights::policy::{Budget, Per, Policy, Window};

/// The budgets of one service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceBudget {
    /// The service.
    pub service: String,
    /// The agent whose budgets they are; `None`: those of all agents together, or of the only agent.
    pub agent: Option<String>,
    /// Whether `hosts.yaml` lists it, or lists no service at all.
    pub listed: bool,
    /// Its restarts.
    pub restart: KindBudget,
    /// Its redeployments.
    pub redeployment: KindBudget,
}

/// One budget of a service: its limit and what counts towards it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindBudget {
    /// The number of actions that count now.
    pub used: usize,
    /// The maximum number of actions within the window.
    pub limit: u32,
    /// The window.
    #[serde(serialize_with = "in_words")]
    pub window: Window,
    /// When the next one is allowed; `None` if it is allowed now, or never.
    #[serde(serialize_with = "ledger_time::serialize")]
    pub next_allowed: Option<DateTime<Utc>>,
    /// The actions that count now, newest first.
    #[serde(serialize_with = "times")]
    pub entries: Vec<DateTime<Utc>>,
}

fn in_words<S: Serializer>(window: &Window, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(window)
}

fn times<S: Serializer>(times: &[DateTime<Utc>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(times.iter().copied().map(ledger_time::write))
}

impl KindBudget {
    fn new(budget: Budget, entries: Vec<DateTime<Utc>>) -> Self {
        let next_allowed = match fit(&entries, &budget, 1) {
            Fit::From(time) => Some(time),
            Fit::Fits | Fit::Never => None,
        };
        Self { used: entries.len(), limit: budget.limit, window: budget.window, next_allowed, entries }
    }
}

impl ServiceBudget {
    /// A service with unused budgets.
    pub fn unused(service: &str, policy: &Policy) -> Self {
        Self::of((service, true), &Snapshot::new(), policy, DateTime::UNIX_EPOCH)
    }

    fn of((service, listed): (&str, bool), snapshot: &Snapshot, policy: &Policy, now: DateTime<Utc>) -> Self {
        let budgets = Budgets { policy, usage: snapshot, now };
        let kind = |kind: &'static str, budget: Budget| {
            KindBudget::new(budget, budgets.counted(&BudgetKey { service: service.to_owned(), kind }))
        };
        Self {
            service: service.to_owned(),
            agent: None,
            listed,
            restart: kind("restart", policy.restart),
            redeployment: kind("redeployment", policy.redeployment),
        }
    }

    /// The service, and the agent whose budgets they are.
    pub fn name(&self) -> String {
        match &self.agent {
            Some(agent) => format!("{} (agent {agent})", self.service),
            None => self.service.clone(),
        }
    }

    /// Whether anything counts now.
    pub fn in_use(&self) -> bool {
        !self.restart.entries.is_empty() || !self.redeployment.entries.is_empty()
    }

    /// When the next counted action leaves its window; `None` if nothing counts.
    pub fn next_reset(&self) -> Option<DateTime<Utc>> {
        [&self.restart, &self.redeployment]
            .into_iter()
            .filter_map(|kind| kind.entries.last().map(|oldest| *oldest + kind.window.delta()))
            .min()
    }

    /// When the first exhausted budget has a place again; `None` if no budget is exhausted.
    pub fn cooldown_until(&self) -> Option<DateTime<Utc>> {
        [self.restart.next_allowed, self.redeployment.next_allowed].into_iter().flatten().min()
    }

    /// One line, with times as `time` shows them.
    pub fn in_words(&self, time: fn(DateTime<Utc>) -> String) -> String {
        let Self { restart, redeployment, .. } = self;
        let service = self.name();
        let Some(next) = self.next_reset() else {
            return format!("{service}: {}", self.idle_in_words());
        };
        let mut words = format!(
            "{service}: {}/{} restarts ({}), {}/{} redeployments ({}) — next reset: {}",
            restart.used,
            restart.limit,
            restart.window,
            redeployment.used,
            redeployment.limit,
            redeployment.window,
            time(next),
        );
        for (kind, budget) in [("restart", restart), ("redeployment", redeployment)] {
            if let Some(next) = budget.next_allowed {
                words.push_str(&format!("; no {kind} before {}", time(next)));
            }
        }
        words
    }

    /// The limits, as the session context shows an unused service.
    pub fn idle_in_words(&self) -> String {
        format!("0/{} restarts, 0/{} redeployments", self.restart.limit, self.redeployment.limit)
    }
}

/// The usage of all budgets in the ledger and in `cooldown.json`, and the time of the ledger; `None` if neither exists.
pub fn snapshot(
    environment: &Environment,
    installation: &Installation,
    now: DateTime<Utc>,
    warnings: &mut Vec<Warning>,
) -> Option<(Snapshot, DateTime<Utc>)> {
    let policy = &installation.policy;
    let (beside, file_error) = Beside::read(environment, &installation.inventory);
    let read = || {
        let Some(ledger) = Ledger::open_existing(&environment.ledger)? else {
            return Ok((None, now, Cow::Borrowed(&beside)));
        };
        let now = ledger.now(now)?;
        let unknown = beside.without(|call| ledger.has_call(call))?;
        Ok((ledger.usage_of_all(policy, None, now)?, now, unknown))
    };
    let (usage, now, beside) = read().unwrap_or_else(|error: LedgerError| {
        warnings.push(error.into());
        (None, now, Cow::Borrowed(&beside))
    });
    let has_file = file_error.is_none();
    // A missing file is not a problem.
    let is_problem = |error: &CooldownFileError| !matches!(error, CooldownFileError::Missing(_));
    warnings.extend(file_error.filter(is_problem).map(Warning::from));
    let keys = beside.keys();
    if usage.is_none() && !has_file && keys.is_empty() {
        return None;
    }
    let mut usage = usage.unwrap_or_default();
    let names = || installation.inventory.services.iter().map(|service| &service.name);
    // Of names that hosts.yaml does not list, those of which something counts.
    usage.retain(|key, usage| {
        names().any(|name| *name == key.service) || !usage.counted(key.budget(policy), now).is_empty()
    });
    // Every service of the file is listed, used or not: operators look for them here.
    beside.merge(&mut usage, &keys);
    Some((usage, now))
}

/// The most urgent first: services in cooldown, by its end; then those with usage; then the others. Equal ones are in the
/// order of the inventory.
pub fn in_order(installation: &Installation, snapshot: &Snapshot, now: DateTime<Utc>) -> Vec<ServiceBudget> {
    let listed = installation.inventory.services.iter().map(|service| service.name.as_str());
    let mut names: Vec<(&str, bool)> = listed.map(|name| (name, true)).collect();
    let known: std::collections::BTreeSet<&str> = names.iter().map(|(name, _)| *name).collect();
    let mut others: Vec<&str> =
        snapshot.keys().map(|key| key.service.as_str()).filter(|name| !known.contains(name)).collect();
    others.dedup();
    let is_listed = known.is_empty();
    names.extend(others.into_iter().map(|name| (name, is_listed)));
    let mut budgets: Vec<ServiceBudget> =
        names.into_iter().map(|name| ServiceBudget::of(name, snapshot, &installation.policy, now)).collect();
    budgets.sort_by_key(|budget| match budget.cooldown_until() {
        Some(until) => (0, Some(until)),
        None if budget.in_use() => (1, None),
        None => (2, None),
    });
    budgets
}

/// The budgets of every service that is in the inventory or has a history.
pub fn of_all(
    environment: &Environment,
    installation: &Installation,
    now: DateTime<Utc>,
    warnings: &mut Vec<Warning>,
) -> Vec<ServiceBudget> {
    let (snapshot, now) =
        snapshot(environment, installation, now, warnings).unwrap_or_else(|| (Snapshot::new(), now));
    in_order(installation, &snapshot, now)
}

/// The budgets of every service, for an operator: where a budget is per agent, those of `agent`, or of each agent of the
/// ledger that has used them.
pub fn of_agents(
    environment: &Environment,
    installation: &Installation,
    agent: Option<&str>,
    now: DateTime<Utc>,
    warnings: &mut Vec<Warning>,
) -> Vec<ServiceBudget> {
    let policy = &installation.policy;
    let is_per_agent = [policy.restart, policy.redeployment].iter().any(|budget| budget.per == Per::Agent);
    let agents = match agent {
        _ if !is_per_agent => vec![],
        Some(agent) => vec![agent.to_owned()],
        // An error is that of the usage.
        None => Ledger::read_at(&environment.ledger, Ledger::agents).unwrap_or_default(),
    };
    if agents.is_empty() {
        return of_all(environment, installation, now, warnings);
    }
    let mut budgets: Vec<ServiceBudget> = Vec::new();
    let mut idle: Option<Vec<ServiceBudget>> = None;
    for agent in agents {
        let mut of_agent = environment.clone();
        of_agent.ledger = of_agent.ledger.of_agent(agent.clone());
        let mut new = vec![];
        let (used, unused): (Vec<_>, Vec<_>) =
            of_all(&of_agent, installation, now, &mut new).into_iter().partition(ServiceBudget::in_use);
        if idle.is_none() {
            // The agents share a ledger and its problems.
            warnings.append(&mut new);
        }
        budgets.extend(used.into_iter().map(|budget| ServiceBudget { agent: Some(agent.clone()), ..budget }));
        idle = Some(match idle {
            None => unused,
            Some(idle) => idle.into_iter().filter(|budget| unused.contains(budget)).collect(),
        });
    }
    // The sort is stable: services in cooldown first.
    budgets.sort_by_key(|budget| {
        let until = budget.cooldown_until();
        (until.is_none(), until)
    });
    budgets.extend(idle.unwrap_or_default());
    budgets
}
