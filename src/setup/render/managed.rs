//! Managed settings besides the hooks.

use serde_json::{Map, Value, json};

use super::tier_args::permission_rule;
use opsctl_inventory::compiled::Compiled;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::rules::prefixes;

/// Prefixes of commands that the settings deny to every session: those that all tiers deny, or those of the tier for which they
/// are rendered. The tier of `policy.tier` is only that of sessions for which nothing else states one.
pub fn denied(compiled: &Compiled) -> Vec<String> {
    let policy = &compiled.installation.policy;
    let of = |tier| prefixes::denied(policy.tier(tier), policy.rules.catalogue);
    if let Some(tier) = compiled.tier.filter(|tier| policy.tier != Some(*tier)) {
        return of(tier);
    }
    let [first, others @ ..] = Tier::ALL.map(of);
    first.into_iter().filter(|prefix| others.iter().all(|other| other.contains(prefix))).collect()
}

/// What managed settings state besides the hooks.
const HARDENED: &str = include_str!("../../../templates/managed-settings.json");

/// Protects the hooks: disables hooks, mods and plugins of projects and users, commands in skills, control and messages
/// from other sessions, and bypassing permissions, and denies the commands in `denied`. Other keys and rules stay.
pub fn protect(settings: &mut Map<String, Value>, denied: &[String]) -> Result<(), serde_json::Error> {
    let mut hardened: Map<String, Value> = serde_json::from_str(HARDENED)?;
    let rules: Vec<String> = denied.iter().map(|prefix| permission_rule(prefix)).collect();
    if !rules.is_empty()
        && let Some(permissions) = hardened.get_mut("permissions").and_then(Value::as_object_mut)
    {
        permissions.insert("deny".to_owned(), json!(rules));
    }
    for (key, value) in hardened {
        merge(settings.entry(key).or_insert(Value::Null), value);
    }
    Ok(())
}

/// Sets a value in place, so that rendering again moves no key. Objects keep their other keys, lists their other items.
pub fn merge(into: &mut Value, value: Value) {
    match (into, value) {
        (Value::Object(into), Value::Object(value)) => {
            for (key, value) in value {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(value)) => {
            let new: Vec<Value> = value.into_iter().filter(|item| !into.contains(item)).collect();
            into.extend(new);
        }
        (into, value) => *into = value,
    }
}
