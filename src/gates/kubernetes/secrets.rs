//! Values of Secrets, which do not enter a session.

use opsctl_reader::shell::glob;
use serde_json::{Map, Value};

use super::body::KNOWN;

/// What stands in place of a value, and the same in base64.
const REPLACED: &str = "[redacted]";
const REPLACED_IN_BASE64: &str = "W3JlZGFjdGVkXQ==";

/// Replaces the values of all Secrets in a response, at any depth: an object, a list, or a table with objects. An annotation may contain
/// them, too: `kubectl apply` and operators keep an object there.
pub fn redact(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(object) => {
            replace(object, "data", REPLACED_IN_BASE64);
            replace(object, "stringData", REPLACED);
            if let Some(Value::Object(annotations)) = object.get_mut("annotations") {
                let is_harmless = |name: &str| KNOWN.annotations.iter().any(|own| glob(own, name));
                for (_, text) in annotations.iter_mut().filter(|(name, _)| !is_harmless(name)) {
                    *text = REPLACED.into();
                }
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

/// Whether a body is a JSON patch that compares a value, or copies it to where it is not redacted.
pub fn reveals(body: &Value) -> bool {
    let is_plain =
        |op: &Value| matches!(op.get("op").and_then(Value::as_str), Some("add" | "replace" | "remove"));
    body.as_array().is_some_and(|ops| !ops.iter().all(is_plain))
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
    fn a_json_patch_that_compares_or_copies_values_reveals_them() {
        let copied = json!([{"op": "copy", "from": "/data/password", "path": "/metadata/annotations/x"}]);
        let compared = json!([{"op": "test", "path": "/data/password", "value": "aHVudGVyMg=="}]);
        assert!(reveals(&copied) && reveals(&compared));
        assert!(!reveals(&json!([{"op": "add", "path": "/data/a", "value": "YQ=="}])));
        assert!(!reveals(&json!({"data": {"a": "YQ=="}})));
    }

    #[test]
    fn values_are_replaced_in_objects_lists_tables_and_annotations() {
        let secret = json!({"kind": "Secret", "metadata": {"name": "x", "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"a\":\"aHVudGVyMg==\"}}",
            "kopf.zalando.org/last-handled-configuration": "{\"data\":{\"a\":\"aHVudGVyMg==\"}}",
            "meta.helm.sh/release-name": "shop",
        }},
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
                text.contains("\"a\":\"W3JlZGFjdGVkXQ==\"")
                    && text.contains("shop")
                    && text.contains("Opaque")
                    && is_redacted(&text),
                "{text}"
            );
        }
    }
}
