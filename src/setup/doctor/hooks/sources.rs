//! The files that may contain hooks, in the client's order of precedence.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::setup::render::{GUARDING, LOCAL_SETTINGS, SETTINGS, first_unreadable};
use opsctl_machine::plain_file;

/// The scope of a file, highest precedence first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Managed settings of the machine.
    Managed,
    /// The client's argument `--settings`.
    CommandLine,
    /// `.claude/settings.local.json` of the project.
    Local,
    /// `.claude/settings.json` of the project.
    Project,
    /// `settings.json` in the user's client folder.
    User,
    /// A plugin: its name, and whether managed settings enable it.
    Plugin(String, bool),
}

impl Scope {
    /// Whether its hooks run if only managed hooks are allowed.
    pub const fn is_managed(&self) -> bool {
        matches!(self, Self::Managed | Self::Plugin(_, true))
    }

    /// Whether it is a plugin.
    pub const fn is_plugin(&self) -> bool {
        matches!(self, Self::Plugin(..))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Managed => f.write_str("managed"),
            Self::CommandLine => f.write_str("command line"),
            Self::Local => f.write_str("local"),
            Self::Project => f.write_str("project"),
            Self::User => f.write_str("user"),
            Self::Plugin(name, _) => write!(f, "plugin {name}"),
        }
    }
}

/// Why hooks do not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ignored {
    /// The client ignores the file.
    #[error("{0}")]
    File(String),
    /// A setting or variable disables them, or the client ignores this hook.
    #[error("{0}")]
    Hook(String),
}

/// An existing file that may contain hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its scope.
    pub scope: Scope,
    /// Its path.
    pub file: PathBuf,
    /// Its settings; `null` if the file cannot be read.
    pub settings: Value,
    /// Why the client ignores the file or its hooks; `None` if it does not.
    pub ignored: Option<Ignored>,
}

impl Source {
    fn new(scope: Scope, file: PathBuf, read: Result<Value, String>) -> Self {
        let (settings, error) = read.map_or_else(|error| (Value::Null, Some(error)), |read| (read, None));
        let ignored = error.or_else(|| unusable(&scope, &settings)).map(Ignored::File);
        Self { scope, file, settings, ignored }
    }
}

/// Why the client ignores a whole file; `None` if it does not.
fn unusable(scope: &Scope, settings: &Value) -> Option<String> {
    if !settings.is_object() {
        return Some("it is not an object".to_owned());
    }
    let switch = settings.get("disableAllHooks");
    if *scope != Scope::Managed && switch.is_some_and(|switch| !switch.is_boolean()) {
        return Some("its `disableAllHooks` is neither true nor false".to_owned());
    }
    let hooks = settings.get("hooks").and_then(Value::as_object)?;
    GUARDING.into_iter().find_map(|event| {
        let groups = hooks.get(event)?;
        let number = if groups.is_array() { first_unreadable(groups)? } else { 1 };
        Some(format!("the client cannot read its hook {number} for {event}"))
    })
}

/// The locations where the client looks for hooks.
#[derive(Debug, Clone)]
pub struct Locations {
    /// The managed settings file; a folder of further files may be next to it.
    pub managed: PathBuf,
    /// The project folder.
    pub project: PathBuf,
    /// The user's client folder: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub user: Option<PathBuf>,
    /// The client's argument `--settings`.
    pub settings: Option<PathBuf>,
    /// The client's arguments `--plugin-dir`.
    pub plugins: Vec<PathBuf>,
}

/// Reads all existing files.
pub fn read(locations: &Locations) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    let mut add = |scope: Scope, file: PathBuf| sources.extend(source(scope, file));
    add(Scope::Managed, locations.managed.clone());
    let is_json = |file: &Path| file.extension().is_some_and(|extension| extension == "json");
    for file in entries(&locations.managed.with_extension("d"), is_json) {
        add(Scope::Managed, file);
    }
    if let Some(file) = &locations.settings {
        add(Scope::CommandLine, file.clone());
    }
    add(Scope::Local, locations.project.join(LOCAL_SETTINGS));
    add(Scope::Project, locations.project.join(SETTINGS));
    if let Some(folder) = &locations.user {
        add(Scope::User, folder.join("settings.json"));
        let enabled = enabled(&sources);
        for (name, managed, folder) in installed(folder, &locations.project, &enabled) {
            sources.extend(plugin(&name, managed, &folder));
        }
    }
    for folder in locations.plugins.iter().flat_map(|folder| plugins_below(folder)) {
        sources.extend(plugin(&name_of(&folder), false, &folder));
    }
    sources
}

/// Reads a file; `None` if it does not exist.
fn source(scope: Scope, file: PathBuf) -> Option<Source> {
    let read = match plain_file::text(&file) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
        Err(error) => Err(format!("it cannot be read ({error})")),
        Ok(text) => serde_json::from_str(&text).map_err(|error| format!("it is not JSON ({error})")),
    };
    Some(Source::new(scope, file, read))
}

/// The content of a file; `null` if it cannot be read or is not JSON.
pub fn json_file(path: &Path) -> Value {
    serde_json::from_slice(&plain_file::bytes(path).unwrap_or_default()).unwrap_or_default()
}

/// The matching entries of a folder, by name.
fn entries(folder: &Path, is_meant: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_meant(path)).collect();
    paths.sort();
    paths
}

/// The names of enabled plugins, and whether managed settings enable them. The file with higher precedence decides.
fn enabled(sources: &[Source]) -> BTreeMap<String, bool> {
    let mut stated: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    // Files that the client ignores have no effect.
    for source in sources.iter().rev().filter(|source| source.ignored.is_none()) {
        for (name, on) in
            source.settings.get("enabledPlugins").and_then(Value::as_object).into_iter().flatten()
        {
            stated.insert(name.clone(), (on == &json!(true), source.scope == Scope::Managed));
        }
    }
    stated.into_iter().filter(|(_, (on, _))| *on).map(|(name, (_, managed))| (name, managed)).collect()
}

#[derive(Deserialize)]
struct InstalledWire {
    #[serde(default)]
    plugins: BTreeMap<String, Vec<PluginWire>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PluginWire {
    install_path: PathBuf,
    project_path: Option<PathBuf>,
}

/// The folders of the installed and enabled plugins.
fn installed(user: &Path, project: &Path, enabled: &BTreeMap<String, bool>) -> Vec<(String, bool, PathBuf)> {
    let list = json_file(&user.join("plugins/installed_plugins.json"));
    let Ok(mut list) = serde_json::from_value::<InstalledWire>(list) else { return vec![] };
    let here = |plugin: &PluginWire| {
        plugin
            .project_path
            .as_ref()
            .is_none_or(|path| path.canonicalize().ok() == project.canonicalize().ok())
    };
    enabled
        .iter()
        .filter_map(|(name, managed)| {
            let plugin = list.plugins.remove(name)?.into_iter().find(here)?;
            let folder = in_place(user, name).unwrap_or(plugin.install_path);
            Some((name.clone(), *managed, folder))
        })
        .collect()
}

/// The original folder of a plugin from a local marketplace, which the client reads instead of the installed copy.
fn in_place(user: &Path, name: &str) -> Option<PathBuf> {
    let (plugin, market) = name.rsplit_once('@')?;
    let markets = json_file(&user.join("plugins/known_marketplaces.json"));
    let market = markets.get(market)?;
    if market.pointer("/source/source")?.as_str()? != "directory" {
        return None;
    }
    let folder = PathBuf::from(market.get("installLocation")?.as_str()?);
    let list = json_file(&folder.join(".claude-plugin/marketplace.json"));
    let named = |entry: &&Value| entry.get("name").and_then(Value::as_str) == Some(plugin);
    let entry = list.get("plugins")?.as_array()?.iter().find(named)?;
    Some(folder.join(entry.get("source")?.as_str()?.trim_start_matches("./")))
}

/// The folder itself if it is a plugin, else the plugins in it.
fn plugins_below(folder: &Path) -> Vec<PathBuf> {
    let is_plugin = |folder: &Path| folder.join(".claude-plugin").is_dir() || folder.join("hooks").is_dir();
    if is_plugin(folder) {
        return vec![folder.to_owned()];
    }
    entries(folder, is_plugin)
}

/// The path of a plugin's manifest, in its folder.
const MANIFEST: &str = ".claude-plugin/plugin.json";

fn name_of(folder: &Path) -> String {
    let manifest = json_file(&folder.join(MANIFEST));
    let name = manifest.get("name").and_then(Value::as_str).map(str::to_owned);
    name.unwrap_or_else(|| folder.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// The hooks of a plugin: `hooks/hooks.json`, and those that its manifest contains or names.
pub(crate) fn plugin(name: &str, managed: bool, folder: &Path) -> Vec<Source> {
    let scope = || Scope::Plugin(name.to_owned(), managed);
    let mut sources: Vec<Source> = source(scope(), folder.join("hooks/hooks.json")).into_iter().collect();
    let hooks = json_file(&folder.join(MANIFEST)).get("hooks").cloned().unwrap_or_default();
    for part in hooks.as_array().cloned().unwrap_or_else(|| vec![hooks]) {
        match part {
            Value::String(file) => {
                let file = folder.join(file.trim_start_matches("./"));
                if !sources.iter().any(|source| source.file == file) {
                    sources.extend(source(scope(), file));
                }
            }
            Value::Object(_) => {
                let file = folder.join(MANIFEST);
                sources.push(Source::new(scope(), file, Ok(json!({"hooks": part}))));
            }
            _ => {}
        }
    }
    sources
}
