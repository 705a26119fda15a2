//! Kubernetes manifests: the workloads that they describe, and what else they put in place.

use super::host_rights::gives_host_rights;
use super::value::Value;
use crate::languages::names::manifests;
use crate::terms::class::Class;
use crate::terms::workload::{Workload, WorkloadKind};

/// The workloads in these files; none of a text that is not a manifest.
pub fn workloads(texts: &[String]) -> Vec<Workload> {
    texts.iter().filter_map(|text| objects(text)).flatten().filter_map(|object| workload(&object)).collect()
}

/// The class of what these files put in place that is more than the definition of a workload, with the object that has it: the
/// rights of a host, who may do what, or what belongs to no workload. A text that cannot be read may be anything.
pub fn class(texts: &[String]) -> Option<(Class, String)> {
    let mut all = Vec::new();
    for text in texts {
        let Some(objects) = objects(text) else { return Some((Class::Unread, "a file".to_owned())) };
        all.extend(objects);
    }
    let kind = |object: &Value| object.get("kind").and_then(Value::as_str).unwrap_or("an object").to_owned();
    let runs = |object: &Value| is_workload(&kind(object)) || manifests::PODS.has(&kind(object));
    let has_workload = all.iter().any(runs);
    let belongs = |object: &Value| runs(object) || has_workload && manifests::PARTS.has(&kind(object));
    let other = |object: &Value| (!belongs(object) && *object != Value::Plain(false)).then_some(Class::Other);
    let of = |object: &Value, class| {
        let name = object.get("metadata").and_then(|metadata| metadata.get("name")?.as_str());
        (class, format!("{} {}", kind(object), name.unwrap_or_default()).trim_end().to_owned())
    };
    let find = |class_of: &dyn Fn(&Value) -> Option<Class>| {
        all.iter().find_map(|object| class_of(object).map(|class| of(object, class)))
    };
    find(&class_of).or_else(|| find(&other))
}

/// Whether objects of a kind have the name of a workload: they run containers, or a controller turns them into what does.
fn is_workload(kind: &str) -> bool {
    WorkloadKind::find(kind).is_some() || manifests::CONTROLLED.has(kind)
}

/// The resource of a kind, as an API server guesses it: `ClusterRole` → `clusterroles`.
fn resource(kind: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    }
}

fn class_of(object: &Value) -> Option<Class> {
    let resource = resource(object.get("kind").and_then(Value::as_str).unwrap_or_default());
    let of_metadata = |key: &str| object.get("metadata")?.get(key)?.as_str();
    let (namespace, name) = (of_metadata("namespace"), of_metadata("name").unwrap_or_default());
    let place = format!("{}/{resource}/{name}", namespace.unwrap_or_default());
    let is_listed = || {
        let is_there = |known: &str| known == place || namespace.is_none() && known.ends_with(&place);
        manifests::ACCESS_OBJECTS.iter().any(is_there)
    };
    let is_credential = || {
        let kind = object.get("type").and_then(Value::as_str);
        resource == "secrets" && kind.is_some_and(|kind| manifests::CLUSTER_CREDENTIALS.has(kind))
    };
    if manifests::ACCESS.has(&resource) || resource == "namespaces" || is_listed() || is_credential() {
        return Some(Class::Access);
    }
    let is_of_host = resource == "persistentvolumes" && object.mentions("local");
    (is_of_host || gives_host_rights(object)).then_some(Class::Engine)
}

/// The objects in a file; `None` if it is not YAML.
fn objects(text: &str) -> Option<Vec<Value>> {
    let documents = serde_saphyr::from_multiple::<Value>(text).ok()?;
    let items =
        documents.into_iter().flat_map(|document| match document.get("items").and_then(Value::as_list) {
            Some(items) => items.to_vec(),
            None => vec![document],
        });
    Some(items.collect())
}

fn workload(object: &Value) -> Option<Workload> {
    let kind = object.get("kind")?.literal()?;
    if !is_workload(kind) {
        return None;
    }
    let metadata = object.get("metadata")?;
    let name = metadata.get("name")?.literal()?.to_owned();
    let namespace = metadata.get("namespace").and_then(Value::literal).map(str::to_owned);
    Some(Workload { namespace, kind: WorkloadKind::find(kind), name })
}
