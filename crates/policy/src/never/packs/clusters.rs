//! Kubernetes clusters and infrastructure as code.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "destroy-cluster-data",
        reason: "It deletes data and everything that depends on it. Leave it to an operator.",
        matches: &[
            "kubectl -n media delete pvc jellyfin-config",
            "kubectl delete pvc,pv --all",
            "terraform destroy -auto-approve",
            "kubeadm reset -f",
        ],
        differs: &[
            "kubectl get pvc",
            "kubectl delete pod jellyfin-0",
            "kubectl delete pvc x --dry-run=client",
            "terraform plan -destroy",
            "pulumi destroy --preview-only",
        ],
        ..RULE
    },
    DefaultRule {
        name: "delete-workload",
        reason: "A deleted workload or configuration is not recreated. Restart it with `kubectl rollout restart`, or leave it to an operator.",
        matches: &[
            "kubectl -n media delete deployment jellyfin",
            "kubectl delete sts/db",
            "kubectl delete svc,cm -l app=web",
            "kubectl delete -f /opt/manifests/web.yaml",
            "kubectl replace --force -f web.yaml",
        ],
        differs: &[
            "kubectl get deployments",
            "kubectl delete pod web-0",
            "kubectl delete deploy web --dry-run=server",
            "kubectl rollout restart deploy/web",
            "kubectl replace -f web.yaml",
        ],
        ..RULE
    },
    DefaultRule {
        name: "drain-node",
        reason: "It evicts everything that runs on a node. Cordon the node, and request the drain in the report.",
        matches: &["kubectl drain ie01 --ignore-daemonsets", "oc adm drain ie01"],
        differs: &["kubectl cordon ie01", "kubectl drain ie01 --dry-run=client", "kubectl uncordon ie01"],
        ..RULE
    },
];
