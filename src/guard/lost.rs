//! A ledger that has lost rows. Where `policy.on_failure` is open, the loss is reported once and accepted; where it is
//! closed, actions are denied until an operator accepts it.

use chrono::{DateTime, Utc};

use crate::machine::environment::Environment;
use crate::machine::notify;
use crate::machine::notify::apprise::Target;
use crate::machine::warning::Warning;
use opsctl_ledger::file::mark::LedgerLoss;
use opsctl_ledger::{Change, Result};
use opsctl_policy::model::records::event::{Level, NewEvent};
use opsctl_policy::model::rights::policy::{OnFailure, Policy};
use opsctl_policy::texts::notices::ledger_lost;

/// Commits a change of budgets and marks what the ledger holds then. A loss that was found before the change is recorded
/// as a critical event, with a notice to the operators, unless the policy keeps it open.
pub fn commit(
    change: Change<'_>,
    loss: Option<LedgerLoss>,
    (policy, session): (&Policy, Option<&str>),
    environment: &Environment,
    now: DateTime<Utc>,
) -> Result<Vec<Warning>> {
    let state_dir = &environment.state_dir;
    let Some(loss) = loss else {
        change.commit_and_mark(state_dir, None)?;
        return Ok(vec![]);
    };
    if policy.on_failure == OnFailure::Closed {
        change.commit()?;
        return Ok(vec![Warning::LedgerLost(loss)]);
    }
    let event = NewEvent { level: Level::Critical, service: None, message: format!("Actions lost: {loss}") };
    change.add_event(session, &event, now)?;
    let notice = ledger_lost(&loss.to_string(), session, now);
    let raised = change.raise(session, &notice, Target::of(environment).is_some(), now)?;
    change.commit_and_mark(state_dir, Some(now))?;
    let unsent = raised.and_then(|id| notify::hand_over(environment, id));
    Ok(std::iter::once(Warning::LedgerLost(loss)).chain(unsent).collect())
}
