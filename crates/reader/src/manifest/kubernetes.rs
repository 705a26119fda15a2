//! Kubernetes manifests: the workloads that they describe.

use super::value::Value;
use crate::terms::workload::{Workload, WorkloadKind};

/// Kinds of objects that a controller turns into workloads of their name.
const CONTROLLED: [&str; 5] = ["Application", "DeploymentConfig", "HelmRelease", "Kustomization", "Rollout"];

/// The workloads in these files; none of a text that is not a manifest.
pub fn workloads(texts: &[String]) -> Vec<Workload> {
    let documents = texts.iter().filter_map(|text| serde_saphyr::from_multiple::<Value>(text).ok());
    let mut found = Vec::new();
    for document in documents.flatten() {
        let items = document.get("items").and_then(Value::as_list);
        let items = items.unwrap_or_else(|| std::slice::from_ref(&document));
        found.extend(items.iter().filter_map(workload));
    }
    found
}

fn workload(object: &Value) -> Option<Workload> {
    let kind = object.get("kind")?.literal()?;
    let known = WorkloadKind::find(kind);
    if known.is_none() && !CONTROLLED.contains(&kind) {
        return None;
    }
    let metadata = object.get("metadata")?;
    let name = metadata.get("name")?.literal()?.to_owned();
    let namespace = metadata.get("namespace").and_then(Value::literal).map(str::to_owned);
    Some(Workload { namespace, kind: known, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_of_all_documents_and_lists_are_found() {
        let text = "kind: ConfigMap\nmetadata: {name: x}\n---\nkind: Deployment\nmetadata: {name: web, namespace: media}\n---\n\
                    kind: List\nitems:\n- {kind: DaemonSet, metadata: {name: agent}}\n- {kind: Deployment, metadata: {name: $NAME}}\n";
        let found = workloads(&[text.to_owned(), "- [".to_owned()]);
        let web = Workload {
            namespace: Some("media".to_owned()),
            kind: Some(WorkloadKind::Deployment),
            name: "web".to_owned(),
        };
        let agent =
            Workload { namespace: None, kind: Some(WorkloadKind::DaemonSet), name: "agent".to_owned() };
        assert_eq!(found, [web, agent]);
    }
}
