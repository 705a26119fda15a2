//! Budgets and tiers.

use super::rules::never;
use super::values::tier_slot;
use super::{ask, contacts, monitor, rules, spend, tier};
use crate::error::Mistakes;
use crate::yaml::forms::entries;
use crate::yaml::policy::{BudgetWire, PolicyWire, ResolveWire};
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::rights::ask::Ask;
use opsctl_policy::model::rights::policy::{Budget, Policy, Resolve, Tier, TierPolicy};
use opsctl_policy::model::rights::rules::Rules;
use opsctl_reader::terms::message::Contact;

/// Checks the policy and fills in the defaults.
pub fn check(
    wire: PolicyWire,
    contacts: Vec<Contact>,
    inventory: &Inventory,
    found: &mut Mistakes,
) -> Policy {
    let defaults = Policy::default();
    let mut rules = Rules::default();
    let mut asked = never::check(wire.never, inventory, wire.approval_key.is_some(), &mut rules, found);
    rules::check(wire.data, wire.protect, wire.secret, wire.tools, &mut rules, found);
    rules.webhooks = contacts::check_webhooks(wire.webhooks, &contacts, found);
    let mut tiers = defaults.tiers;
    for (slot, tier) in tiers.iter_mut().zip(Tier::ALL) {
        slot.effects = TierPolicy::understood_effects(tier);
    }
    for (number, wire) in entries(wire.tiers) {
        if let Some(slot) = found.keep(tier_slot(&mut tiers, &number)) {
            tier::check(slot, wire, found);
        }
    }
    let mut ask = ask::check(wire.ask.unwrap_or_default(), wire.approval_key.is_some(), &rules, found);
    asked.retain(|topic| ask.iter().all(|ask| ask.topic != *topic));
    ask.extend(asked.into_iter().map(Ask::about));
    let watched = monitor::check(wire.mode, wire.monitor, inventory, &rules, found);
    let mut policy = Policy {
        restart: budget(wire.restart.as_ref(), defaults.restart),
        redeployment: budget(wire.redeployment.as_ref(), defaults.redeployment),
        host_budgets: vec![],
        unresolved: wire.unresolved.unwrap_or(defaults.unresolved),
        unlisted: wire.unlisted.unwrap_or(defaults.unlisted),
        most_names: inventory.services.len() + defaults.most_names,
        resolve: wire.resolve.map_or(defaults.resolve, |places| Resolve {
            local: places.contains(&ResolveWire::Local),
            ssh: places.contains(&ResolveWire::Ssh),
        }),
        hosts: wire.hosts.unwrap_or(defaults.hosts),
        on_failure: wire.on_failure.unwrap_or(defaults.on_failure),
        redact_output: wire.redact_output.unwrap_or(defaults.redact_output),
        tier: wire.tier.and_then(|tier| tier.0),
        tiers,
        verify: wire.verify,
        rules,
        modes: wire.modes,
        contacts,
        digest: wire.digest,
        keep: wire.keep.unwrap_or(defaults.keep),
        keep_mib: wire.keep_mib.unwrap_or(defaults.keep_mib),
        ask,
        approval_key: wire.approval_key,
        spend: spend::check(wire.spend, found),
        exclusive: wire.exclusive,
        monitor: watched,
    };
    monitor::apply(&mut policy);
    policy
}

/// A budget; `default` states what a missing key means.
fn budget(wire: Option<&BudgetWire>, default: Budget) -> Budget {
    let Some(&BudgetWire { limit, window, per }) = wire else { return default };
    Budget {
        limit: limit.unwrap_or(default.limit),
        window: window.unwrap_or(default.window),
        per: per.unwrap_or(default.per),
    }
}
