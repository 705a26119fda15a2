//! What clients see of containers: no secrets, and if so configured only those that hosts.yaml lists.

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use opsctl_policy::model::installation::inventory::Inventory;
use serde_json::Value;

use super::container::word;

/// A response, redacted, and without the containers that the inventory does not list. One that is not JSON is not changed.
pub fn changed(
    headers: &HeaderMap,
    body: Bytes,
    redacts: bool,
    listed: Option<&Inventory>,
) -> Result<Bytes, String> {
    let is_json =
        headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if !is_json || body.is_empty() {
        return Ok(body);
    }
    let mut value: Value = serde_json::from_slice(&body)
        .map_err(|error| format!("the answer of the engine is not JSON ({error})"))?;
    if let (Some(inventory), Some(containers)) = (listed, value.as_array_mut()) {
        containers.retain(|container| is_listed(container, inventory));
    }
    if redacts {
        options(&mut value);
        opsctl_redact::json(&mut value);
    }
    serde_json::to_vec(&value).map(Bytes::from).map_err(|error| error.to_string())
}

/// Redacts values of options in lists of arguments: `["--requirepass", "…"]`.
fn options(value: &mut Value) {
    match value {
        Value::Array(values) => {
            let mut last = String::new();
            for value in values {
                let Some(text) = value.as_str().map(str::to_owned) else {
                    options(value);
                    continue;
                };
                let pair = format!("{last} {text}");
                if last.starts_with('-')
                    && opsctl_redact::text(&pair).starts_with(&format!("{last} [redacted]"))
                {
                    *value = Value::from("[redacted]");
                }
                last = text;
            }
        }
        Value::Object(entries) => entries.values_mut().for_each(options),
        _ => {}
    }
}

/// Whether the inventory lists a container of a list.
fn is_listed(container: &Value, inventory: &Inventory) -> bool {
    let id = container.get("Id").and_then(Value::as_str).unwrap_or_default();
    let names = container.get("Names").and_then(Value::as_array);
    let name = names.and_then(|names| names.first()?.as_str()).unwrap_or_default().trim_start_matches('/');
    word(id, name, container.get("Labels"), (inventory, None)).is_some_and(|(_, is_listed)| is_listed)
}
