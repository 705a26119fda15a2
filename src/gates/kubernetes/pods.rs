//! The containers of a pod as an engine would describe them: what they have of their node.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::gates::containers::mounts::{bound, unknown};
use crate::gates::containers::reach::KNOWN;

/// The lists of containers of a pod.
const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The name of the container that a request concerns, of which the pod has one. Without a name, it is the only container; `None` if there
/// are several, which the API server refuses.
pub fn container(pod: &Value, stated: Option<&str>) -> Result<Option<String>, String> {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let names =
        |list: &str| items(spec, list).filter_map(|one| one.get("name")?.as_str()).collect::<Vec<_>>();
    match (stated.filter(|name| !name.is_empty()), names("containers").as_slice()) {
        (Some(name), _) if LISTS.iter().any(|list| names(list).contains(&name)) => Ok(Some(name.to_owned())),
        (Some(name), _) => Err(format!("the pod has no container `{name}`")),
        (None, [only]) => Ok(Some((*only).to_owned())),
        (None, _) => Ok(None),
    }
}

/// The claims of a pod whose volumes its containers have, by the name of the volume.
pub fn claims(pod: &Value) -> Vec<(String, String)> {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let name_of_pod = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let claim = |volume: &Value| {
        let name = volume.get("name")?.as_str()?.to_owned();
        let claim = match volume.pointer("/persistentVolumeClaim/claimName").and_then(Value::as_str) {
            Some(claim) => claim.to_owned(),
            None => volume.get("ephemeral").map(|_| format!("{name_of_pod}-{name}"))?,
        };
        Some((name, claim))
    };
    items(spec, "volumes").filter_map(claim).collect()
}

/// The description of a container of a pod. Without its name, and if the containers share their processes, it is that of all of them.
/// `claimed` are the persistent volumes behind claims, by the name of the volume.
pub fn described(pod: &Value, container: Option<&str>, claimed: &BTreeMap<String, Value>) -> Value {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let is_on = |key: &str| spec.get(key) == Some(&Value::Bool(true));
    let is_meant = |one: &&Value| {
        is_on("shareProcessNamespace")
            || container.is_none_or(|name| one.get("name").and_then(Value::as_str) == Some(name))
    };
    let all: Vec<&Value> = LISTS.iter().flat_map(|list| items(spec, list)).filter(is_meant).collect();
    let list = |of: &dyn Fn(&Value) -> Vec<Value>| all.iter().flat_map(|one| of(one)).collect::<Vec<Value>>();
    let mounts =
        list(&|one| items(one, "volumeMounts").filter_map(|mount| mounted(spec, mount, claimed)).collect());
    let variables = list(&|one| {
        let text =
            |own: &Value, key: &str| own.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        items(one, "env").map(|own| format!("{}={}", text(own, "name"), text(own, "value")).into()).collect()
    });
    let capabilities = list(&|one| {
        let added = one.pointer("/securityContext/capabilities/add").and_then(Value::as_array);
        added.into_iter().flatten().cloned().collect()
    });
    // Which device it is, the volume states.
    let devices = list(&|one| items(one, "volumeDevices").map(|_| json!({"PathOnHost": "/dev"})).collect());
    let is_privileged =
        all.iter().any(|one| one.pointer("/securityContext/privileged") == Some(&Value::Bool(true)));
    let folder = all.iter().find_map(|one| one.get("workingDir")?.as_str()).unwrap_or_default();
    let mode = |key: &str| if is_on(key) { "host" } else { "" };
    json!({
        "Mounts": mounts,
        "Config": {"Env": variables, "WorkingDir": folder},
        "HostConfig": {
            "Privileged": is_privileged, "PidMode": mode("hostPID"), "NetworkMode": mode("hostNetwork"), "CapAdd": capabilities,
            "Devices": devices,
        },
    })
}

/// The folder in which commands start; empty if the pod does not state one.
pub fn folder(described: &Value) -> &str {
    described.pointer("/Config/WorkingDir").and_then(Value::as_str).unwrap_or_default()
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The folder of the node that a mount of a container is; `None` if its volume is none of the node. One that is neither known to be apart
/// nor resolved may be any folder.
fn mounted(spec: &Value, mount: &Value, claimed: &BTreeMap<String, Value>) -> Option<Value> {
    let text = |key: &str| mount.get(key).and_then(Value::as_str);
    let (name, place) = (text("name")?, text("mountPath")?);
    let mut volumes = items(spec, "volumes");
    let own = volumes.find(|volume| volume.get("name").and_then(Value::as_str) == Some(name));
    let volume = claimed.get(name).or(own).unwrap_or(&Value::Null);
    let folder =
        ["/hostPath/path", "/local/path"].into_iter().find_map(|path| volume.pointer(path)?.as_str());
    let is_apart =
        || KNOWN.volumes.clusters.iter().any(|kind| volume.get(kind).is_some_and(|own| !own.is_null()));
    match folder {
        // What variables make of `subPathExpr` is somewhere below.
        Some(path) => {
            let below = text("subPath").map(|below| format!("/{below}")).unwrap_or_default();
            Some(bound(&format!("{path}{below}"), place))
        }
        None if is_apart() => None,
        None => Some(unknown(place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::containers::reach::Reach;

    #[test]
    fn containers_have_the_folders_and_rights_that_their_pod_states() {
        let pod = |more: Value, of_pod: Value| {
            let mut own = json!({"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/x"}]});
            own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let mut spec =
                json!({"containers": [own, {"name": "other"}], "volumes": [{"name": "v", "emptyDir": {}}]});
            spec.as_object_mut().unwrap().extend(of_pod.as_object().unwrap().clone());
            json!({ "spec": spec })
        };
        let host = |path: &str| json!({"volumes": [{"name": "v", "hostPath": {"path": path}}]});
        let (none, none_claimed) = (json!({}), BTreeMap::new());
        for (own, of_pod, reach, other) in [
            (none.clone(), none.clone(), Reach::Itself, Reach::Itself),
            (none.clone(), host("/"), Reach::Engine, Reach::Itself),
            (none.clone(), host("/run/containerd"), Reach::Engine, Reach::Itself),
            (none.clone(), host("/var/log"), Reach::Itself, Reach::Itself),
            (
                none.clone(),
                json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]}),
                Reach::Host,
                Reach::Itself,
            ),
            (
                none.clone(),
                json!({"volumes": [{"name": "v", "flexVolume": {"driver": "x"}}]}),
                Reach::Host,
                Reach::Itself,
            ),
            (none.clone(), json!({"volumes": []}), Reach::Host, Reach::Itself),
            (
                json!({"env": [{"name": "DOCKER_HOST", "value": "tcp://x"}]}),
                none.clone(),
                Reach::Engine,
                Reach::Itself,
            ),
            (json!({"securityContext": {"privileged": true}}), none.clone(), Reach::Host, Reach::Itself),
            (
                json!({"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}),
                none.clone(),
                Reach::Host,
                Reach::Itself,
            ),
            (json!({"volumeDevices": [{"name": "v"}]}), none.clone(), Reach::Host, Reach::Itself),
            (none.clone(), json!({"hostPID": true}), Reach::Host, Reach::Host),
            (none.clone(), json!({"hostNetwork": true}), Reach::Network, Reach::Network),
            (
                json!({"securityContext": {"privileged": true}}),
                json!({"shareProcessNamespace": true}),
                Reach::Host,
                Reach::Host,
            ),
        ] {
            let pod = pod(own, of_pod);
            assert_eq!(Reach::of(&described(&pod, Some("c"), &none_claimed)), reach, "{pod}");
            assert_eq!(Reach::of(&described(&pod, Some("other"), &none_claimed)), other, "{pod}");
            assert_eq!(Reach::of(&described(&pod, None, &none_claimed)), reach, "{pod}");
        }
    }

    #[test]
    fn claims_are_the_sources_of_their_persistent_volumes() {
        let volumes = json!([
            {"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "w", "ephemeral": {"volumeClaimTemplate": {}}},
        ]);
        let mounts = json!([{"name": "v", "mountPath": "/x", "subPath": "a"}]);
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "volumeMounts": mounts}], "volumes": volumes}});
        let pairs = [("v", "data"), ("w", "p-w")].map(|(name, claim)| (name.to_owned(), claim.to_owned()));
        assert_eq!(claims(&pod), pairs);
        for (source, reach) in [
            (json!({"hostPath": {"path": "/run"}}), Reach::Itself),
            (json!({"hostPath": {"path": "/"}}), Reach::Itself),
            (json!({"hostPath": {"path": "/run/docker.sock/.."}}), Reach::Itself),
            (json!({"hostPath": {"path": "/opt/local-path-provisioner/pvc-1"}}), Reach::Itself),
            (json!({"local": {"path": "/mnt/disk"}}), Reach::Itself),
            (json!({"csi": {"driver": "x"}}), Reach::Itself),
            (json!({"nfs": {"server": "nas", "path": "/run"}}), Reach::Itself),
            (json!({"rbd": {}}), Reach::Itself),
            (json!({"flexVolume": {}}), Reach::Host),
            (json!({}), Reach::Host),
        ] {
            let claimed = BTreeMap::from([("v".to_owned(), source.clone())]);
            let found = Reach::of(&described(&pod, Some("c"), &claimed));
            assert_eq!(found, reach, "{source}");
        }
        let claimed = BTreeMap::from([("v".to_owned(), json!({"local": {"path": "/run/podman"}}))]);
        let mut whole = pod.clone();
        whole["spec"]["containers"][0]["volumeMounts"][0]["subPath"] = json!("");
        assert_eq!(Reach::of(&described(&whole, None, &claimed)), Reach::Engine);
    }

    #[test]
    fn a_request_concerns_a_container_of_the_pod_by_its_name() {
        let pod = |names: &[&str]| {
            let all: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
            json!({"spec": {"containers": all, "initContainers": [{"name": "init"}]}})
        };
        for (names, stated, expected) in [
            (&["a"][..], None, Ok(Some("a"))),
            (&["a"], Some(""), Ok(Some("a"))),
            (&["a", "b"], None, Ok(None)),
            (&["a", "b"], Some(""), Ok(None)),
            (&["a", "b"], Some("b"), Ok(Some("b"))),
            (&["a"], Some("init"), Ok(Some("init"))),
            (&["a"], Some("A"), Err(())),
            (&["a"], Some("x"), Err(())),
        ] {
            let found = container(&pod(names), stated);
            let found = found.as_ref().map(Option::as_deref).map_err(|_| ());
            assert_eq!(found, expected, "{names:?} {stated:?}");
        }
    }
}
