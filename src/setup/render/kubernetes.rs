//! Manifests for a cluster: the roles of the gate before it, and what the API server denies to the gate in any case.

use std::collections::BTreeSet;

use minijinja::{Environment, context};

use super::RenderError;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_reader::languages::names::manifests::HOST_CAPABILITIES;

const TEMPLATE: &str = include_str!("../../../templates/kubernetes.yaml.j2");

/// The manifests for this tier; without one, for the highest. The roles apply to the namespaces of the inventory's workloads, or to
/// the cluster if one of them states none.
pub fn manifests(inventory: &Inventory, tier: Option<Tier>) -> Result<String, RenderError> {
    let workloads = inventory.services.iter().flat_map(|service| &service.workloads);
    let namespaces: Option<BTreeSet<String>> = workloads.map(|workload| workload.namespace.clone()).collect();
    let capabilities: Vec<String> = HOST_CAPABILITIES.iter().map(|name| format!("'{name}'")).collect();
    let values = context! {
        tier => tier.unwrap_or(Tier::Full).number(),
        namespaces => namespaces.unwrap_or_default(),
        capabilities => capabilities.join(", "),
    };
    Ok(Environment::new().render_str(TEMPLATE, values)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::installation::inventory::Service;
    use opsctl_reader::terms::workload::Workload;
    use serde_json::Value;

    /// The kinds and names of the manifests, with their namespaces.
    fn named(namespaces: &[Option<&str>], tier: Tier) -> Vec<String> {
        let workload = |namespace: Option<&str>| Workload {
            namespace: namespace.map(str::to_owned),
            kind: None,
            name: "x".to_owned(),
        };
        let workloads = namespaces.iter().copied().map(workload).collect();
        let services = vec![Service { workloads, ..Service::default() }];
        let text = manifests(&Inventory { services, ..Inventory::default() }, Some(tier)).unwrap();
        let found: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let text =
            |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
        let name = |value: &Value| {
            [text(value, "/kind"), text(value, "/metadata/namespace"), text(value, "/metadata/name")]
                .join("/")
        };
        found.iter().map(name).collect()
    }

    #[test]
    fn roles_follow_from_the_tier_and_the_namespaces_of_workloads() {
        let roles = |namespaces: &[Option<&str>], tier| {
            let mut found = named(namespaces, tier);
            found.retain(|name| name.contains("Role"));
            found
        };
        let reads = ["ClusterRole//opsctl-tier-1", "ClusterRoleBinding//opsctl-tier-1"];
        assert_eq!(roles(&[Some("media")], Tier::Observe), reads);
        let restarts = [
            "ClusterRole//opsctl-tier-2",
            "RoleBinding/dns/opsctl-tier-2",
            "RoleBinding/media/opsctl-tier-2",
        ];
        let media = [Some("media"), Some("dns"), Some("media")];
        assert_eq!(roles(&media, Tier::Remediate), [&reads[..], &restarts].concat());
        let anywhere = roles(&[Some("media"), None], Tier::Full);
        assert!(anywhere.contains(&"ClusterRoleBinding//opsctl-tier-3".to_owned()), "{anywhere:?}");
        assert!(!anywhere.iter().any(|name| name.starts_with("RoleBinding")), "{anywhere:?}");
    }

    #[test]
    fn each_admission_policy_has_a_binding() {
        let found = named(&[], Tier::Full);
        for name in ["opsctl-host-rights", "opsctl-deletions"] {
            for kind in ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] {
                assert!(found.contains(&format!("{kind}//{name}")), "{found:?}");
            }
        }
    }
}
