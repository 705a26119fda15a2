//! What the policy only watches.

use super::ask::known_names;
use crate::error::{Mistake, Mistakes, suggestion};
use crate::yaml::policy::{MonitorWire, PolicyMode};
use opsctl_policy::model::installation::checks::{Verification, Verifier};
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::records::verdict::RULES;
use opsctl_policy::model::rights::monitor::Monitor;
use opsctl_policy::model::rights::policy::{OnFailure, Policy, Tier};
use opsctl_policy::model::rights::rules::Rules;

/// Checks the names of what is only watched.
pub fn check(
    mode: Option<PolicyMode>,
    wire: Option<MonitorWire>,
    inventory: &Inventory,
    rules: &Rules,
    found: &mut Mistakes,
) -> Monitor {
    let MonitorWire { rules: names, budgets, tiers, hosts, gates } = wire.unwrap_or_default();
    let known: Vec<&str> = RULES.iter().copied().chain(known_names(rules)).collect();
    for name in &names {
        let is_known = known.contains(&name.value.as_str()) && name.value != "dry_run";
        let remedy = suggestion(&name.value, known.iter().copied().filter(|name| *name != "dry_run"));
        found.keep(Mistake::unless(is_known, name, "is no rule that can be watched", &remedy));
    }
    for host in &hosts {
        let listed = || inventory.hosts.iter().map(|host| host.name.as_str());
        let remedy = suggestion(&host.value, listed().collect::<Vec<_>>());
        found.keep(Mistake::unless(
            listed().any(|name| name == host.value),
            host,
            "is no listed host",
            &remedy,
        ));
    }
    Monitor {
        everything: mode == Some(PolicyMode::Monitor),
        rules: names.into_iter().map(|name| name.value).collect(),
        budgets,
        tiers,
        hosts: hosts.into_iter().map(|host| host.value).collect(),
        gates,
    }
}

/// Applies it where something else than a rule would deny: the prefixes that the client denies, a failing guard, and the end of
/// a session.
pub fn apply(policy: &mut Policy) {
    for (tier, rights) in Tier::ALL.into_iter().zip(&mut policy.tiers) {
        rights.is_watched = policy.monitor.watches_tier(tier);
    }
    if policy.monitor.everything {
        policy.on_failure = OnFailure::Open;
        policy.verify = Verification { mode: Some(Verifier::Command), ..std::mem::take(&mut policy.verify) };
    }
}
