//! The limits.

use serde_saphyr::Spanned;

use super::rules;
use super::{Checked, entries, wrong};
use crate::inventory::wire::{BudgetWire, PolicyWire};
use crate::model::policy::{Budget, Policy, Window};

/// Fills in the default of everything that is not stated.
pub fn check(wire: PolicyWire) -> Checked<Policy> {
    let defaults = Policy::default();
    let rules = rules::check(wire.never, wire.data, wire.protect, wire.secret, wire.tools)?;
    let mut tiers = defaults.tiers;
    for (number, tier) in entries(wire.tiers) {
        let Some(slot) =
            number.value.parse().ok().and_then(|n: usize| n.checked_sub(1)).and_then(|n| tiers.get_mut(n))
        else {
            return Err(wrong(&number, "is not a tier", "the tiers are `1`, `2` and `3`"));
        };
        super::tier::check(slot, tier)?;
    }
    Ok(Policy {
        restart: check_budget(wire.restart, defaults.restart)?,
        redeployment: check_budget(wire.redeployment, defaults.redeployment)?,
        unresolved: wire.unresolved.map_or(defaults.unresolved, Into::into),
        on_failure: wire.on_failure.map_or(defaults.on_failure, Into::into),
        tiers,
        rules,
    })
}

fn check_budget(wire: Option<BudgetWire>, default: Budget) -> Checked<Budget> {
    let Some(wire) = wire else { return Ok(default) };
    let window = match wire.window {
        None => default.window,
        Some(window) => check_duration(&window)?,
    };
    Ok(Budget { limit: wire.limit.unwrap_or(default.limit), window })
}

/// A length of time, as people write it.
pub fn check_duration(text: &Spanned<String>) -> Checked<Window> {
    Window::parse(&text.value)
        .ok_or_else(|| wrong(text, "is not a duration", "write one such as `30m`, `4h`, `1h30m` or `2d`"))
}
