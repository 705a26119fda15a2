//! Actions on targets that the inventory does not list, or that cannot be determined.

use super::keys::{BudgetKey, Budgets, UNLISTED};
use crate::model::records::verdict::{Reason, ResolvedAction};
use crate::model::rights::policy::{MOST_UNLISTED, Policy, Unlisted, Unresolved};
use crate::rules::tier;
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::plain_text::capitalised;

/// The objection to an action whose target service cannot be determined.
pub fn unresolved_objection(action: &ResolvedAction, policy: &Policy) -> Option<Reason> {
    let is_unresolved = action.service.is_none() && policy.budget(action.action.kind).is_some();
    (policy.unresolved == Unresolved::Deny && is_unresolved).then(|| {
        let what = tier::describe(action);
        let note = action.note.as_ref().map(|note| format!(" {note}")).unwrap_or_default();
        let text =
            format!("The service that {what} targets cannot be determined.{note} Name it in the command.");
        Reason::of("unresolved", text)
    })
}

/// The objection to an action on a name that the inventory does not list.
pub fn unlisted_objection(action: &ResolvedAction, policy: &Policy) -> Option<Reason> {
    let service = action.service.as_ref().filter(|_| is_unlisted(action, policy))?;
    (policy.unlisted == Unlisted::Deny).then(|| {
        let unlisted = || format!("`{service}` is not listed in hosts.yaml.");
        let note = action.note.clone().unwrap_or_else(unlisted);
        let what = capitalised(&tier::describe(action));
        let text = format!(
            "{what} is denied, because policy.unlisted is deny. {note} Use the name of a listed service, or report what is needed."
        );
        Reason::of("unlisted", text)
    })
}

/// The key of the names that have used a budget, where each unlisted one has its own.
pub fn names_key() -> BudgetKey {
    BudgetKey { service: UNLISTED.to_owned(), kind: ActionKind::Restart.as_str() }
}

/// The objection to an action on a name that the inventory does not list, where too many names have used a budget. Names that are
/// known already are denied, too, once there are more: an agent may record actions of any name.
pub fn names_objection(actions: &[ResolvedAction], budgets: Budgets<'_>) -> Option<Reason> {
    let Budgets { policy, usage, now } = budgets;
    let known = usage.get(&names_key()).filter(|_| policy.unlisted == Unlisted::Own)?.entries.len();
    let since = now - policy.longest_window().delta();
    let is_known = |name: &str| {
        usage.iter().any(|(key, usage)| key.service == name && usage.entries.iter().any(|at| *at > since))
    };
    let unlisted = actions.iter().filter(|action| is_unlisted(action, policy));
    let mut new: Vec<_> = unlisted.filter_map(|action| action.service.as_deref()).collect();
    let name = *new.first()?;
    new.retain(|name| !is_known(name));
    new.sort_unstable();
    new.dedup();
    if known + new.len() <= policy.most_names {
        return None;
    }
    let window = policy.longest_window();
    let text = format!(
        "`{name}` is not listed in hosts.yaml, and {known} names have used a budget in the last {window}: at most {MOST_UNLISTED} more than hosts.yaml lists may (policy.unlisted: own). Report what is needed: an operator can list the service."
    );
    Some(Reason::of("unlisted", text))
}

/// Whether an action draws on the budget of a name that the inventory does not list.
pub fn is_unlisted(action: &ResolvedAction, policy: &Policy) -> bool {
    action.service.is_some() && !action.listed && policy.budget(action.action.kind).is_some()
}
