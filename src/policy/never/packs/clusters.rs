//! Kubernetes clusters and infrastructure as code.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[DefaultRule {
    name: "destroy-cluster-data",
    reason: "It takes data and everything that depends on it along. Leave it to a person.",
    matches: &["kubectl -n media delete pvc jellyfin-config", "terraform destroy -auto-approve"],
    differs: &["kubectl get pvc", "kubectl delete pod jellyfin-0", "terraform plan -destroy"],
    ..RULE
}];
