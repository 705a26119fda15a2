//! The limits.

use super::names::check_name;
use super::{Checked, entries, wrong};
use crate::inventory::wire::{BudgetWire, PolicyWire, TierWire};
use crate::model::policy::{Budget, Policy, TierPolicy, Window};

/// Fills in the default of everything that is not stated.
pub fn check(wire: PolicyWire) -> Checked<Policy> {
    let defaults = Policy::default();
    let mut tiers = defaults.tiers;
    for (number, tier) in entries(wire.tiers) {
        let Some(slot) =
            number.value.parse().ok().and_then(|n: usize| n.checked_sub(1)).and_then(|n| tiers.get_mut(n))
        else {
            return Err(wrong(&number, "is not a tier", "the tiers are `1`, `2` and `3`"));
        };
        check_tier(slot, tier)?;
    }
    Ok(Policy {
        restart: check_budget(wire.restart, defaults.restart)?,
        redeployment: check_budget(wire.redeployment, defaults.redeployment)?,
        unresolved: wire.unresolved.map_or(defaults.unresolved, Into::into),
        on_failure: wire.on_failure.map_or(defaults.on_failure, Into::into),
        tiers,
    })
}

fn check_tier(slot: &mut TierPolicy, wire: TierWire) -> Checked<()> {
    if let Some(model) = wire.model {
        slot.model = check_name(model)?;
    }
    if let Some(allow) = wire.allow {
        slot.allow = allow.into_iter().map(Into::into).collect();
    }
    Ok(())
}

fn check_budget(wire: Option<BudgetWire>, default: Budget) -> Checked<Budget> {
    let Some(wire) = wire else { return Ok(default) };
    let window = match wire.window {
        None => default.window,
        Some(window) => Window::parse(&window.value).ok_or_else(|| {
            wrong(&window, "is not a duration", "write one such as `30m`, `4h`, `1h30m` or `2d`")
        })?,
    };
    Ok(Budget { limit: wire.limit.unwrap_or(default.limit), window })
}
