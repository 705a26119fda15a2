//! The limits.

use serde_saphyr::Spanned;

use super::{Checked, contacts, entries, rules, wrong};
use crate::inventory::error::Mistake;
use crate::inventory::wire::{BudgetWire, PolicyWire};
use crate::inventory::wire_checks::VerifyWire;
use crate::model::checks::Verification;
use crate::model::message::Contact;
use crate::model::policy::{Budget, Policy, Window};

/// Fills in the default of everything that is not stated.
pub fn check(wire: PolicyWire, contacts: Vec<Contact>) -> Checked<Policy> {
    let defaults = Policy::default();
    let mut rules = rules::check(wire.never, wire.data, wire.protect, wire.secret, wire.tools)?;
    rules.webhooks = contacts::check_webhooks(wire.webhooks, &contacts)?;
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
        verify: check_verification(wire.verify.unwrap_or_default(), defaults.verify)?,
        rules,
        modes: contacts::check_modes(wire.modes, defaults.modes),
        contacts,
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

fn check_verification(wire: VerifyWire, default: Verification) -> Checked<Verification> {
    let attempts = match wire.attempts {
        None => default.attempts,
        Some(attempts) if (1..=Verification::MOST_ATTEMPTS).contains(&attempts.value) => attempts.value,
        Some(attempts) => {
            return Err(Mistake::at(
                attempts.referenced,
                format!("`{}` attempts to verify", attempts.value),
                format!(
                    "write a number from 1 to {}; the client itself ends a session that is held up nine times",
                    Verification::MOST_ATTEMPTS
                ),
            ));
        }
    };
    let limited = |text: Option<Spanned<String>>, default: Window| match text {
        None => Ok(default),
        Some(text) => match check_duration(&text)? {
            window if window.delta().num_seconds() <= Verification::LONGEST_DEADLINE => Ok(window),
            _ => Err(wrong(&text, "is too long to hold up a session", "write at most `10m`")),
        },
    };
    Ok(Verification {
        attempts,
        mode: wire.mode.map(Into::into).or(default.mode),
        grace: limited(wire.grace, default.grace)?,
        deadline: limited(wire.deadline, default.deadline)?,
    })
}

/// A length of time, as people write it.
pub fn check_duration(text: &Spanned<String>) -> Checked<Window> {
    Window::parse(&text.value)
        .ok_or_else(|| wrong(text, "is not a duration", "write one such as `30m`, `4h`, `1h30m` or `2d`"))
}
