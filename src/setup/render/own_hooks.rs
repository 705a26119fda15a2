//! Hooks from `hosts.yaml` in the client's settings.

use serde_json::{Map, Value, json};

use opsctl_policy::model::installation::hooks::OwnHook;

/// A key that the client ignores. It marks hooks from `hosts.yaml` for later renderings.
const MARK: &str = "from";
const HOSTS_YAML: &str = "hosts.yaml";

/// Adds hooks after those of opsctl, in their order.
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

/// Whether the group is from `hosts.yaml`.
pub fn is_marked(group: &Value) -> bool {
    group.get(MARK).and_then(Value::as_str) == Some(HOSTS_YAML)
}

/// Whether the client can read a group: its matcher and all its hooks.
pub fn is_readable(group: &Value) -> bool {
    has_readable_matcher(group)
        && group
            .get("hooks")
            .and_then(Value::as_array)
            .is_some_and(|hooks| hooks.iter().all(is_hook_readable))
}

/// Whether the matcher of a group is a string or missing.
pub fn has_readable_matcher(group: &Value) -> bool {
    group.get("matcher").is_none_or(Value::is_string)
}

/// Whether the client can read a hook: it has a known type, the keys that the type requires, and a numeric timeout, if
/// any.
pub fn is_hook_readable(hook: &Value) -> bool {
    let has = |key: &str| hook.get(key).is_some_and(Value::is_string);
    let needed = match hook.get("type").and_then(Value::as_str) {
        Some("command") => has("command"),
        Some("prompt" | "agent") => has("prompt"),
        Some("http") => has("url"),
        Some("mcp_tool") => has("server") && has("tool"),
        _ => false,
    };
    needed && hook.get("timeout").is_none_or(Value::is_number)
}
