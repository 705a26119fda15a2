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

/// The groups of hooks in settings with their events, in the order of the file.
pub fn groups(settings: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let hooks = settings.get("hooks").and_then(Value::as_object);
    hooks
        .into_iter()
        .flatten()
        .flat_map(|(event, groups)| groups.as_array().into_iter().flatten().map(move |group| (event, group)))
}

/// The hooks of a group.
pub fn hooks(group: &Value) -> impl Iterator<Item = &Value> {
    group.get("hooks").and_then(Value::as_array).into_iter().flatten()
}

/// Whether a hook calls its program as opsctl is called.
pub fn serves_hooks(hook: &Value) -> bool {
    hook.pointer("/args/0").and_then(Value::as_str) == Some("hook")
}

/// Whether the group is from `hosts.yaml`.
pub fn is_marked(group: &Value) -> bool {
    group.get(MARK).and_then(Value::as_str) == Some(HOSTS_YAML)
}

/// The events at which one invalid hook makes the client ignore the whole file.
pub const GUARDING: [&str; 2] = ["PreToolUse", "PermissionRequest"];

/// The position, from 1 on, of the first group of a list that the client cannot read: its matcher, or one of its hooks.
pub fn first_unreadable(groups: &Value) -> Option<usize> {
    let is_readable = |group: &Value| {
        let hooks = group.get("hooks").and_then(Value::as_array);
        has_readable_matcher(group) && hooks.is_some_and(|hooks| hooks.iter().all(is_hook_readable))
    };
    Some(groups.as_array()?.iter().position(|group| !is_readable(group))? + 1)
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
