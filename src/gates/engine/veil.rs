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

/// The most words of a list that are read as a command.
const MOST_WORDS: usize = 200;

/// Redacts what only the form of a description shows: variables, and options of programs in lists of words.
fn options(value: &mut Value) {
    match value {
        Value::Array(values) => {
            variables(values);
            words(&[], values);
            values.iter_mut().for_each(options);
        }
        Value::Object(entries) => {
            let list =
                |key: &str| texts(entries.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice));
            let program = entries.get("Path").and_then(Value::as_str).map(str::to_owned);
            let before = [("Args", program.into_iter().collect()), ("Cmd", list("Entrypoint"))];
            for (key, before) in before {
                if let Some(values) = entries.get_mut(key).and_then(Value::as_array_mut) {
                    words(&before, values);
                }
            }
            let labels = entries.get_mut("Labels").and_then(Value::as_object_mut);
            for (name, value) in labels.into_iter().flatten() {
                if value.as_str().is_some_and(|content| is_secret(name, content)) {
                    *value = Value::from("[redacted]");
                }
            }
            entries.values_mut().for_each(options);
        }
        _ => {}
    }
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Redacts variables with names such as `PASS` and `adminPw`, which are ordinary words elsewhere.
fn variables(values: &mut [Value]) {
    for value in values {
        let Some((name, content)) = value.as_str().and_then(|text| text.split_once('=')) else { continue };
        if is_secret(name, content) {
            *value = Value::from(format!("{name}=[redacted]"));
        }
    }
}

/// Whether a variable, or a label such as `homepage.widget.key`, has the name of a secret.
fn is_secret(name: &str, content: &str) -> bool {
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)) {
        return false;
    }
    let mut snake = String::from("X_");
    let mut last = ' ';
    for letter in name.chars() {
        snake.extend((last.is_lowercase() && letter.is_uppercase()).then_some('_'));
        snake.extend(letter.to_uppercase());
        last = letter;
    }
    let name = snake.replace(['.', '-'], "_");
    opsctl_redact::text(&format!("{name}={content}")).starts_with(&format!("{name}=[redacted]"))
}

/// Redacts words that are secrets in a command: `["redis-cli", "-a", "…"]`.
fn words(before: &[String], values: &mut [Value]) {
    let mut line = before.join(" ");
    for value in values.iter_mut().take(MOST_WORDS) {
        let Some(text) = value.as_str().map(str::to_owned) else { return };
        let last = opsctl_redact::text(&line).into_owned();
        line = if line.is_empty() { text.clone() } else { format!("{line} {text}") };
        let redacted = opsctl_redact::text(&line);
        if let Some(own) = redacted.strip_prefix(&last).map(str::trim_start).filter(|own| *own != text) {
            *value = Value::from(own);
        }
    }
}

/// Whether the inventory lists a container of a list.
fn is_listed(container: &Value, inventory: &Inventory) -> bool {
    let id = container.get("Id").and_then(Value::as_str).unwrap_or_default();
    let names = container.get("Names").and_then(Value::as_array);
    let name = names.and_then(|names| names.first()?.as_str()).unwrap_or_default().trim_start_matches('/');
    word(id, name, container.get("Labels"), (inventory, None)).is_some_and(|(_, is_listed)| is_listed)
}
