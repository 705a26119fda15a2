//! The containers of a pod as an engine would describe them: what they have of their node.

use serde_json::{Value, json};

/// The lists of containers of a pod.
const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The description of a container of a pod. Without its name, and if the containers share their processes, it is that of all of them.
pub fn described(pod: &Value, container: Option<&str>) -> Value {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let is_on = |key: &str| spec.get(key) == Some(&Value::Bool(true));
    let is_meant = |one: &&Value| {
        is_on("shareProcessNamespace")
            || container.is_none_or(|name| one.get("name").and_then(Value::as_str) == Some(name))
    };
    let all: Vec<&Value> = LISTS.iter().flat_map(|list| items(spec, list)).filter(is_meant).collect();
    let list = |of: &dyn Fn(&Value) -> Vec<Value>| all.iter().flat_map(|one| of(one)).collect::<Vec<Value>>();
    let mounts = list(&|one| items(one, "volumeMounts").filter_map(|mount| mounted(spec, mount)).collect());
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

/// The folder of the node that a mount of a container is; `None` if its volume is none of the node.
fn mounted(spec: &Value, mount: &Value) -> Option<Value> {
    let text = |key: &str| mount.get(key).and_then(Value::as_str);
    let (name, place) = (text("name")?, text("mountPath")?);
    let volume =
        items(spec, "volumes").find(|volume| volume.get("name").and_then(Value::as_str) == Some(name))?;
    let path = volume.pointer("/hostPath/path")?.as_str()?;
    // What variables make of `subPathExpr` is somewhere below.
    let below = text("subPath").map(|below| format!("/{below}")).unwrap_or_default();
    Some(json!({"Type": "bind", "Source": format!("{path}{below}"), "Destination": place}))
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
        let none = json!({});
        for (own, of_pod, reach, other) in [
            (none.clone(), none.clone(), Reach::Itself, Reach::Itself),
            (none.clone(), host("/"), Reach::Engine, Reach::Itself),
            (none.clone(), host("/run/containerd"), Reach::Engine, Reach::Itself),
            (none.clone(), host("/var/log"), Reach::Itself, Reach::Itself),
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
            assert_eq!(Reach::of(&described(&pod, Some("c"))), reach, "{pod}");
            assert_eq!(Reach::of(&described(&pod, Some("other"))), other, "{pod}");
            assert_eq!(Reach::of(&described(&pod, None)), reach, "{pod}");
        }
    }
}
