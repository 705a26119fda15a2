//! What a person needs to answer a question, and what became of its call.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::state::Desk;
use crate::guard::budgets::{KindBudget, ServiceBudget};
use crate::pages::report::filter::host_of;
use crate::pages::report::format::{local, plain, took, with};
use opsctl_ledger::records::outcomes::CallOutcome;
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::records::question::{Question, QuestionState};

/// A result that is not complete is waited for until this time after the approval, and a later check is not one of it.
const PATIENCE: TimeDelta = TimeDelta::hours(1);

/// An action as the audit describes it: `a restart (`docker restart jellyfin`, on nas through ssh)`.
pub struct Described<'a> {
    /// The kind, such as `restart`.
    pub kind: &'a str,
    /// What it runs.
    pub evidence: Option<&'a str>,
    /// The host, and the programs through which it runs there, such as `on nas through ssh`.
    pub place: Option<&'a str>,
}

impl<'a> Described<'a> {
    /// Reads a description.
    pub fn of(text: &'a str) -> Self {
        let text = text.strip_prefix("a ").unwrap_or(text);
        let parts = text.split_once(" (`").and_then(|(kind, rest)| {
            let (evidence, place) = rest.strip_suffix(')')?.rsplit_once('`')?;
            Some(Self { kind, evidence: Some(evidence), place: place.strip_prefix(", ") })
        });
        let plain = || {
            let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
            Self { kind, evidence: None, place: rest.rfind("on ").and_then(|at| rest.get(at..)) }
        };
        parts.unwrap_or_else(plain)
    }

    /// The host.
    pub fn host(&self) -> Option<&'a str> {
        self.place?.strip_prefix("on ")?.split(' ').next()
    }
}

/// The hosts of a question's actions, each once; that of its service if no action names one.
fn hosts(question: &Question, inventory: &Inventory) -> Vec<String> {
    let stated = question.actions.iter().filter_map(|action| Described::of(action).host());
    let mut hosts: Vec<String> = stated.map(plain).collect();
    hosts.dedup();
    if hosts.is_empty() {
        hosts.extend(question.service.as_deref().and_then(|service| host_of(inventory, service)).map(plain));
    }
    hosts
}

/// The budgets of a question's service that its actions use: before, and after an approval.
fn budgets(question: &Question, budgets: &[ServiceBudget]) -> Vec<Value> {
    let Some(service) = question.service.as_deref() else { return vec![] };
    let is_its = |budget: &&ServiceBudget| {
        budget.service == service && (budget.agent.is_none() || budget.agent == question.agent)
    };
    let Some(budget) = budgets.iter().find(is_its) else { return vec![] };
    let kinds: [(&str, &KindBudget); 2] =
        [("restart", &budget.restart), ("redeployment", &budget.redeployment)];
    let used = kinds.into_iter().filter_map(|(kind, of_kind)| {
        let count = question.actions.iter().filter(|action| Described::of(action).kind == kind).count();
        let after = of_kind.used + count;
        (count > 0).then(|| {
            json!({ "kind": kind, "used": of_kind.used, "after": after, "limit": of_kind.limit, "window": of_kind.window.to_string() })
        })
    });
    used.collect()
}

/// A time of day with its offset; with the date if it is not today.
fn clock(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let (at, now) = (local(at), local(now));
    let form = if at.date_naive() == now.date_naive() { "%H:%M %:z" } else { "%-d %b %H:%M %:z" };
    at.format(form).to_string()
}

/// What became of the call of an approved question, as a sentence.
fn ran(outcome: &CallOutcome, now: DateTime<Utc>) -> String {
    let Some(at) = outcome.ran_at else {
        return match outcome.state.as_str() {
            "released" => "It did not run.".to_owned(),
            _ => "It is running.".to_owned(),
        };
    };
    let message = outcome.message.as_deref().unwrap_or_default();
    let why = || message.split_once("failed (")?.1.split_once("): ").map(|(why, _)| plain(why));
    let result = match outcome.state.as_str() {
        "done" if message.starts_with("Tool ") => "succeeded".to_owned(),
        "done" => "exit code 0".to_owned(),
        "failed" => why().map_or("failed".to_owned(), |why| format!("failed: {why}")),
        _ => "outcome unknown".to_owned(),
    };
    let checked = match (outcome.healthy, outcome.checked_at) {
        (Some(healthy), Some(checked)) if checked - at < PATIENCE => {
            let after = took((checked - at).num_milliseconds());
            format!(", {} after {after}", if healthy { "healthy" } else { "unhealthy" })
        }
        _ => String::new(),
    };
    format!("Ran at {}, {result}{checked}.", clock(at, now))
}

/// Whether a call failed, or left its service unhealthy.
fn is_bad(outcome: &CallOutcome) -> bool {
    let is_its_check = || outcome.checked_at.zip(outcome.ran_at).is_some_and(|(at, ran)| at - ran < PATIENCE);
    outcome.state == "failed" || outcome.healthy == Some(false) && is_its_check()
}

/// What a page shows of a question besides its own fields.
pub fn details(
    desk: &Desk,
    ledger: &Ledger,
    inventory: &Inventory,
    all: &[ServiceBudget],
    (question, now): (&Question, DateTime<Utc>),
) -> Result<Value> {
    let log = ledger.log_of(&question.session)?;
    let no_log = match &log {
        None => Some("There is no log: opsctl did not start this session."),
        Some(path) if !super::logs::exists(&desk.environment().results_dir(), path) => {
            Some("There is no log: it is not in the results folder of the guard.")
        }
        Some(_) => None,
    };
    let shown = outcome(ledger, (question, now))?;
    let more = json!({
        "hosts": hosts(question, inventory),
        "budgets": if question.state == QuestionState::Open { budgets(question, all) } else { vec![] },
        "no_log": no_log,
    });
    Ok(with(shown, more))
}

/// What became of an answered question.
pub fn outcome(ledger: &Ledger, (question, now): (&Question, DateTime<Utc>)) -> Result<Value> {
    let is_used = question.state == QuestionState::Used;
    let outcome = if is_used { ledger.outcome_of_call(&question.session, &question.call)? } else { None };
    let is_complete = outcome.as_ref().is_some_and(|outcome| outcome.healthy.is_some());
    let is_recent = question.answered_at.is_some_and(|at| now - at < PATIENCE);
    let is_pending = is_recent && (question.state == QuestionState::Approved || is_used && !is_complete);
    Ok(json!({
        "ran": outcome.as_ref().map(|outcome| ran(outcome, now)).or_else(|| is_used.then(|| "It has run.".to_owned())),
        "is_bad": outcome.as_ref().is_some_and(is_bad),
        "answered_clock": question.answered_at.map(|at| clock(at, now)),
        "is_pending": is_pending,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_descriptions_of_actions() {
        let parts = |text| {
            let Described { kind, evidence, .. } = Described::of(text);
            (kind, evidence, Described::of(text).host())
        };
        assert_eq!(
            parts("a restart (`docker restart jellyfin`, on nas through ssh)"),
            ("restart", Some("docker restart jellyfin"), Some("nas"))
        );
        assert_eq!(parts("a redeployment (`up -d`)"), ("redeployment", Some("up -d"), None));
        assert_eq!(parts("restart of jellyfin on ie01"), ("restart", None, Some("ie01")));
    }

    #[test]
    fn an_outcome_is_a_sentence() {
        let now = "2026-03-21T14:00:00Z".parse().unwrap();
        let at = now - TimeDelta::minutes(1);
        let of = |state: &str, healthy: Option<bool>, message: &str| CallOutcome {
            state: state.into(),
            ran_at: Some(at),
            healthy,
            checked_at: healthy.map(|_| at + TimeDelta::seconds(12)),
            message: Some(message.into()),
            ..CallOutcome::default()
        };
        let sentence = |outcome: CallOutcome| ran(&outcome, now).replace(&clock(at, now), "AT");
        assert_eq!(sentence(of("done", Some(true), "")), "Ran at AT, exit code 0, healthy after 12s.");
        let failed = of("failed", None, "Container restart failed (exit code 1): docker restart x");
        assert_eq!(sentence(failed), "Ran at AT, failed: exit code 1.");
        assert_eq!(
            sentence(of("unknown", Some(false), "")),
            "Ran at AT, outcome unknown, unhealthy after 12s."
        );
        assert_eq!(
            ran(&CallOutcome { state: "reserved".into(), ..CallOutcome::default() }, now),
            "It is running."
        );
    }
}
