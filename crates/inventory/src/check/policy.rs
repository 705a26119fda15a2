//! Budgets, tiers and verification.

use crate::inventory::spanned::Spanned;
use chrono::NaiveTime;

use super::values::{check_duration, tier_slot};
use super::{ask, contacts, rules, spend, tier};
use crate::inventory::error::{Checked, Found, Mistake};
use crate::inventory::yaml::checks::VerifyWire;
use crate::inventory::yaml::forms::entries;
use crate::inventory::yaml::policy::{BudgetWire, PolicyWire, ResolveWire};
use crate::model::checks::Verification;
use crate::model::message::Contact;
use crate::model::policy::{Budget, Policy, Resolve, Window};

/// Checks the policy and fills in the defaults.
pub fn check(wire: PolicyWire, contacts: Vec<Contact>, found: &mut Found) -> Policy {
    let defaults = Policy::default();
    let mut rules = rules::check(wire.never, wire.data, wire.protect, wire.secret, wire.tools, found);
    rules.webhooks = contacts::check_webhooks(wire.webhooks, &contacts, found);
    let mut tiers = defaults.tiers;
    for (number, wire) in entries(wire.tiers) {
        if let Some(slot) = found.keep(tier_slot(&mut tiers, &number)) {
            tier::check(slot, wire, found);
        }
    }
    let approval_key = wire.approval_key.as_ref().and_then(|key| found.keep(ask::check_key(key)));
    let has_key = wire.approval_key.is_some();
    let ask = ask::check(wire.ask.unwrap_or_default(), has_key, &rules, found);
    Policy {
        restart: found.keep(check_budget(wire.restart, defaults.restart)).unwrap_or(defaults.restart),
        redeployment: found
            .keep(check_budget(wire.redeployment, defaults.redeployment))
            .unwrap_or(defaults.redeployment),
        unresolved: wire.unresolved.unwrap_or(defaults.unresolved),
        unlisted: wire.unlisted.unwrap_or(defaults.unlisted),
        resolve: wire.resolve.map_or(defaults.resolve, |places| Resolve {
            local: places.contains(&ResolveWire::Local),
            ssh: places.contains(&ResolveWire::Ssh),
        }),
        hosts: wire.hosts.unwrap_or(defaults.hosts),
        on_failure: wire.on_failure.unwrap_or(defaults.on_failure),
        tiers,
        verify: check_verification(wire.verify.unwrap_or_default(), defaults.verify, found),
        rules,
        modes: contacts::check_modes(wire.modes, defaults.modes),
        contacts,
        digest: wire.digest.as_ref().and_then(|time| found.keep(check_time(time))),
        ask,
        approval_key,
        spend: spend::check(wire.spend, found),
        exclusive: wire.exclusive.as_ref().and_then(|time| found.keep(check_duration(time))),
    }
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
    let per = wire.per.unwrap_or(default.per);
    Ok(Budget { limit: wire.limit.unwrap_or(default.limit), window, per })
}

fn check_verification(wire: VerifyWire, default: Verification, found: &mut Found) -> Verification {
    let attempts = match wire.attempts {
        None => default.attempts,
        Some(attempts) if (1..=Verification::MOST_ATTEMPTS).contains(&attempts.value) => attempts.value,
        Some(attempts) => {
            found.add(Mistake::at(
                attempts.referenced,
                format!("`{}` is not a valid number of attempts", attempts.value),
                format!(
                    "write a number from 1 to {}; the client ends a session at the ninth block in a row",
                    Verification::MOST_ATTEMPTS
                ),
            ));
            default.attempts
        }
    };
    let limited = |text: Option<Spanned<String>>, default: Window| -> Checked<Window> {
        match text {
            None => Ok(default),
            Some(text) => match check_duration(&text)? {
                window if window.delta().num_seconds() <= Verification::LONGEST_DEADLINE => Ok(window),
                _ => {
                    Err(Mistake::of(&text, "exceeds the maximum duration of `verify`", "write at most `10m`"))
                }
            },
        }
    };
    Verification {
        attempts,
        mode: wire.mode.or(default.mode),
        grace: found.keep(limited(wire.grace, default.grace)).unwrap_or(default.grace),
        deadline: found.keep(limited(wire.deadline, default.deadline)).unwrap_or(default.deadline),
    }
}
