//! The hook configuration of clients besides Claude Code.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{RenderError, Rendered};
use crate::machine::client::clients::{Client, Description};
use crate::machine::installation::COMPILED_POLICY;
use opsctl_inventory::compiled::Compiled;
use opsctl_policy::model::rights::policy::OnFailure;
use opsctl_probe::health::quoted;

/// The first line of a rendered TOML file, by which it is recognised.
pub const MARK: &str = "# Written by `opsctl render --for codex`.\n";

/// What is rendered for a client besides Claude Code.
pub struct ClientOrder<'a> {
    /// The client.
    pub client: Client,
    /// The inventory and the limits.
    pub compiled: &'a Compiled,
    /// The command that the hooks call.
    pub opsctl: &'a str,
    /// The project, an absolute path.
    pub project: &'a Path,
    /// The machine's settings of the client, if they get the hooks: an absolute path.
    pub managed: Option<&'a Path>,
    /// The text of the file that gets the hooks, if it exists.
    pub existing: Option<&'a str>,
}

/// The settings of a project with hooks, relative to its folder.
pub const fn settings(client: Client) -> &'static str {
    match client {
        Client::ClaudeCode => super::SETTINGS,
        Client::Codex => ".codex/hooks.json",
        Client::Gemini => ".gemini/settings.json",
    }
}

/// The settings of the machine with hooks, which no project can override.
pub const fn managed(client: Client) -> &'static str {
    match client {
        Client::ClaudeCode => super::MANAGED,
        Client::Codex => "/etc/codex/requirements.toml",
        Client::Gemini => "/etc/gemini-cli/settings.json",
    }
}

/// Renders the file with the hooks, and the compiled policy.
pub fn render_client(order: &ClientOrder<'_>) -> Result<Vec<Rendered>, RenderError> {
    let Some(description) = order.client.description()? else { return Ok(vec![]) };
    let text = match (order.client, order.managed) {
        (Client::Codex, Some(_)) => requirements(order, &description)?,
        _ => with_hooks(order, &description)?,
    };
    let path = order.managed.map_or_else(|| PathBuf::from(settings(order.client)), Path::to_owned);
    let policy = Rendered { path: PathBuf::from(COMPILED_POLICY), text: order.compiled.to_json()? };
    Ok(vec![Rendered { path, text }, policy])
}

/// The existing JSON with the hooks of opsctl first. Other keys and hooks are kept.
fn with_hooks(order: &ClientOrder<'_>, description: &Description) -> Result<String, RenderError> {
    let mut settings: Map<String, Value> = match order.existing {
        Some(text) => serde_json::from_str(text).map_err(RenderError::Existing)?,
        None => Map::new(),
    };
    let mut hooks = match settings.remove("hooks") {
        Some(Value::Object(hooks)) => hooks,
        _ => Map::new(),
    };
    for groups in hooks.values_mut().filter_map(Value::as_array_mut) {
        groups.retain(|group| !is_ours(group));
    }
    for (event, argument, seconds) in &description.hooks {
        // Gemini CLI counts milliseconds.
        let timeout = if order.client == Client::Gemini { seconds * 1000 } else { *seconds };
        let command = command(order, argument, *seconds);
        let hook = json!({"name": "opsctl", "type": "command", "command": command, "timeout": timeout});
        let group = json!({"hooks": [hook]});
        match hooks.entry(event.clone()).or_insert_with(|| json!([])) {
            Value::Array(groups) => groups.insert(0, group),
            other => *other = json!([group]),
        }
    }
    hooks.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
    settings.insert("hooks".to_owned(), Value::Object(hooks));
    if order.client == Client::Gemini {
        // Otherwise the project can disable hooks, and its `.env` sets variables of opsctl.
        for (section, key) in [("hooksConfig", "enabled"), ("advanced", "ignoreLocalEnv")] {
            match settings.entry(section).or_insert_with(|| json!({})) {
                Value::Object(section) => drop(section.insert(key.to_owned(), Value::Bool(true))),
                other => *other = json!({key: true}),
            }
        }
    }
    let mut text = serde_json::to_string_pretty(&settings)?;
    text.push('\n');
    Ok(text)
}

/// Whether a group of hooks calls opsctl.
fn is_ours(group: &Value) -> bool {
    let hooks = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
    let mut commands = hooks.filter_map(|hook| hook.get("command")?.as_str());
    commands.any(|command| command.contains("opsctl") && command.contains(" hook "))
}

/// The requirements of Codex CLI for this machine.
fn requirements(order: &ClientOrder<'_>, description: &Description) -> Result<String, RenderError> {
    if order.existing.is_some_and(|text| !text.starts_with(MARK)) {
        return Err(RenderError::Foreign(managed(Client::Codex)));
    }
    // Without `unified_exec`, there is no `write_stdin`, which types into a running program and raises no hook.
    let mut text = format!(
        "{MARK}allow_managed_hooks_only = true\n\n[features]\nhooks = true\nunified_exec = false\n\n[hooks]\n"
    );
    for (event, argument, seconds) in &description.hooks {
        let command = Value::from(command(order, argument, *seconds));
        text.push_str(&format!(
            "\n[[hooks.{event}]]\n[[hooks.{event}.hooks]]\ntype = \"command\"\ncommand = {command}\ntimeout = {seconds}\n"
        ));
    }
    Ok(text)
}

/// The command of a hook. Both clients run a call whose hook fails, so a shell denies it.
fn command(order: &ClientOrder<'_>, argument: &str, seconds: u32) -> String {
    let project = quoted(&order.project.to_string_lossy());
    let folder = match (order.client, order.managed) {
        // It states no project to its hooks.
        (Client::Codex, _) => format!(": ${{CLAUDE_PROJECT_DIR:={project}}}; export CLAUDE_PROJECT_DIR; "),
        // It states the folder in which it was started.
        (_, Some(_)) => format!("export CLAUDE_PROJECT_DIR={project}; "),
        (_, None) => String::new(),
    };
    let hook = format!("{} hook {argument}", quoted(order.opsctl));
    let closed = order.compiled.installation.policy.on_failure == OnFailure::Closed;
    let script = if closed && argument == "pre-tool-use" {
        let limit = seconds.saturating_sub(5);
        format!(
            "{folder}timeout -s KILL {limit} {hook}; code=$?; case $code in 0|2) exit $code;; esac; \
             echo \"Denied: the guard failed with code $code, and policy.on_failure is closed. Ask an operator to run opsctl doctor.\" >&2; exit 2"
        )
    } else {
        format!("{folder}exec {hook}")
    };
    format!("/bin/sh -c {}", quoted(&script))
}
