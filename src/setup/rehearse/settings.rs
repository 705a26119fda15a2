//! The active settings, as far as a rehearsal uses them.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::{Map, Value};

use super::report::RehearsalError;
use crate::machine::client::clients::Client;
use crate::setup::render::{MANAGED, clients};
use opsctl_machine::plain_file;

/// The keys of the project's settings that a rehearsal uses. Keys and URLs of real models are left out.
const REHEARSED: [&str; 6] =
    ["hooks", "permissions", "disableAllHooks", "allowManagedHooksOnly", "hooksConfig", "advanced"];

/// Environment variables in settings that select a model.
const SELECTS_MODEL: [&str; 7] = [
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "HTTP_PROXY",
    "http_proxy",
];

/// The project's settings, reduced to the used keys. Text that is not JSON is unchanged, because the client also has to
/// handle it.
pub fn of_project(project: &Path, client: Client) -> Result<Option<String>, RehearsalError> {
    let path = project.join(clients::settings(client));
    match plain_file::text(&path) {
        Ok(text) => Ok(Some(rehearsed(&text))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RehearsalError::Settings(path.display().to_string(), error)),
    }
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

/// Checks that managed settings, which the client reads itself, do not select a real model.
pub fn check_managed() -> Result<(), RehearsalError> {
    let Ok(text) = plain_file::text(Path::new(MANAGED)) else { return Ok(()) };
    match selects_model(&text) {
        Some(key) => Err(RehearsalError::RealModel(MANAGED, key)),
        None => Ok(()),
    }
}

fn selects_model(text: &str) -> Option<String> {
    let settings: Map<String, Value> = serde_json::from_str(text).ok()?;
    if settings.contains_key("apiKeyHelper") {
        return Some("apiKeyHelper".to_owned());
    }
    let environment = settings.get("env")?.as_object()?;
    environment.keys().find(|name| SELECTS_MODEL.contains(&name.as_str())).map(|name| format!("env.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_out_keys_and_urls_of_real_models() {
        let settings =
            r#"{"env": {"ANTHROPIC_BASE_URL": "x"}, "apiKeyHelper": "y", "hooks": {}, "model": "z"}"#;
        assert_eq!(rehearsed(settings), r#"{"hooks":{}}"#);
        assert_eq!(rehearsed("{ no json"), "{ no json");
    }

    #[test]
    fn reports_managed_settings_that_select_a_model() {
        assert_eq!(
            selects_model(r#"{"env": {"ANTHROPIC_BASE_URL": "x"}}"#).unwrap(),
            "env.ANTHROPIC_BASE_URL"
        );
        assert_eq!(selects_model(r#"{"apiKeyHelper": "x"}"#).unwrap(), "apiKeyHelper");
        assert_eq!(selects_model(r#"{"env": {"LANG": "C"}, "hooks": {}}"#), None);
    }
}
