//! Kubernetes manifests: the workloads that they describe.

use super::value::Value;
use crate::languages::names::manifests;
use crate::terms::workload::{Workload, WorkloadKind};

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
    if known.is_none() && !manifests::CONTROLLED.has(kind) {
        return None;
    }
    let metadata = object.get("metadata")?;
    let name = metadata.get("name")?.literal()?.to_owned();
    let namespace = metadata.get("namespace").and_then(Value::literal).map(str::to_owned);
    Some(Workload { namespace, kind: known, name })
}
