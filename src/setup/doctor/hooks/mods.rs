//! Mods of the client: plugins whose file of hooks names `modules`. A mod can silence the hooks of settings files that are
//! not managed, and starts programs outside every hook.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::sources::{Locations, Scope, Source, plugin};
use super::survey::{Origin, Survey};
use crate::setup::doctor::check::{Outcome, failed, paths, warning};
use crate::setup::render::MANAGED;

/// The name of the check.
pub const CHECK: &str = "mods";

/// The folders of extensions in the user's and in the project's client folder.
pub const FOLDERS: [&str; 3] = ["skills", "plugins", "dev-mods"];

/// Copies of whole marketplaces. The client loads none of their plugins before it is installed.
pub const CATALOGUES: &str = "marketplaces";

/// The maximum depth of a plugin below a folder of extensions: `plugins/cache/MARKETPLACE/PLUGIN/VERSION`.
const DEEPEST: usize = 5;

/// The maximum number of folders that are looked at.
const MOST: usize = 20_000;

/// The files that name a mod: of plugins in `sources`, and of those in the folders of extensions.
pub fn mods(locations: &Locations, sources: &[Source]) -> Vec<PathBuf> {
    let project = locations.project.join(".claude");
    let owners = locations.user.iter().chain([&project]);
    let mut left = MOST;
    let mut folders = Vec::new();
    for folder in owners.flat_map(|owner| FOLDERS.map(|name| owner.join(name))) {
        add_below(&folder, DEEPEST, &mut left, &mut folders);
    }
    let below = folders.iter().flat_map(|folder| plugin("", false, folder));
    let stated =
        sources.iter().filter(|source| source.scope.is_plugin()).filter(|source| names_module(source));
    let mut files: Vec<PathBuf> = stated.map(|source| source.file.clone()).collect();
    files.extend(below.filter(names_module).map(|source| source.file));
    files.sort();
    files.dedup();
    files
}

/// A file that cannot be read may name one.
fn names_module(source: &Source) -> bool {
    let modules = [source.settings.get("modules"), source.settings.pointer("/hooks/modules")];
    source.settings.is_null()
        || modules
            .into_iter()
            .flatten()
            .any(|modules| !matches!(modules, Value::Array(list) if list.is_empty()))
}

/// Adds the folder and the folders below it.
fn add_below(folder: &Path, depth: usize, left: &mut usize, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    into.push(folder.to_owned());
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_looked_at = depth > 0 && *left > 0 && path.is_dir() && !path.ends_with(CATALOGUES);
        if is_looked_at {
            *left -= 1;
            add_below(&path, depth - 1, left, into);
        }
    }
}

/// Checks that no mod is in the folders of the client's extensions.
pub fn check(survey: &Survey) -> Outcome {
    if survey.mods.is_empty() {
        return Ok("none".to_owned());
    }
    let files = paths(&survey.mods);
    if are_hooks_managed(survey) {
        let what = format!("{files}: a mod, which cannot silence opsctl's hooks, because they are managed");
        return Err(warning(what, "remove its folder, unless you installed it"));
    }
    let what = format!("{files}: a mod can silence opsctl's hooks and start programs");
    Err(failed(what, format!("remove its folder, or run `opsctl render --managed {MANAGED}` as root")))
}

/// Whether opsctl's hooks before a tool call are in managed settings, and run.
fn are_hooks_managed(survey: &Survey) -> bool {
    survey.hooks.iter().any(|hook| {
        let source = survey.sources.get(hook.source);
        hook.event == "PreToolUse"
            && hook.origin == Origin::Ours
            && hook.ignored.is_none()
            && source.is_some_and(|source| source.scope == Scope::Managed)
    })
}
