//! Calls that were allowed and whose result no hook has reported: what the client refused is released, and everything else
//! counts as an action of unknown outcome, which needs a person's attention.

use chrono::{DateTime, TimeDelta, Utc};

use super::environment::Environment;
use super::notify;
use super::warning::Warning;
use opsctl_ledger::cooldown::cooldown_edit::{self, Edit};
use opsctl_ledger::{Change, Ledger, Open, Result, UnknownOutcome};
use opsctl_policy::model::rights::policy::{Policy, Tier};
use opsctl_policy::texts::{notices, report};

/// How a session ended before the results of its calls were reported.
pub const SESSION_ENDED: &str = "the session ended before it was reported";

/// The hook after the call has not run, or has failed.
pub const NOT_REPORTED: &str = "no hook has reported it";

/// What is left to do once the actions are settled in the ledger.
#[derive(Debug, Default)]
#[must_use]
pub struct Unreported {
    actions: Vec<UnknownOutcome>,
    notices: Vec<i64>,
}

impl Unreported {
    /// Counts open reservations as actions of unknown outcome, with an event for each, and a notice for each session.
    pub fn settle(
        &mut self,
        change: &Change<'_>,
        open: Open<'_>,
        why: &str,
        environment: &Environment,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let mut actions = change.settle_unknown(open, why, now)?;
        for action in &actions {
            let UnknownOutcome { key, verb, host, session, .. } = action;
            let event = report::outcome_unknown(verb, &key.service, host.as_deref(), why);
            change.add_event(session.as_deref(), &event, now)?;
        }
        for of_session in actions.chunk_by(|one, other| one.session == other.session) {
            let session = of_session.first().and_then(|action| action.session.as_deref());
            let lines: Vec<String> = of_session
                .iter()
                .map(|UnknownOutcome { key, verb, host, .. }| {
                    report::done_on(verb, &key.service, host.as_deref())
                })
                .collect();
            let services: Vec<&str> = of_session.iter().map(|action| action.key.service.as_str()).collect();
            let notice = notices::outcome_unknown(&lines, &services, why, session);
            self.notices.extend(change.raise(session, &notice, notify::has_target(environment), now)?);
        }
        self.actions.append(&mut actions);
        Ok(())
    }

    /// Updates `cooldown.json`, and delivers the notices. Call it after the commit.
    pub fn publish(self, environment: &Environment) -> Vec<Warning> {
        let counted = self.actions.iter().filter(|action| action.counts);
        let edits: Vec<(&str, Edit)> = counted
            .map(|UnknownOutcome { key, at, .. }| {
                (key.service.as_str(), Edit::Add { kind: key.kind, at: *at, success: false })
            })
            .collect();
        let edited = cooldown_edit::edit(&environment.cooldown_file(), &edits);
        let unsent = self.notices.into_iter().filter_map(|id| notify::hand_over(environment, id));
        edited.err().map(Warning::from).into_iter().chain(unsent).collect()
    }
}

/// The time after the deadline of its session at which a call no longer runs.
const TO_END: TimeDelta = TimeDelta::minutes(5);

/// Settles what sessions have left that were cut off: those of `opsctl session` that still run after their deadline, and
/// reservations that are older than the longest deadline.
pub fn settle_overdue(
    environment: &Environment,
    policy: &Policy,
    now: DateTime<Utc>,
) -> Result<Vec<Warning>> {
    let deadlines = Tier::ALL.map(|tier| (tier, now - policy.tier(tier).deadline.delta() - TO_END));
    let earliest = deadlines.iter().map(|(_, at)| *at).min().unwrap_or(now);
    match Ledger::open_existing(&environment.ledger)? {
        Some(ledger) if ledger.has_overdue(&deadlines, earliest)? => {}
        _ => return Ok(vec![]),
    }
    let unreported = Ledger::write(&environment.ledger, |change| {
        let mut unreported = Unreported::default();
        change.cut_off_runs(&deadlines)?;
        unreported.settle(change, Open::Before(earliest), SESSION_ENDED, environment, now)?;
        Ok(unreported)
    })?;
    Ok(unreported.publish(environment))
}
