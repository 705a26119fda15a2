//! Settings of a project that may run a program, load something, or allow more than the guard does. A repository or a script
//! may have written them, so they are kept only if `harmless.yaml` lists them or `hosts.yaml` states them.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use opsctl_policy::model::installation::client_setting::ClientSetting;
use opsctl_reader::shell::glob;

/// What a setting may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Danger {
    /// It is not known to be harmless.
    Setting,
    /// It is a variable that is not known to be harmless.
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
            Danger::Setting | Danger::Variable => "to keep it, state it under `settings` in hosts.yaml",
        }
    }
}

/// Names the key, the file, and what it would do.
impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = match self.danger {
            Danger::Setting => "may change what runs, what is loaded or what is allowed",
            Danger::Variable => "may change the guard, the client or the meaning of commands",
            Danger::Hook => "runs beside the hooks of opsctl",
        };
        write!(f, "`{}` in {}, which {does}", self.key.escape_debug(), self.file.display())
    }
}

/// What is harmless: keys of settings, keys of `permissions`, and globs of names of variables.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Harmless {
    keys: Vec<String>,
    permissions: Vec<String>,
    env: Vec<String>,
}

impl Harmless {
    /// The built-in lists. If they cannot be read, which is a bug in opsctl, nothing is harmless.
    fn built_in() -> Self {
        serde_saphyr::from_str(include_str!("harmless.yaml")).unwrap_or_default()
    }
}

/// Removes the settings that are not harmless and that `stated` does not contain, and sets those that it contains. Hooks are
/// not looked at. Returns the keys that were removed.
pub fn clean(settings: &mut Map<String, Value>, stated: &[ClientSetting]) -> Vec<(String, Danger)> {
    let stated: Map<String, Value> = stated
        .iter()
        .filter_map(|setting| Some((setting.key.clone(), serde_json::from_str(&setting.value).ok()?)))
        .collect();
    let harmless = Harmless::built_in();
    let mut removed = Vec::new();
    settings.retain(|key, _| {
        let keeps = key == "hooks" || harmless.keys.contains(key) || stated.contains_key(key);
        if !keeps {
            removed.push((key.clone(), Danger::Setting));
        }
        keeps
    });
    for (key, names, danger) in
        [("env", &harmless.env, Danger::Variable), ("permissions", &harmless.permissions, Danger::Setting)]
    {
        let stated = stated.get(key).and_then(Value::as_object);
        if let Some(Value::Object(inner)) = settings.get_mut(key) {
            inner.retain(|name, _| {
                let is_harmless = names.iter().any(|pattern| glob(pattern, name));
                let keeps = is_harmless || stated.is_some_and(|stated| stated.contains_key(name));
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
