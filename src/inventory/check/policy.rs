//! Budgets, tiers and verification.

use chrono::NaiveTime;
use serde_saphyr::Spanned;

use super::values::{check_duration, tier_slot};
use super::{contacts, rules, tier};
use crate::inventory::choices::ResolveWire;
use crate::inventory::error::{Checked, Mistake};
use crate::inventory::yaml::checks::VerifyWire;
use crate::inventory::yaml::forms::entries;
use crate::inventory::yaml::policy::{BudgetWire, PolicyWire};
use crate::model::checks::Verification;
use crate::model::message::Contact;
use crate::model::policy::{Budget, Policy, Window};

/// Checks the policy and fills in the defaults.
pub fn check(wire: PolicyWire, contacts: Vec<Contact>) -> Checked<Policy> {
    let defaults = Policy::default();
    let mut rules = rules::check(wire.never, wire.data, wire.protect, wire.secret, wire.tools)?;
    rules.webhooks = contacts::check_webhooks(wire.webhooks, &contacts)?;
    let mut tiers = defaults.tiers;
    for (number, wire) in entries(wire.tiers) {
        tier::check(tier_slot(&mut tiers, &number)?, wire)?;
    }
    Ok(Policy {
        restart: check_budget(wire.restart, defaults.restart)?,
        redeployment: check_budget(wire.redeployment, defaults.redeployment)?,
        unresolved: wire.unresolved.map_or(defaults.unresolved, Into::into),
        unlisted: wire.unlisted.map_or(defaults.unlisted, Into::into),
        resolve: wire.resolve.map_or(defaults.resolve, |places| ResolveWire::of_list(&places)),
        hosts: wire.hosts.map_or(defaults.hosts, Into::into),
        on_failure: wire.on_failure.map_or(defaults.on_failure, Into::into),
        tiers,
        verify: check_verification(wire.verify.unwrap_or_default(), defaults.verify)?,
        rules,
        modes: contacts::check_modes(wire.modes, defaults.modes),
        contacts,
        digest: wire.digest.as_ref().map(check_time).transpose()?,
    })
}

fn check_time(text: &Spanned<String>) -> Checked<NaiveTime> {
    NaiveTime::parse_from_str(&text.value, "%H:%M")
        .map_err(|_| Mistake::of(text, "is not a time of day", "write one such as `08:00` or `21:30`"))
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
                format!("`{}` is not a valid number of attempts", attempts.value),
                format!(
                    "write a number from 1 to {}; the client ends a session at the ninth block in a row",
                    Verification::MOST_ATTEMPTS
                ),
            ));
        }
    };
    let limited = |text: Option<Spanned<String>>, default: Window| match text {
        None => Ok(default),
        Some(text) => match check_duration(&text)? {
            window if window.delta().num_seconds() <= Verification::LONGEST_DEADLINE => Ok(window),
            _ => Err(Mistake::of(&text, "exceeds the maximum duration of `verify`", "write at most `10m`")),
        },
    };
    Ok(Verification {
        attempts,
        mode: wire.mode.map(Into::into).or(default.mode),
        grace: limited(wire.grace, default.grace)?,
        deadline: limited(wire.deadline, default.deadline)?,
    })
}
