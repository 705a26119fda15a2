//! The settings that the client gets as an argument.
//!
//! The client reads the settings files of a project again while a session runs. An argument has precedence over them, and no
//! command of the agent can change it.

use serde_json::{Map, Value, json};

use opsctl_policy::model::installation::client_setting::ClientSetting;

/// Variables whose values determine what the guard allows, which program it is, or which ledger it reads. Without a
/// value, an empty text is pinned, which counts as unset.
const GUARDING: [&str; 20] = [
    "BASH_ENV",
    "CLAUDEOPS_AGENT",
    "CLAUDEOPS_APPRISE_CONFIG",
    "CLAUDEOPS_DB_PASSWORD_FILE",
    "CLAUDEOPS_DB_PATH",
    "CLAUDEOPS_DRY_RUN",
    "CLAUDEOPS_GUARD",
    "CLAUDEOPS_HOSTS",
    "CLAUDEOPS_REPOS_DIR",
    "CLAUDEOPS_RESULTS_DIR",
    "CLAUDEOPS_STATE_DIR",
    "CLAUDE_SESSION_MODE",
    "CLAUDE_SESSION_ROLE",
    "ENV",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MISSION_EXECUTION_ID",
    "NODE_OPTIONS",
    "XDG_STATE_HOME",
];

/// Variables that are pinned only if they have a value: programs do not expect an empty text.
const WITH_VALUE: [&str; 5] = ["ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "HOME", "PATH", "TMPDIR"];

/// Settings that name a program which the client runs. An empty text names none.
const PROGRAMS: [&str; 5] =
    ["apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper"];

/// The settings as JSON. `get` returns the variables of the environment in which the session starts, `own` are those that
/// the session sets, `stated` the settings of `hosts.yaml`, and `hooks` those of the project, unless they are managed.
pub fn settings(
    get: impl Fn(&str) -> Option<String>,
    own: &[(&str, &str)],
    stated: &[ClientSetting],
    hooks: Option<Value>,
) -> String {
    let mut env = Map::new();
    for name in GUARDING {
        env.insert(name.to_owned(), json!(get(name).unwrap_or_default()));
    }
    for name in WITH_VALUE {
        if let Some(value) = get(name).filter(|value| !value.is_empty()) {
            env.insert(name.to_owned(), json!(value));
        }
    }
    env.extend(own.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    let mut settings = Map::new();
    for key in PROGRAMS {
        let stated = stated.iter().find(|setting| setting.key == key);
        let value = stated.and_then(|setting| serde_json::from_str(&setting.value).ok());
        settings.insert(key.to_owned(), value.unwrap_or_else(|| json!("")));
    }
    settings.insert("disableAllHooks".to_owned(), json!(false));
    settings.insert("env".to_owned(), Value::Object(env));
    settings.extend(hooks.map(|hooks| ("hooks".to_owned(), hooks)));
    Value::Object(settings).to_string()
}
