//! Budgets that a person has given in advance.

use super::super::acting::ActingCall;
use crate::guard::approval::statement::is_given;
use opsctl_ledger::{Change, Result};
use opsctl_policy::decide::{BudgetKey, Budgets, Reservation, wanted};
use opsctl_policy::model::records::question::Grant;

/// The grants that a call uses, by budget: each with how many actions.
pub type Uses = Vec<(BudgetKey, Vec<(Grant, u32)>)>;

/// The grants that cover what these reservations take beyond their budgets; `None` if they do not cover all of it.
/// `grants` returns the unexpired grants of a budget; only genuine ones count.
pub fn covering<E>(
    reservations: &[Reservation],
    budgets: Budgets<'_>,
    mut grants: impl FnMut(&BudgetKey) -> Result<Vec<Grant>, E>,
) -> Result<Option<Uses>, E> {
    let Some(key) = budgets.policy.approval_key else { return Ok(None) };
    let mut uses: Uses = Vec::new();
    for (budget, missing) in missing(reservations, budgets) {
        let mut left = missing;
        let mut taken = Vec::new();
        for grant in grants(&budget)?.into_iter().filter(|grant| is_given(grant, key)) {
            let count = grant.left().min(left);
            if count > 0 {
                left -= count;
                taken.push((grant, count));
            }
        }
        if left > 0 {
            return Ok(None);
        }
        uses.push((budget, taken));
    }
    Ok(Some(uses).filter(|uses| !uses.is_empty()))
}

/// How many of the reservations are beyond each budget; only budgets that are exceeded.
fn missing(reservations: &[Reservation], budgets: Budgets<'_>) -> Vec<(BudgetKey, u32)> {
    let missing = wanted(reservations).into_iter().filter_map(|(key, more)| {
        let used = u32::try_from(budgets.counted(key).len()).unwrap_or(u32::MAX);
        let free = key.budget(budgets.policy).limit.saturating_sub(used);
        let missing = more.saturating_sub(free);
        (missing > 0).then(|| (key.clone(), missing))
    });
    missing.collect()
}

/// Records the uses, after the reservations of the call.
pub fn use_all(change: &Change<'_>, acting: &ActingCall<'_>, uses: &Uses) -> Result<()> {
    for (key, grants) in uses {
        let counts: Vec<(i64, u32)> = grants.iter().map(|(grant, count)| (grant.id, *count)).collect();
        change.use_grants(acting.id, key, &counts, acting.now)?;
    }
    Ok(())
}

/// Who gave the budgets: for the audit and for the model.
pub fn in_words(uses: &Uses) -> String {
    let texts = uses.iter().flat_map(|(_, grants)| grants).map(|(grant, count)| {
        let note = grant.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        format!(
            "{count} {} of {} granted by {} (grant {}){note}",
            grant.kind, grant.service, grant.by, grant.id
        )
    });
    texts.collect::<Vec<_>>().join("; ")
}
