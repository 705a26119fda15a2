//! The workloads of a cluster, as `kubectl get deploy,sts,ds -A -o json` prints them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::units::Own;
use crate::setup::import::draft::{Draft, Key, Service};
use crate::setup::import::error::ImportError;
use crate::setup::import::naming;
use crate::setup::import::naming::is_name;
use opsctl_policy::paths::glob::matches;

/// The arguments of kubectl behind `--context NAME`.
pub const ARGUMENTS: [&str; 6] = ["get", "deploy,sts,ds", "-A", "-o", "json", "--request-timeout=30s"];

#[derive(Deserialize)]
struct ListWire {
    items: Vec<ItemWire>,
}

#[derive(Deserialize)]
struct ItemWire {
    kind: String,
    metadata: MetadataWire,
}

#[derive(Deserialize)]
struct MetadataWire {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The annotation with the name of the Helm release.
const RELEASE: &str = "meta.helm.sh/release-name";

/// Adds the workloads, without those of the cluster itself.
pub fn draft(listing: &str, source: &str, draft: &mut Draft) -> Result<(), ImportError> {
    let own = Own::built_in()?;
    let list: ListWire = serde_json::from_str(listing).map_err(|error| ImportError::Command {
        source_name: source.to_owned(),
        program: "kubectl".to_owned(),
        why: format!("its answer cannot be read ({error})"),
    })?;
    let is_own = |item: &&ItemWire| !own.cluster.iter().any(|glob| matches(glob, &item.metadata.namespace));
    let items: Vec<&ItemWire> = list.items.iter().filter(is_own).collect();
    for ItemWire { kind, metadata } in &items {
        let MetadataWire { name, namespace, annotations } = metadata;
        let is_common = items.iter().filter(|other| other.metadata.name == *name).count() > 1;
        let service_name = if is_common { format!("{namespace}-{name}") } else { name.clone() };
        let mut service = Service::new(naming::name(&service_name), source, false);
        service.add(Key::Workloads, format!("{namespace}/{}/{name}", kind.to_lowercase()));
        if let Some(release) = annotations.get(RELEASE).filter(|release| is_name(release)) {
            service.add(Key::Releases, release.clone());
        }
        draft.add_service(service);
    }
    Ok(())
}
