//! The hooks that an operator adds: each in the form in which the client takes it.

use serde_json::{Map, Value, json};
use serde_saphyr::{Location, Spanned};

use super::health::is_http_url;
use super::{Checked, entries, wrong};
use crate::inventory::error::{Mistake, suggestion};
use crate::inventory::wire::Entries;
use crate::inventory::wire_hooks::{HookTypeWire, HookWire};
use crate::model::event::EVENT_NAMES;
use crate::model::hooks::OwnHook;
use crate::model::policy::is_model;

/// The events of a tool call. Elsewhere there is nothing that `if` could be held against.
const TOOL_EVENTS: [&str; 5] =
    ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"];

/// The longest that a hook may take, in seconds: an hour.
const MOST_SECONDS: u32 = 3600;

/// Checks the hooks, in their order.
pub fn check(wire: Option<Entries<Vec<Spanned<HookWire>>>>) -> Checked<Vec<OwnHook>> {
    let mut hooks = Vec::new();
    for (event, list) in entries(wire) {
        if !EVENT_NAMES.contains(&event.value.as_str()) {
            let near = suggestion(&event.value, EVENT_NAMES);
            return Err(wrong(&event, "is not an event of the client", &near));
        }
        for hook in list {
            let group = check_hook(&event.value, hook)?;
            hooks.push(OwnHook { event: event.value.clone(), group: group.to_string() });
        }
    }
    Ok(hooks)
}

/// The keys that only some types have, and which of them this type needs.
const fn keys(kind: HookTypeWire) -> (&'static str, &'static [&'static str], &'static [&'static str]) {
    match kind {
        HookTypeWire::Command => ("command", &["command"], &["args", "async", "onFailure"]),
        HookTypeWire::Prompt => ("prompt", &["prompt"], &["model"]),
        HookTypeWire::Agent => ("agent", &["prompt"], &["model"]),
        HookTypeWire::Http => ("http", &["url"], &["headers", "allowedEnvVars", "onFailure"]),
        HookTypeWire::McpTool => ("mcp_tool", &["server", "tool"], &["input", "onFailure"]),
    }
}

fn check_hook(event: &str, wire: Spanned<HookWire>) -> Checked<Value> {
    let place = wire.referenced;
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
        return Err(wrong(url, "is not an HTTP address", "write one such as `http://127.0.0.1:8080/hook`"));
    }
    if let Some(model) = model.as_ref().filter(|model| !is_model(&model.value)) {
        return Err(wrong(model, "is not the name of a model", "write one such as `haiku`"));
    }
    if let Some(condition) = r#if.as_ref().filter(|_| !TOOL_EVENTS.contains(&event)) {
        let remedy = format!("`if` holds for {}", TOOL_EVENTS.join(", "));
        return Err(wrong(
            condition,
            &format!("is a condition on a tool call, which {event} is not"),
            &remedy,
        ));
    }
    if let Some(timeout) = timeout.as_ref().filter(|timeout| !(1..=MOST_SECONDS).contains(&timeout.value)) {
        let what = format!("`{}` is no time that a hook may take", timeout.value);
        return Err(Mistake::at(timeout.referenced, what, "write seconds from 1 to 3600".to_owned()));
    }
    if let Some(headers) = &headers {
        check_headers(headers, allowed_env_vars.as_deref().unwrap_or_default(), place)?;
    }
    let matcher = matcher.map(not_empty).transpose()?;
    let text = |text: Option<Spanned<String>>| -> Checked<Option<Value>> {
        text.map(not_empty).transpose().map(|text| text.map(Value::String))
    };
    let specific = [
        ("command", text(command)?),
        ("args", args.map(|args| json!(args))),
        ("prompt", text(prompt)?),
        ("model", text(model)?),
        ("url", text(url)?),
        ("headers", headers.map(Value::Object)),
        ("allowedEnvVars", allowed_env_vars.map(|names| json!(names))),
        ("server", text(server)?),
        ("tool", text(tool)?),
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
                let what = format!("`{key}` is no key of a hook of type `{kind}`");
                return Err(Mistake::at(place, what, format!("its own keys are `{}`", all.join("`, `"))));
            }
            Some(value) => {
                hook.insert(key.to_owned(), value);
            }
            None if needed.contains(&key) => {
                let what = format!("a hook of type `{kind}` without `{key}`");
                return Err(Mistake::at(place, what, format!("add `{key}:`")));
            }
            None => {}
        }
    }
    let common = [
        ("if", text(r#if)?),
        ("timeout", timeout.map(|timeout| json!(timeout.value))),
        ("statusMessage", text(status_message)?),
    ];
    hook.extend(common.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    let mut group = Map::new();
    group.extend(matcher.map(|matcher| ("matcher".to_owned(), Value::String(matcher))));
    group.insert("hooks".to_owned(), json!([hook]));
    Ok(Value::Object(group))
}

fn not_empty(text: Spanned<String>) -> Checked<String> {
    if text.value.trim().is_empty() || text.value.contains('\0') {
        return Err(wrong(&text, "says nothing", "write it, or leave the key out"));
    }
    Ok(text.value)
}

/// The client leaves the value of a variable empty that is not listed.
fn check_headers(headers: &Map<String, Value>, listed: &[String], place: Location) -> Checked<()> {
    for (name, value) in headers {
        let Value::String(value) = value else {
            let what = format!("the header `{name}` is not text");
            return Err(Mistake::at(place, what, "write it between quotes".to_owned()));
        };
        for rest in value.split('$').skip(1) {
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            let variable: String =
                rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if !variable.is_empty() && !listed.contains(&variable) {
                let what = format!("the header `{name}` uses `{variable}`, which would stay empty");
                return Err(Mistake::at(place, what, format!("add `allowedEnvVars: [{variable}]`")));
            }
        }
    }
    Ok(())
}
