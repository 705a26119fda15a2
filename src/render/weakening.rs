//! Settings of a project that run a program, or that weaken the guard. A repository or a script may have written them, so
//! they are kept only if `hosts.yaml` states them.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::model::client_setting::ClientSetting;

/// What a setting would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Danger {
    /// The client runs a program that it names.
    Runs,
    /// It allows more than the guard does, or disables a part of it.
    Weakens,
    /// It is a variable that changes the guard, the client, or what commands mean.
    Variable,
    /// It is a hook that `hosts.yaml` does not list.
    Hook,
}

/// A setting that is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weakening {
    /// The key, with its parents: `env.LD_PRELOAD`.
    pub key: String,
    /// The file.
    pub file: PathBuf,
    /// What it would do.
    pub danger: Danger,
}

impl Weakening {
    /// What to do to keep it.
    pub const fn remedy(&self) -> &'static str {
        match self.danger {
            Danger::Hook => "to keep it, list it under `hooks` in hosts.yaml",
            Danger::Runs | Danger::Weakens | Danger::Variable => {
                "to keep it, state it under `settings` in hosts.yaml"
            }
        }
    }
}

/// Names the key, the file, and what it would do.
impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = match self.danger {
            Danger::Runs => "runs a program",
            Danger::Weakens => "weakens the guard",
            Danger::Variable => "changes the guard, the client or the meaning of commands",
            Danger::Hook => "runs beside the hooks of opsctl",
        };
        write!(f, "`{}` in {}, which {does}", self.key.escape_debug(), self.file.display())
    }
}

/// Settings that name a program.
const RUNNING: [&str; 10] = [
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "fileSuggestion",
    "gcpAuthRefresh",
    "otelHeadersHelper",
    "policyHelper",
    "proxyAuthHelper",
    "statusLine",
    "subagentStatusLine",
];

/// The ends of names of settings that name a program.
const RUNNING_ENDS: [&str; 5] = ["Helper", "Refresh", "Export", "Command", "Script"];

/// Settings that allow more than the guard does, or add programs, servers and hooks of others.
const WEAKENING: [&str; 10] = [
    "allowManagedHooksOnly",
    "allowedHttpHookUrls",
    "disableAllHooks",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "enabledPlugins",
    "extraKnownMarketplaces",
    "httpHookAllowedEnvVars",
    "skipDangerousModePermissionPrompt",
    "skipWebFetchPreflight",
];

/// Keys of `permissions` that allow more than a tier does.
const PERMISSIONS: [&str; 3] = ["allow", "defaultMode", "additionalDirectories"];

/// The beginnings of names of variables that change the guard, the client, the loader, or what commands mean.
const VARIABLES: [&str; 27] = [
    "ANSIBLE_",
    "ANTHROPIC_",
    "APPRISE_",
    "AWS_",
    "BASH_",
    "BUN_",
    "CLAUDE",
    "COMPOSE_",
    "DOCKER_",
    "GIT_",
    "GLIBC_",
    "GOOGLE_",
    "HELM_",
    "KUBE",
    "LD_",
    "MISSION_",
    "NODE_",
    "NPM_",
    "OPSCTL_",
    "OTEL_",
    "PERL",
    "PYTHON",
    "RUBY",
    "SSH_",
    "SSL_",
    "XDG_",
    "npm_",
];

/// Whole names of such variables.
const WHOLE_NAMES: [&str; 13] = [
    "CDPATH",
    "EDITOR",
    "ENV",
    "GLOBIGNORE",
    "HOME",
    "IFS",
    "PAGER",
    "PATH",
    "PROMPT_COMMAND",
    "PS4",
    "SHELL",
    "TMPDIR",
    "VISUAL",
];

/// Removes the settings that `stated` does not contain, and sets those that it contains. Hooks are not looked at. Returns
/// the keys that were removed.
pub fn clean(settings: &mut Map<String, Value>, stated: &[ClientSetting]) -> Vec<(String, Danger)> {
    let stated: Map<String, Value> = stated
        .iter()
        .filter_map(|setting| Some((setting.key.clone(), serde_json::from_str(&setting.value).ok()?)))
        .collect();
    let mut removed = Vec::new();
    settings.retain(|key, value| {
        let Some(danger) = danger(key, value) else { return true };
        let keeps = stated.contains_key(key);
        if !keeps {
            removed.push((key.clone(), danger));
        }
        keeps
    });
    for (key, is_dangerous, danger) in [
        ("env", is_variable as fn(&str) -> bool, Danger::Variable),
        ("permissions", is_permission, Danger::Weakens),
    ] {
        let stated = stated.get(key).and_then(Value::as_object);
        if let Some(Value::Object(inner)) = settings.get_mut(key) {
            inner.retain(|name, _| {
                let keeps = !is_dangerous(name) || stated.is_some_and(|stated| stated.contains_key(name));
                if !keeps {
                    removed.push((format!("{key}.{name}"), danger));
                }
                keeps
            });
        }
    }
    for (key, value) in stated {
        match (settings.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(stated)) => inner.extend(stated),
            (_, value) => {
                settings.insert(key, value);
            }
        }
    }
    removed
}

fn danger(key: &str, value: &Value) -> Option<Danger> {
    if key == "hooks" {
        return None;
    }
    let names_program = RUNNING.contains(&key)
        || RUNNING_ENDS.iter().any(|end| key.ends_with(end))
        || value.get("command").is_some();
    match key {
        _ if names_program => Some(Danger::Runs),
        _ if WEAKENING.contains(&key) => Some(Danger::Weakens),
        _ => None,
    }
}

fn is_variable(name: &str) -> bool {
    let ends = ["_PROXY", "_proxy", "_EDITOR", "_PAGER", "_CA_CERTS", "_CA_BUNDLE"];
    VARIABLES.iter().any(|beginning| name.starts_with(beginning))
        || WHOLE_NAMES.contains(&name)
        || ends.iter().any(|end| name.ends_with(end))
}

fn is_permission(name: &str) -> bool {
    PERMISSIONS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cleaned(settings: &Value, stated: &[(&str, Value)]) -> (Value, Vec<String>) {
        let mut settings = settings.as_object().unwrap().clone();
        let stated: Vec<ClientSetting> = stated
            .iter()
            .map(|(key, value)| ClientSetting { key: (*key).to_owned(), value: value.to_string() })
            .collect();
        let removed = clean(&mut settings, &stated).into_iter().map(|(key, _)| key).collect();
        (Value::Object(settings), removed)
    }

    #[test]
    fn removes_what_runs_a_program_or_weakens_the_guard() {
        let settings = json!({
            "model": "opus",
            "apiKeyHelper": "x", "someNewHelper": "x", "widget": {"type": "command", "command": "x"},
            "statusLine": {"type": "command", "command": "x"}, "disableAllHooks": true, "enabledPlugins": {"a@b": true},
            "env": {"CLAUDEOPS_TIER": "3", "LD_PRELOAD": "x", "HTTPS_PROXY": "x", "A": "b"},
            "permissions": {"allow": ["Bash"], "defaultMode": "bypassPermissions", "deny": ["Read"]},
        });
        let (kept, removed) = cleaned(&settings, &[]);
        let expected = json!({"model": "opus", "env": {"A": "b"}, "permissions": {"deny": ["Read"]}});
        assert_eq!(kept, expected);
        assert_eq!(
            removed,
            [
                "apiKeyHelper",
                "someNewHelper",
                "widget",
                "statusLine",
                "disableAllHooks",
                "enabledPlugins",
                "env.CLAUDEOPS_TIER",
                "env.LD_PRELOAD",
                "env.HTTPS_PROXY",
                "permissions.allow",
                "permissions.defaultMode"
            ]
        );
    }

    #[test]
    fn keeps_what_hosts_yaml_states_with_the_value_that_it_states() {
        let stated = [("apiKeyHelper", json!("/key")), ("env", json!({"HTTPS_PROXY": "http://p"}))];
        let settings =
            json!({"apiKeyHelper": "evil", "env": {"HTTPS_PROXY": "http://evil", "PATH": "/evil"}});
        let (kept, removed) = cleaned(&settings, &stated);
        assert_eq!(kept, json!({"apiKeyHelper": "/key", "env": {"HTTPS_PROXY": "http://p"}}));
        assert_eq!(removed, ["env.PATH"]);
        assert_eq!(cleaned(&kept, &stated), (kept.clone(), vec![]));
        assert_eq!(cleaned(&json!({}), &stated).0, kept);
    }
}
