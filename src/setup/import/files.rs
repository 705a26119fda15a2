//! Finds compose files, inventories and playbooks in a folder.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::ImportError;
use super::known::Known;
use super::sources::ansible::Inventory;
use super::sources::compose::Project;
use opsctl_inventory::error::HostsError;
use opsctl_machine::plain_file::{self, Content};

/// How deep folders are read, and how many files at most.
const DEEPEST: usize = 6;
const MOST_FILES: usize = 20_000;

/// The maximum size of a file in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// What a folder or file contains.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// Compose projects.
    pub projects: Vec<Project>,
    /// Inventories, with their names for comments.
    pub inventories: Vec<(String, Inventory)>,
    /// Playbooks: file name, text, and name for comments.
    pub playbooks: Vec<(String, String, String)>,
}

impl FoundFiles {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.projects.is_empty() && self.inventories.is_empty() && self.playbooks.is_empty()
    }

    /// Reads one file, of any name.
    pub fn in_file(file: &Path, known: &Known) -> Result<Self, ImportError> {
        let text = text(file).map_err(|error| unreadable(file, error))?;
        let mut found = Self::default();
        let source = shown(file, file);
        let project = if is_yaml(file) { project(&[file.to_owned()], &source)? } else { None };
        if let Some(project) = project {
            found.projects.push(project);
        } else if let Some(inventory) = inventory(file, &text, &known.skipped) {
            found.inventories.push((source, inventory));
        } else if is_one_of(&known.compose, name(file)) {
            return Err(ImportError::NoServices(file.to_owned()));
        }
        Ok(found)
    }

    /// Reads a folder with everything below it.
    pub fn in_folder(folder: &Path, known: &Known) -> Result<Self, ImportError> {
        let mut files = Vec::new();
        walk(folder, 0, &known.skipped, &mut files).map_err(|error| unreadable(folder, error))?;
        let mut found = Self::default();
        for file in &files {
            let name = name(file);
            let source = shown(file, folder);
            if is_one_of(&known.compose, name) {
                // Of several, compose uses the first one.
                let beside = |names: &[String]| {
                    names.iter().map(|name| file.with_file_name(name)).find(|path| files.contains(path))
                };
                if beside(&known.compose).as_ref() == Some(file) {
                    let chain: Vec<PathBuf> =
                        std::iter::once(file.clone()).chain(beside(&known.overrides)).collect();
                    let project = project(&chain, &source)?;
                    found.projects.push(project.ok_or_else(|| ImportError::NoServices(file.clone()))?);
                }
                continue;
            }
            let Some(text) = Some(file).filter(|file| is_ansible(file)).and_then(|file| text(file).ok())
            else {
                continue;
            };
            if is_inventory(file, folder, &known.inventories)
                && let Some(inventory) = inventory(file, &text, &known.skipped)
            {
                found.inventories.push((source, inventory));
            } else if is_playbook(&text) {
                found.playbooks.push((name.to_owned(), text, source));
            }
        }
        Ok(found)
    }
}

fn is_one_of(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

fn walk(folder: &Path, depth: usize, skipped: &[String], files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let entries = std::fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    let mut entries: Vec<PathBuf> = entries.filter(|path| !name(path).starts_with('.')).collect();
    entries.sort();
    for path in entries {
        if path.is_file() {
            if files.len() < MOST_FILES {
                files.push(path);
            }
        } else if depth < DEEPEST && path.is_dir() && !path.is_symlink() && !is_one_of(skipped, name(&path)) {
            // A folder that cannot be read, such as the data of a database, contains no such files.
            let _ = walk(&path, depth + 1, skipped, files);
        }
    }
    Ok(())
}

fn text(file: &Path) -> std::io::Result<String> {
    match plain_file::read(file, MAX_BYTES)? {
        Content::Bytes(bytes) => String::from_utf8(bytes).map_err(std::io::Error::other),
        Content::TooLarge(bytes) => Err(std::io::Error::other(format!("it has {bytes} bytes"))),
    }
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// A path for comments: relative to the folder that the operator has named, with the folder's own name.
fn shown(file: &Path, named: &Path) -> String {
    let below = named.parent().and_then(|parent| file.strip_prefix(parent).ok());
    below.unwrap_or(file).display().to_string()
}

/// The project of these files; `None` if they have no services.
fn project(chain: &[PathBuf], source: &str) -> Result<Option<Project>, ImportError> {
    let contents = chain.iter().map(|file| yaml(file)).collect::<Result<_, _>>()?;
    let folder = chain.first().and_then(|file| Some(file.canonicalize().ok()?.parent()?.to_owned()));
    let Some(folder) = folder else { return Ok(None) };
    let dot_env = text(&folder.join(".env")).unwrap_or_default();
    Ok(Project::new(source.to_owned(), folder, contents, &dot_env))
}

fn yaml(file: &Path) -> Result<Value, ImportError> {
    let text = text(file).map_err(|error| unreadable(file, error))?;
    serde_saphyr::from_str(&text).map_err(|error| {
        ImportError::Syntax(HostsError { file: file.to_owned(), text, mistakes: vec![error.into()] })
    })
}

fn unreadable(path: &Path, error: std::io::Error) -> ImportError {
    ImportError::Unreadable(path.to_owned(), error)
}

fn is_yaml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
}

fn is_ansible(file: &Path) -> bool {
    is_yaml(file) || file.extension().is_none_or(|extension| extension == "ini")
}

/// Whether the name of the file, or of a folder above it, is that of an inventory.
fn is_inventory(file: &Path, root: &Path, names: &[String]) -> bool {
    let is_one = |path: &Path| {
        path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| is_one_of(names, stem))
    };
    is_one(file) || file.ancestors().skip(1).take_while(|folder| folder.starts_with(root)).any(is_one)
}

/// The inventory in a file, with the variables in `host_vars` and `group_vars` beside it.
fn inventory(file: &Path, text: &str, skipped: &[String]) -> Option<Inventory> {
    let mut inventory = if is_yaml(file) { Inventory::of_yaml(text)? } else { Inventory::of_ini(text) };
    let folder = file.parent()?;
    for (kind, is_group) in [("group_vars", true), ("host_vars", false)] {
        let mut files = Vec::new();
        let _ = walk(&folder.join(kind), 0, skipped, &mut files);
        for file in files {
            let Ok(below) = file.strip_prefix(folder.join(kind)) else { continue };
            let first = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
            let Some(first) = first else { continue };
            let is_folder = below.components().count() > 1;
            let stem =
                || first.strip_suffix(".yml").or_else(|| first.strip_suffix(".yaml")).unwrap_or(&first);
            let of = if is_folder { &first } else { stem() };
            inventory.add_file(is_group, of, &self::text(&file).unwrap_or_default());
        }
    }
    inventory.has_hosts().then_some(inventory)
}

fn is_playbook(text: &str) -> bool {
    let plays = serde_saphyr::from_str::<Value>(text).ok();
    let is_play = |play: &Value| play.get("hosts").is_some_and(Value::is_string);
    plays.as_ref().and_then(Value::as_array).is_some_and(|plays| plays.iter().any(is_play))
}
