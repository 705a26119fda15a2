//! The operator's own hooks beside ours.

use serde_json::{Map, Value, json};

use crate::model::hooks::OwnHook;

/// A key that the client passes over. By it a later rendering knows which hooks came from `hosts.yaml`.
const MARK: &str = "from";
const HOSTS_YAML: &str = "hosts.yaml";

/// Puts the hooks behind ours, in their order.
pub fn add(settings: &mut Value, hooks: &[OwnHook]) -> Result<(), serde_json::Error> {
    let Some(Value::Object(ours)) = settings.get_mut("hooks") else { return Ok(()) };
    for hook in hooks {
        let mut group: Map<String, Value> = serde_json::from_str(&hook.group)?;
        group.insert(MARK.to_owned(), json!(HOSTS_YAML));
        if let Value::Array(groups) = ours.entry(hook.event.as_str()).or_insert_with(|| json!([])) {
            groups.push(Value::Object(group));
        }
    }
    Ok(())
}

/// Whether an earlier rendering put the group there.
pub fn is_marked(group: &Value) -> bool {
    group.get(MARK).and_then(Value::as_str) == Some(HOSTS_YAML)
}

/// Whether the client can read a group: each hook of a type that it knows, with what that type needs, and a time in
/// numbers.
pub fn is_readable(group: &Value) -> bool {
    let Some(hooks) = group.get("hooks").and_then(Value::as_array) else { return false };
    hooks.iter().all(|hook| {
        let has = |key: &str| hook.get(key).is_some_and(Value::is_string);
        let needed = match hook.get("type").and_then(Value::as_str) {
            Some("command") => has("command"),
            Some("prompt" | "agent") => has("prompt"),
            Some("http") => has("url"),
            Some("mcp_tool") => has("server") && has("tool"),
            _ => false,
        };
        needed && hook.get("timeout").is_none_or(Value::is_number)
    })
}
