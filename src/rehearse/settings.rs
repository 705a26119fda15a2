//! The settings in force, as far as a rehearsal may use them.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::{Map, Value};

use super::report::RehearsalError;
use crate::render::{MANAGED, SETTINGS};

/// What a rehearsal takes over from the project's settings. Keys and addresses of real models stay out.
const REHEARSED: [&str; 4] = ["hooks", "permissions", "disableAllHooks", "allowManagedHooksOnly"];

/// Environment variables that settings may set and that decide which model is asked.
const LEADS_AWAY: [&str; 7] = [
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "HTTP_PROXY",
    "http_proxy",
];

/// The project's settings; a text that is not JSON stays as it is, since the client has to cope with it, too.
pub fn of_project(project: &Path) -> Result<Option<String>, RehearsalError> {
    let path = project.join(SETTINGS);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(RehearsalError::Settings { path: path.display().to_string(), error });
        }
    };
    Ok(Some(rehearsed(&text)))
}

fn rehearsed(text: &str) -> String {
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(mut settings) => {
            settings.retain(|key, _| REHEARSED.contains(&key.as_str()));
            Value::Object(settings).to_string()
        }
        Err(_) => text.to_owned(),
    }
}

/// The machine's settings are read by the client itself: they must not lead it to a real model.
pub fn check_managed() -> Result<(), RehearsalError> {
    let Ok(text) = std::fs::read_to_string(MANAGED) else { return Ok(()) };
    match leads_away(&text) {
        Some(key) => Err(RehearsalError::LedAway { path: MANAGED.to_owned(), key }),
        None => Ok(()),
    }
}

fn leads_away(text: &str) -> Option<String> {
    let settings: Map<String, Value> = serde_json::from_str(text).ok()?;
    if settings.contains_key("apiKeyHelper") {
        return Some("apiKeyHelper".to_owned());
    }
    let environment = settings.get("env")?.as_object()?;
    environment.keys().find(|name| LEADS_AWAY.contains(&name.as_str())).map(|name| format!("env.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_addresses_of_real_models_stay_out() {
        let settings =
            r#"{"env": {"ANTHROPIC_BASE_URL": "x"}, "apiKeyHelper": "y", "hooks": {}, "model": "z"}"#;
        assert_eq!(rehearsed(settings), r#"{"hooks":{}}"#);
        assert_eq!(rehearsed("{ no json"), "{ no json");
    }

    #[test]
    fn managed_settings_that_name_a_model_are_told() {
        assert_eq!(leads_away(r#"{"env": {"ANTHROPIC_BASE_URL": "x"}}"#).unwrap(), "env.ANTHROPIC_BASE_URL");
        assert_eq!(leads_away(r#"{"apiKeyHelper": "x"}"#).unwrap(), "apiKeyHelper");
        assert_eq!(leads_away(r#"{"env": {"LANG": "C"}, "hooks": {}}"#), None);
    }
}
