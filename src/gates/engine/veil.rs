//! What clients see of containers: no secrets, and if so configured only those that hosts.yaml lists.

use std::cmp::Reverse;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_reader::shell::glob;
use serde::Deserialize;
use serde_json::Value;

use super::container::word;

/// The variables of containers whose values clients may read.
static HARMLESS: LazyLock<Harmless> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("variables.yaml")).unwrap_or_default());

/// The variables of containers whose values clients may read, as globs.
#[derive(Debug, Default, Deserialize)]
struct Harmless {
    names: Vec<String>,
    values: Vec<String>,
}

impl Harmless {
    /// Whether a variable is one of them.
    fn has(&self, name: &str, content: &str) -> bool {
        let matches = |globs: &[String], text: &str| globs.iter().any(|own| glob(own, text));
        let is_number = content.len() <= 10 && content.bytes().all(|byte| byte.is_ascii_digit());
        !is_secret(name, content)
            && (is_number
                || matches(&self.names, name)
                || matches(&self.values, &content.to_ascii_lowercase()))
    }
}

/// What clients do not see.
#[derive(Debug, Clone)]
pub struct Veil {
    /// Whether secrets are removed.
    pub redacts: bool,
    /// Which containers are listed; `None`: all.
    pub listed: Option<Inventory>,
    /// The variables of the guard's own container, which are removed in any case.
    pub own: Vec<String>,
}

/// A response without what clients do not see. One that is not JSON is not changed.
pub fn changed(headers: &HeaderMap, body: Bytes, veil: &Veil) -> Result<Bytes, String> {
    let is_json =
        headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if !is_json || body.is_empty() {
        return Ok(body);
    }
    let mut value: Value = serde_json::from_slice(&body)
        .map_err(|error| format!("the answer of the engine is not JSON ({error})"))?;
    if let (Some(inventory), Some(containers)) = (&veil.listed, value.as_array_mut()) {
        containers.retain(|container| is_listed(container, inventory));
    }
    let mut removed: Vec<String> = veil.own.iter().filter(|text| !is_harmless(text)).cloned().collect();
    if veil.redacts {
        steps(&mut value);
        options(&mut value);
        stated(&value, &mut removed);
        opsctl_redact::json(&mut value);
    }
    // A value may be the beginning of another one.
    removed.sort_by_key(|own| Reverse(own.len()));
    remove(&mut value, &removed);
    serde_json::to_vec(&value).map(Bytes::from).map_err(|error| error.to_string())
}

/// Whether clients may read a variable: `NAME=VALUE`.
fn is_harmless(text: &str) -> bool {
    text.split_once('=').is_none_or(|(name, content)| HARMLESS.has(name, content))
}

/// Adds the variables of containers and images that clients may not read.
fn stated(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| stated(value, into)),
        Value::Object(entries) => {
            let own = entries.get("Env").and_then(Value::as_array).into_iter().flatten();
            into.extend(own.filter_map(Value::as_str).filter(|text| !is_harmless(text)).map(str::to_owned));
            entries.values().for_each(|value| stated(value, into));
        }
        _ => {}
    }
}

/// Redacts variables and arguments in the steps that made an image: `ENV NAME=VALUE`, `|1 NAME=VALUE /bin/sh -c …`.
fn steps(value: &mut Value) {
    for step in value.as_array_mut().into_iter().flatten() {
        let Some(Value::String(text)) = step.get_mut("CreatedBy") else { continue };
        let states = ["ENV ", "ARG ", "|"]
            .iter()
            .any(|sign| text.trim_start_matches("/bin/sh -c #(nop)").trim_start().starts_with(sign));
        if states {
            *text = without_values(text);
        }
    }
}

/// A step without the values that clients may not read; each ends at the next name, or at the command.
fn without_values(step: &str) -> String {
    let mut words = Vec::new();
    let mut is_hidden = false;
    for word in step.split(' ') {
        let stated = word.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains('/'));
        match stated {
            Some((name, _)) if !is_harmless(word) => {
                is_hidden = true;
                words.push(format!("{name}=[redacted]"));
                continue;
            }
            None if is_hidden && !word.starts_with("/bin/") => continue,
            _ => is_hidden = false,
        }
        words.push(word.to_owned());
    }
    words.join(" ")
}

/// The length in bytes of a value that is not a part of another text by chance.
const LONG: usize = 8;

/// Removes the values of variables, also where they are a part of a word of a command: `-dePASS=…` has the option `-e`.
fn remove(value: &mut Value, variables: &[String]) {
    match value {
        Value::String(text) if text.contains('=') => {
            for own in variables {
                let Some((name, content)) = own.split_once('=').filter(|_| text.contains(own.as_str()))
                else {
                    continue;
                };
                let by = format!("{name}=[redacted]");
                if content.len() >= LONG {
                    *text = text.replace(own.as_str(), &by);
                } else if let Some(front) = text.strip_suffix(own.as_str()) {
                    *text = format!("{front}{by}");
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| remove(value, variables)),
        Value::Object(entries) => entries.values_mut().for_each(|value| remove(value, variables)),
        _ => {}
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_an_image_state_no_values() {
        for (step, shown) in [
            ("ENV DSN=hunter2hunter2", "ENV DSN=[redacted]"),
            ("/bin/sh -c #(nop)  ENV DSN=a b c", "/bin/sh -c #(nop)  ENV DSN=[redacted]"),
            ("ENV PATH=/usr/bin DSN=x", "ENV PATH=/usr/bin DSN=[redacted]"),
            ("|1 LICENCE=x /bin/sh -c make A=b", "|1 LICENCE=[redacted] /bin/sh -c make A=[redacted]"),
            ("RUN make A=b", "RUN make A=b"),
        ] {
            let mut value = serde_json::json!([{"CreatedBy": step}]);
            steps(&mut value);
            assert_eq!(value[0]["CreatedBy"], shown, "{step}");
        }
    }
}
