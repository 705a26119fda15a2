//! A call, and the end of a session: what the ledger records of them, now or after it could not be used.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::guard::acting::ActingCall;
use crate::guard::{failures, lost};
use crate::machine::environment::Environment;
use crate::machine::unreported::{self, Unreported};
use crate::machine::warning::Warning;
use opsctl_ledger::{CallId, Ledger, Open, Result, Scope, Settled};
use opsctl_policy::decide::{BudgetKey, Draw, draws, reservations_of};
use opsctl_policy::model::records::event::{NewEvent, ToolResult};
use opsctl_policy::model::records::session::Activity;
use opsctl_policy::model::rights::policy::{Policy, Tier};
use opsctl_policy::texts::report;
use opsctl_policy::texts::session::state;
use opsctl_reader::terms::action::ActionKind;

/// A call that has run, or that was allowed without the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The session.
    pub session: Option<String>,
    /// The client's id of the call.
    pub tool_use: Option<String>,
    /// Its actions as text.
    pub evidence: String,
    /// What it takes from budgets.
    pub draws: Vec<Draw>,
    /// The event of each action.
    pub events: Vec<NewEvent>,
    /// Whether a message was sent to people.
    pub is_report: bool,
    /// How it ended; `None` if it was allowed, and no hook has reported it yet.
    pub result: Option<ToolResult>,
    /// The tier of the session.
    pub tier: Option<Tier>,
    /// When it ran, or was allowed, by the clock of this machine.
    pub at: DateTime<Utc>,
    /// Whether `cooldown.json` has it.
    #[serde(default = "yes")]
    pub in_file: bool,
    /// Whether it is recorded later than it ran, as every call that is kept in a file.
    #[serde(skip, default = "yes")]
    pub is_late: bool,
}

const fn yes() -> bool {
    true
}

impl Finished {
    /// A call that has just run, or that is allowed now.
    pub fn of(acting: &ActingCall<'_>, result: Option<&ToolResult>) -> Self {
        let is_message = |kind| kind == ActionKind::Notification;
        Self {
            session: acting.id.session.map(str::to_owned),
            tool_use: acting.id.tool_use.map(str::to_owned),
            evidence: acting.evidence(),
            draws: draws(&acting.actions, &acting.installation.policy),
            events: result.map_or_else(Vec::new, |result| {
                acting.actions.iter().map(|action| report::event(action, result)).collect()
            }),
            is_report: result == Some(&ToolResult::Succeeded)
                && acting.actions.iter().any(|action| is_message(action.action.kind)),
            result: result.cloned(),
            tier: acting.tier,
            at: acting.now,
            in_file: false,
            is_late: false,
        }
    }

    /// The session, and the client's id of the call.
    pub fn call(&self) -> (Option<String>, Option<String>) {
        (self.session.clone(), self.tool_use.clone())
    }

    /// Records it in the ledger, once. Returns the budgets that it has drawn on, and the time in the
    /// ledger.
    pub fn record(
        &self,
        policy: &Policy,
        environment: &Environment,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Vec<BudgetKey>, DateTime<Utc>)> {
        let has_run = self.result.is_some();
        if has_run && self.events.is_empty() && environment.ledger.is_missing() {
            return Ok((vec![], self.at));
        }
        let session = self.session.as_deref();
        let id = CallId { session, tool_use: self.tool_use.as_deref() };
        let mut keys: Vec<BudgetKey> = self.draws.iter().map(|draw| draw.key.clone()).collect();
        keys.sort();
        keys.dedup();
        let mut ledger = Ledger::open(&environment.ledger)?;
        let change = ledger.change_in(Scope::Of { budgets: &keys, call: Some(id) })?;
        let now = change.now(self.at);
        // A clock that is ahead must not keep a budget used.
        let at = if self.is_late { self.at.min(now) } else { now };
        if has_run && self.events.is_empty() && !change.has_reserved(id)? {
            return Ok((vec![], at));
        }
        let lost = change.loss(&environment.state_dir)?;
        let snapshot = change.usage(&keys, policy, at)?;
        let actions = reservations_of(self.draws.clone(), &snapshot);
        let settled = match &self.result {
            Some(result) => change.settle(id, &self.evidence, &actions, result, self.tier, at)?,
            None => change.reserve_once(id, &actions, at)?,
        };
        let Settled::Now(counted) = settled else { return Ok((vec![], at)) };
        if let CallId { session: Some(session), tool_use: Some(id) } = id {
            change.use_terminal_question(session, id, at)?;
        }
        for event in &self.events {
            change.add_event(session, event, at)?;
        }
        if let Some(session) = session.filter(|_| self.is_report) {
            change.note_report(session, at)?;
        }
        let kept = failures::record_kept(&change, environment)?;
        if !self.is_late {
            change.note_time("post-tool-use", environment.started.elapsed(), at)?;
        }
        warnings.extend(lost::commit(change, lost, (policy, session), environment, now)?);
        if let Some(kept) = kept {
            kept.remove();
        }
        Ok((counted, at))
    }

    /// The budgets that it counts against while the ledger cannot be used.
    pub fn counted_alone(&self) -> Vec<BudgetKey> {
        let reservations = reservations_of(self.draws.clone(), &[].into());
        reservations.into_iter().filter(|taken| taken.counts).map(|taken| taken.key).collect()
    }
}

/// The end of a session, whose open reservations are settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The session.
    pub session: String,
    /// Why it ended, as the client states it; `None` if it goes on with a new context.
    pub reason: Option<String>,
    /// Its calls that the client has refused.
    pub refused: Vec<String>,
    /// When it ended.
    pub at: DateTime<Utc>,
}

impl Ended {
    /// Records it after the ledger could not be used. Reservations since then stay, and so does a session that goes on.
    pub fn record_late(&self, environment: &Environment) -> Result<()> {
        let unreported = Ledger::write(&environment.ledger, |change| {
            let mut unreported = Unreported::default();
            // A clock that is ahead must not settle what was reserved since.
            let at = self.at.min(change.now(self.at));
            change.release_calls(&self.session, &self.refused)?;
            let open = Open::Until(&self.session, at);
            unreported.settle(change, open, unreported::SESSION_ENDED, environment, at)?;
            if !change.is_seen_after(&self.session, at)? {
                change.release_leases(&self.session)?;
                // A session that began while the ledger could not be used has no row.
                let is_known = change.is_seen_after(&self.session, DateTime::UNIX_EPOCH)?;
                if let Some(reason) = self.reason.as_ref().filter(|_| is_known) {
                    let ended = Activity::Ended { reason: Some(reason) };
                    change.record_activity(&self.session, &ended, at)?;
                    change.set_state(&self.session, state(change.activity_times(&self.session)?))?;
                }
            }
            Ok(unreported)
        })?;
        // A notice that is not delivered now waits for the next flush.
        let _ = unreported.publish(environment);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::records::event::Level;
    use opsctl_reader::terms::action::Verb;

    #[test]
    fn a_call_is_kept_as_it_was() {
        let key = BudgetKey { service: "jellyfin".into(), kind: "restart" };
        let finished = Finished {
            session: Some("s".into()),
            tool_use: Some("t1".into()),
            evidence: "docker stop jellyfin".into(),
            draws: vec![Draw { key, verb: Verb::Stop, host: Some("ie01".into()) }],
            events: vec![NewEvent { level: Level::Warning, service: None, message: "x".into() }],
            is_report: true,
            result: Some(ToolResult::Failed("exit code 1".into())),
            tier: Some(Tier::Remediate),
            at: "2026-03-21T14:22:00Z".parse().unwrap(),
            in_file: true,
            is_late: true,
        };
        let text = serde_json::to_string(&finished).unwrap();
        assert_eq!(serde_json::from_str::<Finished>(&text).unwrap(), finished);
        let later = text.replace("\"stop\"", "\"teleport\"");
        assert!(serde_json::from_str::<Finished>(&later).is_err());
    }
}
