//! The section with what needs attention.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::data::ReportData;
use super::format::{count, plain};
use opsctl_ledger::records::decisions::Decision;
use opsctl_ledger::sessions::client_runs::Run;
use opsctl_probe::icmp::Reachability;

/// The maximum number of listed items; further ones are counted.
const MOST: usize = 12;

#[derive(Serialize)]
pub struct AttentionView {
    pub headline: String,
    /// `calm`, `alert`, or `unseen`: nothing needs attention as far as is known.
    pub look: &'static str,
    items: Vec<Item>,
    more: usize,
}

#[derive(Default, Serialize)]
struct Item {
    /// Shown in red rather than amber.
    urgent: bool,
    what: &'static str,
    text: String,
    at: Option<DateTime<Utc>>,
    /// A word before the time, such as `next`.
    lead: &'static str,
    /// A command for details or for a remedy.
    remedy: Option<&'static str>,
}

impl AttentionView {
    pub fn of(data: &ReportData<'_>) -> Self {
        let mut items = urgent(data);
        items.extend(less_urgent(data));
        let more = items.len().saturating_sub(MOST);
        let unseen = unseen(data);
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

/// What was not looked at.
fn unseen(data: &ReportData<'_>) -> Vec<&'static str> {
    let hosts_unseen = data.hosts.is_none() && !data.installation.inventory.hosts.is_empty();
    let ledger = (!data.has_ledger).then_some("no ledger yet");
    ledger.into_iter().chain(hosts_unseen.then_some("hosts not checked")).collect()
}

fn urgent(data: &ReportData<'_>) -> Vec<Item> {
    let now = data.now;
    let mut items = Vec::new();
    let urgent = |what, text| Item { urgent: true, what, text, ..Item::default() };
    if data.guard_failures > 0 {
        let text = format!(
            "{} not recorded: the ledger cannot be used",
            count(data.guard_failures, "failure is", "failures are")
        );
        items.push(Item { remedy: Some("opsctl doctor"), ..urgent("guard", text) });
    }
    let lately = |decision: &&Decision| {
        decision.verdict.starts_with("fail-") && decision.at.is_some_and(|at| now - at < TimeDelta::days(1))
    };
    let failed: Vec<_> = data.decisions.rows.iter().filter(lately).collect();
    if let Some(last) = failed.first() {
        let text =
            format!("{} could not be checked in the last day", count(failed.len(), "command", "commands"));
        let remedy = Some("opsctl audit --verdict fail-open");
        items.push(Item { at: last.at, remedy, ..urgent("guard", text) });
    }
    for problem in &data.problems {
        items.push(Item { at: problem.at, ..urgent("problem", plain(&problem.title)) });
    }
    for found in data.hosts.iter().flatten() {
        let state = match found.reachability {
            Reachability::Unreachable => "does not answer",
            Reachability::Unresolved => "has no address",
            Reachability::Reachable(_) | Reachability::Unknown => continue,
        };
        let text = format!("{} ({}) {state}", plain(&found.name), plain(&found.address));
        items.push(urgent("host", text));
    }
    if data.undelivered > 0 {
        let text = format!("{} not delivered", count(data.undelivered as usize, "notice", "notices"));
        items.push(Item { remedy: Some("opsctl notify"), ..urgent("notice", text) });
    }
    items
}

fn less_urgent(data: &ReportData<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    for budget in &data.budgets {
        for (kind, of_kind) in [("restart", &budget.restart), ("redeployment", &budget.redeployment)] {
            if let Some(next) = of_kind.next_allowed {
                let text = format!("{} has no {kind} left", plain(&budget.name()));
                let what = "cooldown";
                items.push(Item { what, text, at: Some(next), lead: "next ", ..Item::default() });
            }
        }
    }
    // A failed session needs no attention once a later one has completed.
    if let Some(run) = data.runs.rows.first().filter(|run| went_wrong(run)) {
        let outcome = run.outcome.replace('_', " ");
        let text = format!("The latest session (tier {}) ended: {}", run.tier, plain(&outcome));
        let remedy = Some("opsctl events --level critical");
        items.push(Item { what: "session", text, at: run.started_at, remedy, ..Item::default() });
    }
    items
}

fn went_wrong(run: &Run) -> bool {
    !matches!(run.outcome.as_str(), "completed" | "running" | "waiting")
}
