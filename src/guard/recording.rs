//! What is recorded of a verdict after it has been answered.

use super::acting::ActingCall;
use super::audit;
use super::judge::{Unrecorded, report};
use super::lost;
use crate::machine::notify;
use crate::machine::request::Request;
use opsctl_ledger::{Change, Ledger, Result, Scope};
use opsctl_policy::decide::{BudgetKey, Snapshot, reservations};
use opsctl_policy::model::records::verdict::Verdict;
use opsctl_policy::texts::notices::{budget_exhausted, exhausted};

/// Records what [`super::judge::judge`] has left. The verdict applies whether or not it can be recorded: on a full disk, it cannot.
pub fn record(acting: &ActingCall<'_>, verdict: &Verdict, unrecorded: Unrecorded, request: &Request) {
    let denial = Denial { acting, verdict, request };
    match unrecorded {
        Unrecorded::Nothing => {}
        Unrecorded::Decision => {
            let written = Ledger::open(&request.ledger)
                .and_then(|ledger| denial.record(&mut ledger.for_the_record(), &Snapshot::new()));
            let _: Result<()> = written;
        }
        Unrecorded::Exhausted(snapshot, ledger, has_lost_rows) => {
            let mut ledger = ledger.for_the_record();
            let raised = match denial.raise_and_record(&mut ledger, &snapshot, has_lost_rows) {
                // Many are denied at once, and only the notice needs the locks: the first of them has raised it.
                Err(error) if error.is_locked() && !has_lost_rows => {
                    denial.record(&mut ledger, &snapshot).map(|()| vec![])
                }
                raised => raised,
            };
            for id in raised.into_iter().flatten() {
                // A notice that is not delivered now waits for the next flush.
                let _ = notify::hand_over(request, id);
            }
        }
        Unrecorded::FailedClosed(text) => {
            // stderr belongs to the denial; the failure is in the file of kept failures.
            let _ = report(acting, "closed", &text, request);
        }
    }
}

/// A verdict that has been answered. Nothing was reserved and nothing rests on the record, so it need not survive a power
/// failure.
struct Denial<'a> {
    acting: &'a ActingCall<'a>,
    verdict: &'a Verdict,
    request: &'a Request,
}

impl Denial<'_> {
    /// Records the verdict alone.
    fn record(&self, ledger: &mut Ledger, snapshot: &Snapshot) -> Result<()> {
        let change = ledger.change_in(Scope::Of { budgets: &[], call: None })?;
        audit::record(&change, self.acting, self.verdict, snapshot, None, self.request)?;
        change.commit()
    }

    /// Records a denial by a budget, and its notices to the operators, whose ids are returned.
    fn raise_and_record(
        &self,
        ledger: &mut Ledger,
        snapshot: &Snapshot,
        has_lost_rows: bool,
    ) -> Result<Vec<i64>> {
        let &Self { acting, verdict, request } = self;
        let budgets: Vec<BudgetKey> = snapshot.keys().cloned().collect();
        let scope = if has_lost_rows { Scope::All } else { Scope::Of { budgets: &budgets, call: None } };
        let change = ledger.change_in(scope)?;
        // Another process may have reported it since.
        let lost = if has_lost_rows { change.loss(&request.state_dir)? } else { None };
        audit::record(&change, acting, verdict, snapshot, None, request)?;
        let raised = raise_exhausted(&change, acting, snapshot, request)?;
        if lost.is_some() {
            let by = (&acting.installation.policy, acting.id.session);
            // stderr belongs to the denial.
            lost::commit(change, lost, by, request, acting.now)?;
        } else {
            change.commit()?;
        }
        Ok(raised)
    }
}

/// Raises a notice for each exhausted budget; returns the ids of those to be delivered.
fn raise_exhausted(
    change: &Change<'_>,
    acting: &ActingCall<'_>,
    snapshot: &Snapshot,
    request: &Request,
) -> Result<Vec<i64>> {
    let wanted = reservations(&acting.actions, snapshot, &acting.installation.policy);
    let has_target = notify::has_target(request);
    let mut raised = Vec::new();
    for exhausted in exhausted(&wanted, acting.budgets(snapshot)) {
        let session = acting.id.session;
        let notice = budget_exhausted(&exhausted, &acting.evidence(), session, acting.tier, acting.now);
        raised.extend(change.raise(session, &notice, has_target, acting.now)?);
    }
    Ok(raised)
}
