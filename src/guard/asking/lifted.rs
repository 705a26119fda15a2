//! What persons have lifted of the objections to a call.

use super::super::acting::ActingCall;
use super::{Outcome, Request, approved, grants};
use crate::ledger::{Change, LedgerError};
use crate::model::ask::Topic;
use crate::model::verdict::Reason;
use crate::policy::decide::{BudgetKey, Reservation, Snapshot, every_objection};
use crate::runtime::environment::Environment;
use crate::runtime::notify;

/// All objections to a call with this usage, and the reservations that it needs if a person lifts them.
pub fn objections(acting: &ActingCall<'_>, snapshot: &Snapshot) -> (Vec<Reason>, Vec<Reservation>) {
    let policy = &acting.installation.policy;
    let (more, reservations) = every_objection(&acting.actions, snapshot, policy, acting.tier, acting.now);
    (acting.objections.iter().cloned().chain(more).collect(), reservations)
}

/// What a person has lifted of a denial, or is asked to.
#[derive(Default)]
pub struct Lifted {
    /// `None`: nothing objects any more.
    pub outcome: Option<Outcome>,
    /// All objections.
    pub reasons: Vec<Reason>,
    /// What is reserved if the call may run.
    pub reservations: Vec<Reservation>,
    /// The grants that it uses.
    pub uses: grants::Uses,
    /// Who has allowed it.
    pub remark: Option<String>,
    /// The notice to deliver after the commit.
    pub notice: Option<i64>,
}

/// What persons have allowed of a call that the rules deny.
pub fn lifted(
    change: &Change<'_>,
    acting: &ActingCall<'_>,
    snapshot: &Snapshot,
    request: &Request<'_>,
    environment: &Environment,
) -> Result<Lifted, LedgerError> {
    let policy = &acting.installation.policy;
    let (reasons, reservations) = objections(acting, snapshot);
    if reasons.iter().all(|reason| reason.topic == Some(Topic::Budget)) {
        let granted = |key: &BudgetKey| change.grants_of(key, acting.now);
        if let Some(uses) = grants::covering(&reservations, snapshot, policy, acting.now, granted)? {
            let remark = Some(grants::in_words(&uses));
            return Ok(Lifted { reservations, uses, remark, ..Lifted::default() });
        }
    }
    let has_target = notify::has_target(environment);
    let outcome = super::outcome(change, acting, &reasons, request, (environment, has_target))?;
    let lifted = Lifted { reasons, ..Lifted::default() };
    Ok(match outcome {
        Outcome::Approved(id, answer) => {
            let remark = Some(approved(id, &answer));
            Lifted { outcome: Some(Outcome::Approved(id, answer)), reservations, remark, ..lifted }
        }
        // The person at the terminal answers after this hook.
        Outcome::AtTerminal(_) => Lifted { outcome: Some(outcome), reservations, ..lifted },
        Outcome::Asked(_, notice) | Outcome::Forged(_, notice) => {
            Lifted { notice, outcome: Some(outcome), ..lifted }
        }
        Outcome::Denied | Outcome::Closed(_) | Outcome::WordsNeeded => {
            Lifted { outcome: Some(outcome), ..lifted }
        }
    })
}
