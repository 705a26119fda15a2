//! What needs attention, and whether enough was looked at to say that nothing does: one answer for the status, the report, the
//! desk and doctor.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::report::format::{count, plain};
use crate::guard::budgets::ServiceBudget;
use opsctl_ledger::LastCheck;
use opsctl_ledger::records::notices::Problem;
use opsctl_ledger::sessions::client_runs::Run;
use opsctl_probe::hosts::PingedHost;
use opsctl_probe::icmp::Reachability;

/// The maximum number of listed items; further ones are counted.
const MOST: usize = 12;

/// What is known of an installation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The time.
    pub now: DateTime<Utc>,
    /// Whether there is a ledger.
    pub has_ledger: bool,
    /// Why the ledger cannot be used.
    pub ledger_error: Option<&'a str>,
    /// The number of open questions to a person.
    pub questions: usize,
    /// The number of guard failures that are not recorded.
    pub guard_failures: usize,
    /// The number of commands of the last day that could not be checked, and the time of the latest.
    pub unchecked: (usize, Option<DateTime<Utc>>),
    /// The critical notices of the last day.
    pub problems: &'a [Problem],
    /// The number of undelivered notices of the last day.
    pub undelivered: u32,
    /// The reachability of hosts; `None` if it was not checked.
    pub hosts: Option<&'a [PingedHost]>,
    /// Whether the inventory lists hosts.
    pub lists_hosts: bool,
    /// The last check of each service.
    pub checks: &'a [LastCheck],
    /// The usage of budgets.
    pub budgets: &'a [ServiceBudget],
    /// The latest session.
    pub last_run: Option<&'a Run>,
}

/// What needs attention.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Attention {
    /// A sentence.
    pub headline: String,
    /// `calm`, `alert`, or `unseen`: nothing needs attention as far as is known.
    pub look: &'static str,
    /// The urgent things first.
    pub items: Vec<Item>,
    /// The number of things that are not listed.
    pub more: usize,
}

/// One thing that needs attention.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Item {
    /// Shown in red rather than amber.
    urgent: bool,
    what: &'static str,
    text: String,
    at: Option<DateTime<Utc>>,
    /// A word before the time, such as `next`.
    lead: &'static str,
    /// A command for details or for a remedy.
    remedy: Option<&'static str>,
    agent: Option<String>,
}

impl Attention {
    /// What needs attention, of what is known.
    pub fn of(known: &Known<'_>) -> Self {
        let mut items = urgent(known);
        items.extend(less_urgent(known));
        let more = items.len().saturating_sub(MOST);
        let unseen = unseen(known);
        let headline = match items.len() {
            0 if !unseen.is_empty() => format!("Nothing known needs attention: {}", unseen.join(", ")),
            0 => "Nothing needs attention".to_owned(),
            1 => "One thing needs attention".to_owned(),
            number => format!("{number} things need attention"),
        };
        let look = if !items.is_empty() {
            "alert"
        } else if unseen.is_empty() {
            "calm"
        } else {
            "unseen"
        };
        items.truncate(MOST);
        Self { headline, look, items, more }
    }
}

impl Attention {
    /// The first thing, as text.
    pub fn first(&self) -> Option<&str> {
        self.items.first().map(|item| item.text.as_str())
    }
}

/// What was not looked at.
fn unseen(known: &Known<'_>) -> Vec<&'static str> {
    let hosts_unseen = known.hosts.is_none() && known.lists_hosts;
    let ledger = (!known.has_ledger).then_some("no ledger yet");
    ledger.into_iter().chain(hosts_unseen.then_some("hosts not checked")).collect()
}

fn urgent(known: &Known<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    let urgent = |what, text| Item { urgent: true, what, text, ..Item::default() };
    if let Some(error) = known.ledger_error {
        items.push(urgent("ledger", plain(error)));
    }
    if known.questions > 0 {
        let text = format!("{} for an answer", count(known.questions, "question waits", "questions wait"));
        items.push(Item { remedy: Some("opsctl approvals"), ..urgent("question", text) });
    }
    if known.guard_failures > 0 {
        let text = format!(
            "{} not recorded: the ledger cannot be used",
            count(known.guard_failures, "failure of the guard is", "failures of the guard are")
        );
        items.push(Item { remedy: Some("opsctl doctor"), ..urgent("guard", text) });
    }
    if let (unchecked @ 1.., at) = known.unchecked {
        let text =
            format!("{} could not be checked in the last day", count(unchecked, "command", "commands"));
        let remedy = Some("opsctl audit --rule on_failure");
        items.push(Item { at, remedy, ..urgent("guard", text) });
    }
    for problem in known.problems {
        let agent = problem.agent.clone();
        items.push(Item { at: problem.at, agent, ..urgent("problem", plain(&problem.title)) });
    }
    for found in known.hosts.into_iter().flatten() {
        let state = match found.reachability {
            Reachability::Unreachable => "does not answer",
            Reachability::Unresolved => "has no address",
            Reachability::Reachable(_) | Reachability::Unknown => continue,
        };
        let text = format!("{} ({}) {state}", plain(&found.name), plain(&found.address));
        items.push(urgent("host", text));
    }
    let since = last_day(known.now);
    for LastCheck { service, at, .. } in
        known.checks.iter().filter(|check| !check.healthy && check.at > since)
    {
        let is_stated = known.problems.iter().any(|problem| problem.title.contains(service.as_str()));
        if !is_stated {
            let text = format!("{} is unhealthy", plain(service));
            items.push(Item { at: Some(*at), remedy: Some("opsctl verify"), ..urgent("service", text) });
        }
    }
    if known.undelivered > 0 {
        let text = format!("{} not delivered", count(known.undelivered as usize, "notice", "notices"));
        items.push(Item { remedy: Some("opsctl notify"), ..urgent("notice", text) });
    }
    items
}

fn less_urgent(known: &Known<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    for budget in known.budgets {
        for (kind, of_kind) in [("restart", &budget.restart), ("redeployment", &budget.redeployment)] {
            if let Some(next) = of_kind.next_allowed {
                let text = format!("{} has no {kind} left", plain(&budget.name()));
                let what = "cooldown";
                items.push(Item { what, text, at: Some(next), lead: "next ", ..Item::default() });
            }
        }
    }
    // A failed session needs no attention once a later one has completed.
    if let Some(run) = known.last_run.filter(|run| went_wrong(run)) {
        let outcome = run.outcome.replace('_', " ");
        let text = format!("The latest session (tier {}) ended: {}", run.tier, plain(&outcome));
        let (remedy, agent) = (Some("opsctl events --level critical"), run.agent.clone());
        items.push(Item { what: "session", text, at: run.started_at, remedy, agent, ..Item::default() });
    }
    items
}

fn went_wrong(run: &Run) -> bool {
    !matches!(run.outcome.as_str(), "completed" | "running" | "waiting")
}

/// The start of the last day.
pub fn last_day(now: DateTime<Utc>) -> DateTime<Utc> {
    now - TimeDelta::days(1)
}
