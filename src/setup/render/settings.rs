//! Merges opsctl's hooks into an existing `settings.json`.

use serde_json::{Map, Value};

use super::weakening::{Danger, clean};
use super::{managed, own_hooks};
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
        let existing = Self(settings);
        existing.all_readable()?;
        Ok(existing)
    }

    /// Checks the hooks at the two events where one invalid hook makes the client ignore the file.
    fn all_readable(&self) -> Result<(), ExistingError> {
        for event in ["PreToolUse", "PermissionRequest"] {
            let groups = self.0.get("hooks").and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
            for (index, group) in groups.into_iter().flatten().enumerate() {
                if !own_hooks::is_readable(group) {
                    return Err(ExistingError::Hook(index + 1, event.to_owned()));
                }
            }
        }
        Ok(())
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
        let mut settings = self.0.clone();
        let hooks = self.merged(own, opsctl);
        settings.insert("hooks".to_owned(), Value::Object(hooks));
        in_text(settings)
    }

    /// The settings without opsctl's hooks, for a project whose hooks are in managed settings. `own` identifies hooks of
    /// earlier renderings.
    pub fn without_hooks(&self, own: &Value, opsctl: &str) -> Result<String, serde_json::Error> {
        let mut settings = self.0.clone();
        let prompt = agent_prompt(own);
        let theirs = self.theirs(opsctl, prompt.as_deref());
        if theirs.is_empty() {
            settings.shift_remove("hooks");
        } else {
            settings.insert("hooks".to_owned(), Value::Object(theirs));
        }
        in_text(settings)
    }

    /// The managed settings with the hooks of `own` first, and with `denied` commands.
    pub fn as_managed(
        &self,
        own: Value,
        opsctl: &str,
        denied: &[String],
    ) -> Result<String, serde_json::Error> {
        let mut settings = self.0.clone();
        let hooks = self.merged(own, opsctl);
        managed::protect(&mut settings, denied)?;
        settings.insert("hooks".to_owned(), Value::Object(hooks));
        in_text(settings)
    }

    /// The hooks of `own`, then the others.
    fn merged(&self, mut own: Value, opsctl: &str) -> Map<String, Value> {
        let prompt = agent_prompt(&own);
        let mut hooks = match own.get_mut("hooks").map(Value::take) {
            Some(Value::Object(hooks)) => hooks,
            _ => Map::new(),
        };
        for (event, kept) in self.theirs(opsctl, prompt.as_deref()) {
            if let (Value::Array(groups), Value::Array(kept)) =
                (hooks.entry(event).or_insert_with(|| Value::Array(vec![])), kept)
            {
                groups.extend(kept);
            }
        }
        hooks
    }

    /// The hooks that are not opsctl's, by event.
    fn theirs(&self, opsctl: &str, prompt: Option<&str>) -> Map<String, Value> {
        let mut hooks = Map::new();
        if let Some(Value::Object(theirs)) = self.0.get("hooks") {
            for (event, groups) in theirs {
                let kept: Vec<Value> = groups
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|group| without_ours(group, opsctl, prompt))
                    .collect();
                if !kept.is_empty() {
                    hooks.insert(event.clone(), Value::Array(kept));
                }
            }
        }
        hooks
    }
}

fn in_text(settings: Map<String, Value>) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Value::Object(settings))?;
    text.push('\n');
    Ok(text)
}

/// The first line of the verification prompt, by which an earlier rendering is recognised.
fn agent_prompt(own: &Value) -> Option<String> {
    let groups = own.get("hooks")?.get("Stop")?.as_array()?.iter();
    let hooks = groups.filter_map(|group| group.get("hooks")?.as_array()).flatten();
    let mut prompts = hooks.filter_map(|hook| hook.get("prompt")?.as_str());
    let prompt = prompts.next().unwrap_or(VERIFIER);
    Some(prompt.lines().next()?.to_owned())
}

fn without_ours(group: &Value, opsctl: &str, prompt: Option<&str>) -> Option<Value> {
    if own_hooks::is_marked(group) {
        return None;
    }
    let Some(hooks) = group.get("hooks").and_then(Value::as_array) else { return Some(group.clone()) };
    let kept: Vec<Value> = hooks.iter().filter(|hook| !is_ours(hook, opsctl, prompt)).cloned().collect();
    if kept.is_empty() {
        return None;
    }
    let mut group = group.clone();
    if let Some(slot) = group.get_mut("hooks") {
        *slot = Value::Array(kept);
    }
    Some(group)
}

fn is_ours(hook: &Value, opsctl: &str, prompt: Option<&str>) -> bool {
    let text = |key: &str| hook.get(key).and_then(Value::as_str);
    let serves_hooks = hook.get("args").and_then(|args| args.get(0)).and_then(Value::as_str) == Some("hook");
    let by_command = text("command").is_some_and(|command| {
        (serves_hooks && (command == opsctl || command.rsplit('/').next() == Some("opsctl")))
            || REPLACED.iter().any(|script| command.ends_with(script))
    });
    let by_prompt = text("prompt").is_some_and(|text| prompt.is_some_and(|prompt| text.starts_with(prompt)));
    let by_file =
        text("prompt_file").is_some_and(|file| REPLACED.iter().any(|script| file.ends_with(script)));
    by_command || by_prompt || by_file
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn own() -> Value {
        json!({"hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "/bin/opsctl", "args": ["hook", "pre-tool-use"]}]}],
            "Stop": [{"hooks": [{"type": "agent", "prompt": "You verify.\nMore."}]}]
        }})
    }

    fn rendered(existing: &Value) -> Value {
        let existing = Existing::parse(&existing.to_string()).unwrap();
        serde_json::from_str(&existing.with_hooks(own(), "/bin/opsctl").unwrap()).unwrap()
    }

    #[test]
    fn keeps_other_keys_and_hooks() {
        let theirs = json!({"matcher": "Write", "hooks": [{"type": "command", "command": "lint"}]});
        let settings =
            rendered(&json!({"env": {"A": "b"}, "hooks": {"PreToolUse": [theirs], "PreCompact": [theirs]}}));
        assert_eq!(settings["env"], json!({"A": "b"}));
        assert_eq!(settings["hooks"]["PreToolUse"][1], theirs);
        assert_eq!(settings["hooks"]["PreCompact"], json!([theirs]));
    }

    #[test]
    fn rendering_again_changes_nothing() {
        let once =
            rendered(&json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}));
        assert_eq!(rendered(&once), once);
        let moved =
            serde_json::from_str(&once.to_string().replace("/bin/opsctl", "/old/place/opsctl")).unwrap();
        assert_eq!(rendered(&moved), once);
    }

    #[test]
    fn removes_hooks_of_replaced_scripts() {
        let settings = rendered(&json!({"hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": ".claude/hooks/cooldown-check.sh"}]}],
            "Stop": [{"hooks": [{"type": "agent", "prompt_file": ".claude/hooks/verify-remediation.md"}]}]
        }}));
        assert_eq!(settings, own());
    }

    #[test]
    fn removes_a_verification_agent_that_is_disabled() {
        let prompt = include_str!("../../../templates/verify-remediation.md.j2");
        let before = json!({"hooks": {"Stop": [{"hooks": [{"type": "agent", "prompt": prompt}]}]}});
        let own = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/bin/opsctl", "args": ["hook", "stop"]}]}]}});
        let text =
            Existing::parse(&before.to_string()).unwrap().with_hooks(own.clone(), "/bin/opsctl").unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), own);
    }

    #[test]
    fn refuses_content_that_is_not_a_settings_file() {
        for text in ["", "{", "[]", "7", r#"{"hooks": []}"#] {
            assert!(Existing::parse(text).is_err(), "{text}");
        }
    }
}
