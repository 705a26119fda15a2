//! What the body of a request states of containers and their rights.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use opsctl_probe::health::quoted;
use opsctl_reader::manifest::{host_rights, value as manifest};

/// What is known of resources.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    pub questions: Vec<String>,
    pub workloads: Vec<String>,
    pub annotations: Vec<String>,
}

/// A test reads the file, so it is valid.
pub static KNOWN: LazyLock<Known> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("requests.yaml")).unwrap_or_default());

/// A body as the reader of manifests sees it.
fn as_manifest(body: &Value) -> Option<manifest::Value> {
    manifest::Value::deserialize(body).ok()
}

/// Whether a field of the body gives a container the rights of its host. One that cannot be read does.
pub fn gives_host_rights(body: &Value) -> bool {
    as_manifest(body).is_none_or(|body| host_rights::gives_host_rights(&body))
}

/// Whether a key of the body, or a segment of the path of a JSON patch, contains a text.
pub fn mentions(body: &Value, text: &str) -> bool {
    as_manifest(body).is_none_or(|body| body.mentions(text))
}

/// The value at the end of a path of keys, each of which is the only one of its object.
pub fn only<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(value, |value, key| {
        let object = value.as_object().filter(|object| object.len() == 1)?;
        object.get(*key)
    })
}

/// The commands that containers of a body state, at any depth.
pub fn commands(value: &Value) -> Vec<String> {
    let words = |value: Option<&Value>| {
        let words = value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        words.map(quoted).collect::<Vec<_>>()
    };
    match value {
        Value::Array(items) => items.iter().flat_map(commands).collect(),
        Value::Object(object) => {
            let own = [words(object.get("command")), words(object.get("args"))].concat().join(" ");
            let own = Some(own).filter(|own| !own.is_empty());
            own.into_iter().chain(object.values().flat_map(commands)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_file_of_known_resources_is_valid() {
        assert!(serde_saphyr::from_str::<Known>(include_str!("requests.yaml")).is_ok());
    }

    #[test]
    fn fields_that_give_the_rights_of_the_host_are_found_in_objects_and_patches() {
        for body in [
            json!({"spec": {"template": {"spec": {"containers": [{"securityContext": {"privileged": true}}]}}}}),
            json!({"spec": {"volumes": [{"hostPath": {"path": "/"}}]}}),
            json!([{"op": "add", "path": "/spec/hostNetwork", "value": true}]),
            json!([{"op": "add", "path": "/spec/volumes/-", "value": {"hostPath": {"path": "/"}}}]),
            json!({"capabilities": {"add": ["NET_BIND_SERVICE", "CAP_SYS_ADMIN"]}}),
            json!({"capabilities": {"add": ["sys_admin"]}}),
            json!({"ports": [{"containerPort": 22, "hostPort": 22}]}),
            json!({"volumeDevices": [{"name": "x", "devicePath": "/dev/x"}]}),
            json!({"volumes": [{"csi": {"driver": "x"}}]}),
            json!({"capabilities": {"add": ["SYS_TIME"]}}),
            json!([{"op": "copy", "from": "/spec/containers/0/stdin", "path": "/spec/hostPID"}]),
            json!([{"op": "replace", "path": "/spec/volumes/0/hostPath/path", "value": "/"}]),
            json!([{"op": "add", "path": "/spec/containers/0/securityContext/capabilities/add/-", "value": "SYS_ADMIN"}]),
            json!([{"op": "add", "path": "/spec/containers/0/securityContext/capabilities/add", "value": ["ALL"]}]),
            json!([{"op": "move", "from": "/x", "path": "/spec/containers/0/securityContext/capabilities/add/-"}]),
        ] {
            assert!(gives_host_rights(&body), "{body}");
        }
        for body in [
            json!({"privileged": false, "hostPath": null, "hostPort": 0, "volumeDevices": []}),
            json!({"capabilities": {"drop": ["ALL"]}}),
            json!({"data": {"privileged": "no"}}),
            json!([{"op": "remove", "path": "/spec/hostPID"}]),
        ] {
            assert!(!gives_host_rights(&body), "{body}");
        }
    }
}
