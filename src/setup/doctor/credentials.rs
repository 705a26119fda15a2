//! Checks that the client can authenticate to the model.

use std::path::Path;

use serde_json::Value;

use super::client;
use super::examined::Examined;
use super::finding::Finding;
use crate::setup::render::{MANAGED, SETTINGS};
use opsctl_machine::held_variables::variable;

/// Variables that authenticate the client, or name a provider or proxy that does.
const VARIABLES: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

/// Checks that credentials are configured; whether they are valid is not checked.
pub fn credentials(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "credentials";
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    if let Some(variable) = VARIABLES.into_iter().find(is_set) {
        return Finding::ok(CHECK, variable);
    }
    let user = client::folder();
    let login = user.iter().map(|folder| folder.join(".credentials.json")).find(|file| file.is_file());
    if let Some(file) = login {
        return Finding::ok(CHECK, file.display().to_string());
    }
    let mut settings = vec![Path::new(MANAGED).to_owned(), examined.environment.project_dir.join(SETTINGS)];
    settings.extend(user.map(|folder| folder.join("settings.json")));
    match settings.into_iter().find(|file| has_helper(file)) {
        Some(file) => Finding::ok(CHECK, format!("the apiKeyHelper of {}", file.display())),
        None => Finding::warning(
            CHECK,
            "none are configured: the client cannot start a session",
            "set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, with compose in .env",
        ),
    }
}

/// Whether these settings name a program that prints the API key.
fn has_helper(settings: &Path) -> bool {
    let text = std::fs::read_to_string(settings).unwrap_or_default();
    serde_json::from_str::<Value>(&text).is_ok_and(|settings| settings.get("apiKeyHelper").is_some())
}
