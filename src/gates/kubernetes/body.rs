//! What the body of a request states of containers and their rights.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use opsctl_probe::health::quoted;

/// What is known of resources and fields.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    pub access: Vec<String>,
    pub access_objects: Vec<String>,
    pub credentials: Vec<String>,
    pub questions: Vec<String>,
    pub workloads: Vec<String>,
    pub host_rights: Vec<String>,
    pub host_capabilities: Vec<String>,
}

/// A test reads the file, so it is valid.
pub static KNOWN: LazyLock<Known> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("requests.yaml")).unwrap_or_default());

/// The capabilities that give a container the rights of its host.
pub fn host_capabilities() -> &'static [String] {
    &KNOWN.host_capabilities
}

/// The value at the end of a path of keys, each of which is the only one of its object.
pub fn only<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(value, |value, key| {
        let object = value.as_object().filter(|object| object.len() == 1)?;
        object.get(*key)
    })
}

/// Whether a key, or a segment of the path of a JSON patch, contains a text.
pub fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| mentions(item, text)),
        Value::Object(object) => {
            path_of(object).is_some_and(|path| path.contains(text))
                || object.iter().any(|(key, value)| key.contains(text) || mentions(value, text))
        }
        _ => false,
    }
}

/// The path of an operation of a JSON patch: `{"op": "add", "path": "/spec/hostPID", "value": true}`.
fn path_of(object: &Map<String, Value>) -> Option<&str> {
    object.get("path").and_then(Value::as_str).filter(|_| object.contains_key("op"))
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

/// Whether a field gives a container the rights of its host.
pub fn gives_host_rights(value: &Value) -> bool {
    let is_known = |key: &str| KNOWN.host_rights.iter().any(|known| known == key);
    let is_given = |value: &Value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        value => matches!(value, Value::Bool(true) | Value::Object(_)),
    };
    let is_capability = |value: &Value| {
        let name = value.as_str().unwrap_or_default().to_ascii_uppercase();
        KNOWN.host_capabilities.iter().any(|known| known == name.trim_start_matches("CAP_"))
    };
    let are_capabilities = |value: Option<&Value>| match value {
        Some(Value::Array(names)) => names.iter().any(is_capability),
        Some(name) => is_capability(name),
        None => false,
    };
    match value {
        Value::Array(items) => items.iter().any(gives_host_rights),
        Value::Object(object) => {
            // The value of an operation may be copied from elsewhere.
            let patched = path_of(object).is_some_and(|path| {
                let (op, value) = (object.get("op").and_then(Value::as_str), object.get("value"));
                let is_nothing =
                    op == Some("remove") || matches!(value, Some(Value::Bool(false) | Value::Null));
                (path.split('/').any(is_known) && !is_nothing)
                    || (path.contains("/capabilities/add")
                        && (value.is_none() || are_capabilities(value))
                        && op != Some("remove"))
            });
            patched
                || object.iter().any(|(key, value)| is_known(key) && is_given(value))
                || are_capabilities(object.get("add"))
                || object.values().any(gives_host_rights)
        }
        _ => false,
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
