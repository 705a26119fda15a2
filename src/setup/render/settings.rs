//! Merges opsctl's hooks into an existing `settings.json`.

use serde_json::{Map, Value};

use super::managed;
use super::own_hooks::{GUARDING, first_unreadable, groups, hooks, is_marked, serves_hooks};
use super::weakening::{Danger, clean};
use opsctl_policy::model::installation::client_setting::ClientSetting;

/// Scripts that opsctl replaces. Their hooks are removed, because their answers are in a form that the client ignores.
pub const REPLACED: [&str; 5] = [
    ".claude/hooks/cooldown-check.sh",
    ".claude/hooks/event-emit.sh",
    ".claude/hooks/session-context.sh",
    ".claude/hooks/notify-apprise.sh",
    ".claude/hooks/verify-remediation.md",
];

/// The beginning of the verification prompt, by which the hook of an earlier rendering is recognised.
pub const VERIFIER: &str = "You verify remediations. A session of an operations agent is about to end";

/// An existing `settings.json`; empty if the file does not exist.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Existing(Map<String, Value>);

/// Why an existing `settings.json` cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum ExistingError {
    /// It is not JSON.
    #[error("it is not JSON ({0})")]
    Json(#[from] serde_json::Error),
    /// It is JSON, but not a settings file.
    #[error("{0} is not an object")]
    NotAnObject(&'static str),
    /// The client cannot read one of its hooks, and would ignore the whole file.
    #[error(
        "with its hook {0} for {1}, which the client cannot read, the client would ignore the whole file"
    )]
    Hook(usize, String),
}

impl Existing {
    /// Parses and checks a `settings.json`.
    pub fn parse(text: &str) -> Result<Self, ExistingError> {
        let Value::Object(settings) = serde_json::from_str(text)? else {
            return Err(ExistingError::NotAnObject("the file"));
        };
        if settings.get("hooks").is_some_and(|hooks| !hooks.is_object()) {
            return Err(ExistingError::NotAnObject("its `hooks`"));
        }
        for event in GUARDING {
            let groups = settings.get("hooks").and_then(|hooks| hooks.get(event));
            if let Some(number) = groups.and_then(first_unreadable) {
                return Err(ExistingError::Hook(number, event.to_owned()));
            }
        }
        Ok(Self(settings))
    }

    /// The settings of a project without keys that are not known to be harmless, except what `hosts.yaml` states, and
    /// the keys that were removed. Hooks that are not opsctl's are removed.
    pub fn cleaned(&self, opsctl: &str, stated: &[ClientSetting]) -> (Self, Vec<(String, Danger)>) {
        let mut settings = self.0.clone();
        let mut removed = clean(&mut settings, stated);
        let hooks = self.theirs(opsctl, Some(VERIFIER));
        if !hooks.is_empty() {
            removed.extend(hooks.into_iter().map(|(event, _)| (format!("hooks.{event}"), Danger::Hook)));
            // In place, so that rendering again moves no key.
            settings.insert("hooks".to_owned(), Value::Object(Map::new()));
        }
        (Self(settings), removed)
    }

    /// The text of the settings file.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        in_text(self.0.clone())
    }

    /// The settings with the hooks of `own` first. Hooks of earlier renderings and of replaced scripts are removed; all
    /// other keys and hooks are kept.
    pub fn with_hooks(&self, own: Value, opsctl: &str) -> Result<String, serde_json::Error> {
        in_text(with(self.0.clone(), self.merged(own, opsctl)))
    }

    /// The settings without opsctl's hooks, for a project whose hooks are in managed settings. `own` identifies hooks of
    /// earlier renderings.
    pub fn without_hooks(&self, own: &Value, opsctl: &str) -> Result<String, serde_json::Error> {
        in_text(with(self.0.clone(), self.theirs(opsctl, agent_prompt(own).as_deref())))
    }

    /// The managed settings with the hooks of `own` first, and with `denied` commands.
    pub fn as_managed(
        &self,
        own: Value,
        opsctl: &str,
        denied: &[String],
    ) -> Result<String, serde_json::Error> {
        let mut settings = self.0.clone();
        managed::protect(&mut settings, denied)?;
        in_text(with(settings, self.merged(own, opsctl)))
    }

    /// The hooks of `own`, then the others.
    fn merged(&self, mut own: Value, opsctl: &str) -> Map<String, Value> {
        let prompt = agent_prompt(&own);
        let mut hooks = match own.get_mut("hooks").map(Value::take) {
            Some(Value::Object(hooks)) => hooks,
            _ => Map::new(),
        };
        for (event, kept) in self.theirs(opsctl, prompt.as_deref()) {
            managed::merge(hooks.entry(event).or_insert(Value::Null), kept);
        }
        hooks
    }

    /// The hooks that are not opsctl's, by event.
    fn theirs(&self, opsctl: &str, prompt: Option<&str>) -> Map<String, Value> {
        let mut hooks = Map::new();
        for (event, groups) in self.0.get("hooks").and_then(Value::as_object).into_iter().flatten() {
            let groups = groups.as_array().into_iter().flatten();
            let kept: Vec<Value> = groups.filter_map(|group| without_ours(group, opsctl, prompt)).collect();
            if !kept.is_empty() {
                hooks.insert(event.clone(), Value::Array(kept));
            }
        }
        hooks
    }
}

/// The settings with these hooks, which are no key if there are none.
fn with(mut settings: Map<String, Value>, hooks: Map<String, Value>) -> Map<String, Value> {
    if hooks.is_empty() {
        settings.shift_remove("hooks");
    } else {
        settings.insert("hooks".to_owned(), Value::Object(hooks));
    }
    settings
}

fn in_text(settings: Map<String, Value>) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Value::Object(settings))?;
    text.push('\n');
    Ok(text)
}

/// The first line of the verification prompt, by which an earlier rendering is recognised.
fn agent_prompt(own: &Value) -> Option<String> {
    let at_stop = groups(own).filter(|(event, _)| *event == "Stop");
    let prompt = at_stop.flat_map(|(_, group)| hooks(group)).find_map(|hook| hook.get("prompt")?.as_str());
    Some(prompt.unwrap_or(VERIFIER).lines().next()?.to_owned())
}

fn without_ours(group: &Value, opsctl: &str, prompt: Option<&str>) -> Option<Value> {
    if is_marked(group) {
        return None;
    }
    let Some(hooks) = group.get("hooks").and_then(Value::as_array) else { return Some(group.clone()) };
    let kept: Vec<Value> = hooks.iter().filter(|hook| !is_ours(hook, opsctl, prompt)).cloned().collect();
    if kept.is_empty() {
        return None;
    }
    let mut group = group.as_object()?.clone();
    group.insert("hooks".to_owned(), Value::Array(kept));
    Some(Value::Object(group))
}

fn is_ours(hook: &Value, opsctl: &str, prompt: Option<&str>) -> bool {
    let text = |key: &str| hook.get(key).and_then(Value::as_str);
    let by_command = text("command").is_some_and(|command| {
        (serves_hooks(hook) && (command == opsctl || command.rsplit('/').next() == Some("opsctl")))
            || REPLACED.iter().any(|script| command.ends_with(script))
    });
    let by_prompt = text("prompt").is_some_and(|text| prompt.is_some_and(|prompt| text.starts_with(prompt)));
    let by_file =
        text("prompt_file").is_some_and(|file| REPLACED.iter().any(|script| file.ends_with(script)));
    by_command || by_prompt || by_file
}
