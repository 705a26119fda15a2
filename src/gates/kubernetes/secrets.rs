//! Values of Secrets, which do not enter a session.

use serde_json::{Map, Value};

/// What stands in place of a value, and the same in base64.
const REPLACED: &str = "[redacted]";
const REPLACED_IN_BASE64: &str = "W3JlZGFjdGVkXQ==";

/// The annotation in which `kubectl apply` keeps an object, with its values.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Replaces the values of all Secrets in a response, at any depth: an object, a list, or a table with objects.
pub fn redact(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(object) => {
            replace(object, "data", REPLACED_IN_BASE64);
            replace(object, "stringData", REPLACED);
            if let Some(text) = object.get_mut(LAST_APPLIED) {
                *text = REPLACED.into();
            }
            object.values_mut().for_each(redact);
        }
        _ => {}
    }
}

fn replace(object: &mut Map<String, Value>, key: &str, by: &str) {
    if let Some(Value::Object(values)) = object.get_mut(key) {
        values.values_mut().for_each(|value| *value = by.into());
    }
}

/// Whether a body has a replaced value, which would destroy the real one.
pub fn is_redacted(body: &str) -> bool {
    body.contains(REPLACED) || body.contains(REPLACED_IN_BASE64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_replaced_in_objects_lists_tables_and_annotations() {
        let secret = json!({"kind": "Secret", "metadata": {"name": "x", "annotations": {LAST_APPLIED: "{\"data\":{\"a\":\"aHVudGVyMg==\"}}"}},
            "data": {"a": "aHVudGVyMg=="}, "stringData": {"b": "hunter2"}, "type": "Opaque"});
        for mut value in [
            secret.clone(),
            json!({"items": [secret]}),
            json!({"rows": [{"cells": ["x", 1], "object": secret}]}),
        ] {
            redact(&mut value);
            let text = value.to_string();
            assert!(!text.contains("aHVudGVyMg") && !text.contains("hunter2"), "{text}");
            assert!(
                text.contains("\"a\":\"W3JlZGFjdGVkXQ==\"") && text.contains("Opaque") && is_redacted(&text),
                "{text}"
            );
        }
    }
}
