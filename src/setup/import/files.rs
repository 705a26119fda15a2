//! Finds the files in a folder that describe hosts and services, and reads them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::draft::Service;
use super::error::ImportError;
use super::file::{is_below, is_yaml, name, shown, text, unreadable, yaml_of};
use super::known::Known;
use super::projects::Finder;
use super::sources::ansible::Inventory;
use super::sources::compose::Project;
use super::sources::home_assistant::{self, Assistant};
use super::sources::kubernetes::{self, Stated};
use super::sources::kustomize::Kustomizations;
use super::sources::{proxmox, quadlet, tasks};

/// How deep folders are read, and how many files at most.
const DEEPEST: usize = 12;
const MOST_FILES: usize = 20_000;

/// What a folder or file contains. What is from one file has its name for comments.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// What the operator named.
    pub root: PathBuf,
    /// Compose projects.
    pub projects: Vec<Project>,
    /// Inventories.
    pub inventories: Vec<(String, Inventory)>,
    /// Playbooks: file name, text, and name for comments.
    pub playbooks: Vec<(String, String, String)>,
    /// Quadlets and guests.
    pub services: Vec<Service>,
    /// Workloads and releases.
    pub manifests: Vec<(String, Stated)>,
    /// Configurations of Home Assistant.
    pub assistants: Vec<(String, Assistant)>,
    /// The scripts of justfiles and Taskfiles.
    pub scripts: Vec<(String, Vec<String>)>,
    /// The files that cannot be read although they should be.
    pub errors: Vec<ImportError>,
    /// What is not read, one sentence each.
    pub notes: Vec<String>,
}

impl FoundFiles {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.projects.is_empty()
            && self.inventories.is_empty()
            && self.playbooks.is_empty()
            && self.services.is_empty()
            && self.manifests.is_empty()
            && self.assistants.is_empty()
            && self.scripts.is_empty()
    }

    /// Reads one file, of any name.
    pub fn in_file(file: &Path, known: &Known) -> Result<Self, ImportError> {
        let text = text(file).map_err(|error| unreadable(file, error))?;
        let mut found = Self { root: file.to_owned(), ..Self::default() };
        let source = shown(file, file);
        let mut finder = Finder::new(file, known);
        if is_yaml(file) {
            finder.find_one(file);
        }
        found.take(finder);
        if !found.projects.is_empty() || !found.errors.is_empty() {
            return Ok(found);
        }
        let beside: Vec<PathBuf> = file.parent().and_then(|folder| all_in(folder).ok()).unwrap_or_default();
        let kustomizations = Kustomizations::of(&beside, file.parent().unwrap_or(file));
        found.add(file, &source, known, &kustomizations);
        if found.is_empty()
            && let Some(inventory) = inventory(file, &text, file.parent().unwrap_or(file), known)
        {
            found.inventories.push((source, inventory));
        }
        if found.is_empty() && is_yaml(file) {
            // The mistake in the file says more than that nothing is in it.
            yaml_of(file, &text)?;
        }
        Ok(found)
    }

    /// Reads a folder with everything below it.
    pub fn in_folder(folder: &Path, known: &Known) -> Result<Self, ImportError> {
        let mut files = Vec::new();
        walk(folder, 0, known, &mut files).map_err(|error| unreadable(folder, error))?;
        files.retain(|file| !file.is_symlink() || is_below(file, folder));
        let mut found = Self { root: folder.to_owned(), ..Self::default() };
        let mut finder = Finder::new(folder, known);
        finder.find(&files);
        let kustomizations = Kustomizations::of(&files, folder);
        for file in files.iter().filter(|file| !finder.is_read(file)) {
            let source = shown(file, folder);
            if found.add(file, &source, known, &kustomizations) || !is_ansible(file) {
                continue;
            }
            let Ok(text) = text(file) else { continue };
            if is_inventory(file, folder, known)
                && let Some(inventory) = inventory(file, &text, folder, known)
            {
                found.inventories.push((source, inventory));
            } else if is_playbook(&text) {
                found.playbooks.push((name(file).to_owned(), text, source));
            }
        }
        found.take(finder);
        Ok(found)
    }

    fn take(&mut self, finder: Finder<'_>) {
        self.projects = finder.projects;
        self.errors.extend(finder.errors);
        self.notes.extend(finder.notes);
    }

    /// Adds what a file states that is recognized by its name and content; whether it is one of these.
    fn add(&mut self, file: &Path, source: &str, known: &Known, kustomizations: &Kustomizations) -> bool {
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_lowercase();
        let read = || text(file).unwrap_or_default();
        let services = match extension {
            "container" | "pod" | "kube" => {
                quadlet::service(file, &read(), source, known).into_iter().collect()
            }
            "conf" => proxmox::configured(file, &read(), source).into_iter().collect(),
            "tf" => proxmox::terraform(&read(), source),
            _ => vec![],
        };
        if !services.is_empty() {
            self.services.extend(services);
            return true;
        }
        if stem == "justfile" || stem == ".justfile" || (stem == "taskfile" && is_yaml(file)) {
            let scripts = tasks::scripts(file, &read());
            if !scripts.is_empty() {
                self.scripts.push((source.to_owned(), scripts));
            }
            return true;
        }
        if !is_yaml(file) && extension != "gotmpl" {
            return false;
        }
        let text = read();
        if name(file) == "configuration.yaml"
            && let Some(assistant) = home_assistant::read(&text)
        {
            self.assistants.push((source.to_owned(), assistant));
            return true;
        }
        let is_helmfile = stem.starts_with("helmfile") || file.iter().any(|part| part == "helmfile.d");
        let mut stated = if is_helmfile { kubernetes::helmfile(&text) } else { kubernetes::manifest(&text) };
        kustomizations.apply(file, &mut stated);
        let is_one = !stated.is_empty();
        self.manifests.extend(stated.into_iter().map(|stated| (source.to_owned(), stated)));
        is_one
    }
}

fn is_one_of(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

/// The files and folders in a folder, sorted.
fn all_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    let mut entries: Vec<PathBuf> = entries.collect();
    entries.sort();
    Ok(entries)
}

fn walk(folder: &Path, depth: usize, known: &Known, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for path in all_in(folder)? {
        let name = name(&path);
        if path.is_file() {
            if files.len() < MOST_FILES {
                files.push(path);
            }
        } else if depth < DEEPEST
            && path.is_dir()
            && !path.is_symlink()
            && (!name.starts_with('.') || is_one_of(&known.hidden, name))
            && !is_one_of(&known.skipped, &name.to_lowercase())
        {
            // A folder that cannot be read, such as the data of a database, contains no such files.
            let _ = walk(&path, depth + 1, known, files);
        }
    }
    Ok(())
}

fn is_ansible(file: &Path) -> bool {
    is_yaml(file) || file.extension().is_none_or(|extension| extension == "ini")
}

/// Whether the name of the file, or of a folder above it, is that of an inventory, and none is that of another one than that in
/// use.
fn is_inventory(file: &Path, root: &Path, known: &Known) -> bool {
    let stem =
        |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_lowercase();
    let names: Vec<String> =
        file.ancestors().take_while(|path| *path != root && path.starts_with(root)).map(stem).collect();
    names.iter().chain([&stem(root)]).any(|name| is_one_of(&known.inventories, name))
        && !names.iter().any(|name| is_one_of(&known.other_inventories, name))
}

/// The inventory in a file, with the variables in `host_vars` and `group_vars` beside it and, as beside a playbook, in the two
/// folders above it.
fn inventory(file: &Path, text: &str, root: &Path, known: &Known) -> Option<Inventory> {
    // Ansible looks at the text, not at the name: an inventory in INI may be called `hosts.yml`.
    let starts_with_group = || {
        let is_empty = |line: &&str| line.is_empty() || line.starts_with(['#', ';']);
        text.lines().map(str::trim).find(|line| !is_empty(line)).is_some_and(|line| line.starts_with('['))
    };
    let mut inventory = match Inventory::of_yaml(text).filter(|_| is_yaml(file)) {
        Some(inventory) => inventory,
        None if !is_yaml(file) || starts_with_group() => Inventory::of_ini(text),
        None => return None,
    };
    let folders = file.ancestors().skip(1).take(3).take_while(|folder| folder.starts_with(root));
    let kinds = [("group_vars", true), ("host_vars", false)];
    for (folder, (kind, is_group)) in folders.flat_map(|folder| kinds.map(|kind| (folder, kind))) {
        let mut files = Vec::new();
        let _ = walk(&folder.join(kind), 0, known, &mut files);
        for file in files {
            let Ok(below) = file.strip_prefix(folder.join(kind)) else { continue };
            let first = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
            let Some(first) = first else { continue };
            let is_folder = below.components().count() > 1;
            let stem = first.strip_suffix(".yml").or_else(|| first.strip_suffix(".yaml")).unwrap_or(&first);
            let of = if is_folder { &first } else { stem.strip_suffix(".sops").unwrap_or(stem) };
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
