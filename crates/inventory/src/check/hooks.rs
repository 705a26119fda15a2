//! Additional hooks of the operator, converted to groups of the client's settings.

use crate::inventory::spanned::{Location, Spanned};
use serde_json::{Map, Value, json};

use super::values::{check_model, is_http_url};
use crate::inventory::error::{Checked, Found, Mistake, suggestion};
use crate::inventory::yaml::forms::{Entries, entries};
use crate::inventory::yaml::hooks::{HookTypeWire, HookWire};
use crate::model::event::{EVENTS, event_name};
use crate::model::hooks::OwnHook;

/// The events of a tool call, which support `if`.
const TOOL_EVENTS: [&str; 5] =
    ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"];

/// The maximum timeout of a hook, in seconds.
const MAX_TIMEOUT: u32 = 3600;

/// Checks the hooks, in the order of the file.
pub fn check(wire: Option<Entries<Vec<Spanned<HookWire>>>>, found: &mut Found) -> Vec<OwnHook> {
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

fn check_hook(event: &str, wire: Spanned<HookWire>, found: &mut Found) -> Checked<Value> {
    let position = wire.referenced;
    let HookWire {
        matcher,
        r#type,
        command,
        args,
        prompt,
        model,
        url,
        headers,
        allowed_env_vars,
        server,
        tool,
        input,
        r#if,
        timeout,
        status_message,
        r#async,
        on_failure,
    } = wire.value;
    if let Some(url) = url.as_ref().filter(|url| !is_http_url(&url.value)) {
        found.add(Mistake::of(url, "is not an HTTP URL", "write one such as `http://127.0.0.1:8080/hook`"));
    }
    found.keep(model.as_ref().map(check_model).transpose());
    if let Some(condition) = r#if.as_ref().filter(|_| !TOOL_EVENTS.contains(&event)) {
        let what = format!("unsupported `if: {}` of a hook at `{event}`", condition.value);
        let remedy = format!("`if` is supported at `{}`", TOOL_EVENTS.join("`, `"));
        found.add(Mistake::at(condition.referenced, what, remedy));
    }
    if let Some(timeout) = timeout.as_ref().filter(|timeout| !(1..=MAX_TIMEOUT).contains(&timeout.value)) {
        let what = format!("`{}` is not a valid hook timeout", timeout.value);
        found.add(Mistake::at(timeout.referenced, what, format!("write seconds from 1 to {MAX_TIMEOUT}")));
    }
    if let Some(headers) = &headers {
        let listed = allowed_env_vars.as_deref().unwrap_or_default();
        found.keep(check_headers(headers, listed, position));
    }
    let matcher = matcher.and_then(|matcher| found.keep(not_empty(matcher)));
    let mut text = |text: Option<Spanned<String>>| -> Option<Value> {
        let known = text.as_ref().map(|text| text.value.clone());
        text.map(|text| Value::String(found.keep(not_empty(text)).or(known).unwrap_or_default()))
    };
    let specific = [
        ("command", text(command)),
        ("args", args.map(|args| json!(args))),
        ("prompt", text(prompt)),
        ("model", text(model)),
        ("url", text(url)),
        ("headers", headers.map(Value::Object)),
        ("allowedEnvVars", allowed_env_vars.map(|names| json!(names))),
        ("server", text(server)),
        ("tool", text(tool)),
        ("input", input.map(Value::Object)),
        ("async", r#async.map(Value::Bool)),
        ("onFailure", on_failure.map(|choice| json!(choice))),
    ];
    let (kind, needed, optional) = keys(r#type);
    let mut hook = Map::new();
    hook.insert("type".to_owned(), json!(kind));
    for (key, value) in specific {
        match value {
            Some(_) if !needed.contains(&key) && !optional.contains(&key) => {
                let all = [needed, optional].concat();
                let what = format!("`{key}` is not supported by a hook of type `{kind}`");
                return Err(Mistake::at(
                    position,
                    what,
                    format!("this type supports `{}`", all.join("`, `")),
                ));
            }
            Some(value) => {
                hook.insert(key.to_owned(), value);
            }
            None if needed.contains(&key) => {
                let what = format!("missing key `{key}` of a hook of type `{kind}`");
                return Err(Mistake::at(position, what, format!("add `{key}:`")));
            }
            None => {}
        }
    }
    let common = [
        ("if", text(r#if)),
        ("timeout", timeout.map(|timeout| json!(timeout.value))),
        ("statusMessage", text(status_message)),
    ];
    hook.extend(common.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    let mut group = Map::new();
    group.extend(matcher.map(|matcher| ("matcher".to_owned(), Value::String(matcher))));
    group.insert("hooks".to_owned(), json!([hook]));
    Ok(Value::Object(group))
}

fn not_empty(text: Spanned<String>) -> Checked<String> {
    if text.value.trim().is_empty() || text.value.contains('\0') {
        return Err(Mistake::of(
            &text,
            "is not valid text",
            "write text that is not empty, or remove the key",
        ));
    }
    Ok(text.value)
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
