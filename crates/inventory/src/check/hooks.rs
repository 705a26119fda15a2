//! Additional hooks of the operator, converted to groups of the client's settings.

use crate::spanned::{Location, Spanned};
use serde_json::{Map, Value, json};

use crate::error::{Checked, Mistake, Mistakes, suggestion};
use crate::yaml::forms::{Entries, entries};
use crate::yaml::hooks::{HookTypeWire, HookWire};
use opsctl_policy::model::installation::hooks::OwnHook;
use opsctl_policy::model::records::event::{EVENTS, event_name};

/// The events of a tool call, which support `if`.
const TOOL_EVENTS: [&str; 5] =
    ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"];

/// Checks the hooks, in the order of the file.
pub fn check(wire: Option<Entries<Vec<Spanned<HookWire>>>>, found: &mut Mistakes) -> Vec<OwnHook> {
    let mut hooks = Vec::new();
    for (event, list) in entries(wire) {
        let known = EVENTS.map(event_name);
        if !known.contains(&event.value) {
            let near = suggestion(&event.value, known.iter().map(String::as_str));
            found.add(Mistake::of(&event, "is not a hook event", near));
            continue;
        }
        for hook in list {
            let checked = check_hook(&event.value, hook, found);
            if let Some(group) = found.keep(checked) {
                hooks.push(OwnHook { event: event.value.clone(), group: group.to_string() });
            }
        }
    }
    hooks
}

/// The word for a type of hook, the keys that this type requires, and its optional keys that other types do not have.
const fn keys(kind: HookTypeWire) -> (&'static str, &'static [&'static str], &'static [&'static str]) {
    match kind {
        HookTypeWire::Command => ("command", &["command"], &["args", "async", "onFailure"]),
        HookTypeWire::Prompt => ("prompt", &["prompt"], &["model"]),
        HookTypeWire::Agent => ("agent", &["prompt"], &["model"]),
        HookTypeWire::Http => ("http", &["url"], &["headers", "allowedEnvVars", "onFailure"]),
        HookTypeWire::McpTool => ("mcp_tool", &["server", "tool"], &["input", "onFailure"]),
    }
}

/// Keys that every type of hook has.
const COMMON: [&str; 4] = ["type", "if", "timeout", "statusMessage"];

fn check_hook(event: &str, wire: Spanned<HookWire>, found: &mut Mistakes) -> Checked<Value> {
    let position = wire.referenced;
    let mut wire = wire.value;
    if let Some(condition) = wire.r#if.as_ref().filter(|_| !TOOL_EVENTS.contains(&event)) {
        let what = format!("unsupported `if: {}` of a hook at `{event}`", condition.value.0);
        let remedy = format!("`if` is supported at `{}`", TOOL_EVENTS.join("`, `"));
        found.add(Mistake::at(condition.referenced, what, remedy));
    }
    if let Some(headers) = &wire.headers {
        let listed = wire.allowed_env_vars.as_deref().unwrap_or_default();
        found.keep(check_headers(headers, listed, position));
    }
    let matcher = wire.matcher.take();
    let (kind, needed, optional) = keys(wire.r#type);
    let mut hook = json!(wire);
    if let Value::Object(hook) = &mut hook {
        hook.retain(|_, value| !value.is_null());
        let is_supported = |key: &str| [&COMMON, needed, optional].iter().any(|keys| keys.contains(&key));
        if let Some(key) = hook.keys().find(|key| !is_supported(key)) {
            let what = format!("`{key}` is not supported by a hook of type `{kind}`");
            let all = [needed, optional].concat();
            return Err(Mistake::at(position, what, format!("this type supports `{}`", all.join("`, `"))));
        }
        if let Some(key) = needed.iter().find(|key| !hook.contains_key(**key)) {
            let what = format!("missing key `{key}` of a hook of type `{kind}`");
            return Err(Mistake::at(position, what, format!("add `{key}:`")));
        }
    }
    let mut group = Map::new();
    group.extend(matcher.map(|matcher| ("matcher".to_owned(), Value::String(matcher.0))));
    group.insert("hooks".to_owned(), json!([hook]));
    Ok(Value::Object(group))
}

/// The client expands only listed variables; others become empty.
fn check_headers(headers: &Map<String, Value>, listed: &[String], position: Location) -> Checked<()> {
    for (name, value) in headers {
        let Value::String(value) = value else {
            return Err(Mistake::at(
                position,
                format!("header `{name}` is not text"),
                "put its value in quotes",
            ));
        };
        for rest in value.split('$').skip(1) {
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            let variable: String =
                rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if !variable.is_empty() && !listed.contains(&variable) {
                let what = format!("unlisted variable `{variable}` of header `{name}`");
                return Err(Mistake::at(position, what, format!("add `allowedEnvVars: [{variable}]`")));
            }
        }
    }
    Ok(())
}
