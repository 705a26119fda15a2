//! Fields of Kubernetes objects and of patches that give a container the rights of its host.

use super::value::{Map, Value};
use crate::languages::names::manifests::{HOST_CAPABILITIES, HOST_RIGHTS};

/// Whether a field gives a container the rights of its host.
pub fn gives_host_rights(value: &Value) -> bool {
    match value {
        Value::List(items) => items.iter().any(gives_host_rights),
        Value::Map(map) => {
            is_patched(map)
                || map.iter().any(|(key, value)| HOST_RIGHTS.has(key) && is_given(value))
                || map.get("add").is_some_and(are_capabilities)
                || map.iter().any(|(_, value)| gives_host_rights(value))
        }
        Value::Text(_) | Value::Plain(_) => false,
    }
}

fn is_given(value: &Value) -> bool {
    match value {
        Value::List(items) => !items.is_empty(),
        Value::Map(_) => true,
        Value::Plain(is_set) => *is_set,
        // YAML 1.1 has further words for what is true.
        Value::Text(text) => ["on", "yes", "y", "true"].contains(&text.to_ascii_lowercase().as_str()),
    }
}

fn are_capabilities(value: &Value) -> bool {
    let is_capability = |name: &str| {
        let name = name.to_ascii_uppercase();
        HOST_CAPABILITIES.has(name.trim_start_matches("CAP_"))
    };
    value.texts().any(is_capability)
}

/// Whether an operation of a JSON patch sets such a field. Its value may be copied from elsewhere.
fn is_patched(operation: &Map) -> bool {
    let Some(path) = operation.path() else { return false };
    let removes = operation.get("op").and_then(Value::as_str) == Some("remove");
    let value = operation.get("value");
    let is_nothing = removes || matches!(value, Some(Value::Plain(false)));
    (path.split('/').any(|part| HOST_RIGHTS.has(part)) && !is_nothing)
        || (path.contains("/capabilities/add") && value.is_none_or(are_capabilities) && !removes)
}
