//! Managed settings besides the hooks.

use serde_json::{Map, Value, json};

use super::tier_args::permission_rule;
use crate::inventory::compiled::Compiled;
use crate::model::policy::Tier;
use crate::policy::prefixes;

/// Prefixes of commands that the settings deny to every session: those that the rendered tier denies, or without a tier
/// those that all tiers deny.
pub fn denied(compiled: &Compiled) -> Vec<String> {
    let policy = &compiled.installation.policy;
    let of = |tier| prefixes::denied(policy.tier(tier), policy.rules.catalogue);
    if let Some(tier) = compiled.tier {
        return of(tier);
    }
    let [first, others @ ..] = Tier::ALL.map(of);
    first.into_iter().filter(|prefix| others.iter().all(|other| other.contains(prefix))).collect()
}

/// Protects the hooks: disables hooks of projects and users, disables bypassing permissions, and denies the commands in
/// `denied`. Existing rules stay.
pub fn protect(settings: &mut Map<String, Value>, denied: &[String]) {
    settings.insert("allowManagedHooksOnly".to_owned(), json!(true));
    // In place, so that rendering again moves no key.
    let permissions = settings.entry("permissions").or_insert_with(|| json!({}));
    if !permissions.is_object() {
        *permissions = json!({});
    }
    let Value::Object(permissions) = permissions else { return };
    permissions.insert("disableBypassPermissionsMode".to_owned(), json!("disable"));
    let theirs: Vec<Value> = permissions.get("deny").and_then(Value::as_array).cloned().unwrap_or_default();
    let rules = denied.iter().map(|prefix| Value::String(permission_rule(prefix)));
    let new: Vec<Value> = rules.filter(|rule| !theirs.contains(rule)).collect();
    if !new.is_empty() {
        permissions.insert("deny".to_owned(), Value::Array([theirs, new].concat()));
    }
}
