//! Finds the compose projects in a folder: which files compose merges, includes and extends, and which of several it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::ImportError;
use super::file::{is_below, is_yaml, name, shown, text, yaml_of};
use super::known::Known;
use super::naming;
use super::sources::compose::{Project, extended, merge, plain_key, with_tags_in_keys};
use super::sources::container::normal;
use super::sources::variables::Variables;
use opsctl_policy::paths::glob::matches;

/// Why the name of a project is a guess whose file has another name than those that compose looks for.
const OF_FOLDER: &str = "the name of its folder";

/// The variable with the name of the project.
const PROJECT_NAME: &str = "COMPOSE_PROJECT_NAME";

/// How deep `include` is followed.
const DEEPEST: usize = 8;

/// The compose files of a folder with everything below it.
pub struct Finder<'a> {
    /// The folder or file that the operator named.
    root: &'a Path,
    known: &'a Known,
    /// The content of each file that was read; `None` for one that is not a compose file.
    contents: BTreeMap<PathBuf, Option<Value>>,
    /// The files that are part of a project of another file.
    parts: BTreeSet<PathBuf>,
    /// The files that cannot be read.
    pub errors: Vec<ImportError>,
    /// The projects.
    pub projects: Vec<Project>,
    /// The files that are not used, one sentence each.
    pub notes: Vec<String>,
}

impl<'a> Finder<'a> {
    /// Finds nothing yet.
    pub fn new(root: &'a Path, known: &'a Known) -> Self {
        let (contents, parts) = (BTreeMap::new(), BTreeSet::new());
        Self { root, known, contents, parts, errors: vec![], projects: vec![], notes: vec![] }
    }

    /// Reads the projects of these files.
    pub fn find(&mut self, files: &[PathBuf]) {
        let mut folders: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
        for file in files.iter().filter(|file| self.may_be_one(file)) {
            folders.entry(file.parent().unwrap_or(file)).or_default().push(file);
        }
        // Which files are parts of others is known only after all have been read.
        let mut chains: Vec<(Vec<PathBuf>, Option<String>)> = Vec::new();
        for files in folders.values() {
            chains.extend(self.chains(files));
        }
        for (chain, _) in &chains {
            for file in chain {
                self.mark_parts(file);
            }
        }
        for (chain, doubt) in chains {
            if !chain.first().is_some_and(|file| self.parts.contains(file)) {
                self.add(&chain, doubt, None, DEEPEST);
            }
        }
        // Files of the usual names give services their names.
        self.projects.sort_by_key(|project| project.doubt.is_some() || project.name.1 == Some(OF_FOLDER));
    }

    /// Reads the project of one file that the operator named, if it is one.
    pub fn find_one(&mut self, file: &Path) {
        if self.content(file).is_some() {
            self.mark_parts(file);
            self.add(&[file.to_owned()], None, None, DEEPEST);
        }
    }

    /// Whether a file was read as a compose file.
    pub fn is_read(&self, file: &Path) -> bool {
        self.contents.get(file).is_some_and(Option::is_some)
    }

    fn is_standard(&self, file: &Path) -> bool {
        self.known.compose.iter().any(|known| known == name(file))
    }

    fn may_be_one(&self, file: &Path) -> bool {
        is_yaml(file) && !is_named(file, &self.known.never_compose)
    }

    /// The files of one folder that compose merges, one list for each project. A file that is only used if it is named has a
    /// doubt.
    fn chains(&mut self, files: &[&PathBuf]) -> Vec<(Vec<PathBuf>, Option<String>)> {
        let beside = |names: &[String]| {
            names
                .iter()
                .find_map(|known| files.iter().find(|file| name(file) == known))
                .map(|file| (*file).clone())
        };
        if let Some(stated) = self.stated_chain(files) {
            return vec![(stated, None)];
        }
        let base = beside(&self.known.compose);
        let over = beside(&self.known.overrides);
        let is_other = |file: &&&PathBuf| {
            !self.is_standard(file) && !self.known.overrides.iter().any(|known| known == name(file))
        };
        let named: Vec<PathBuf> = files
            .iter()
            .filter(is_other)
            .filter(|file| is_named(file, &self.known.compose_like))
            .map(|file| (*file).clone())
            .collect();
        let Some(base) = base else {
            let others: Vec<PathBuf> = files.iter().filter(is_other).map(|file| (*file).clone()).collect();
            return self.without_base(&named, &others, over.as_ref());
        };
        let mut chain = vec![base.clone()];
        chain.extend(over);
        let mut chains = Vec::new();
        for file in named {
            if self.content(&file).is_none() {
                continue;
            }
            let source = shown(&file, self.root);
            if is_named(&file, &self.known.production) {
                chain.push(file);
            } else if is_named(&file, &self.known.development) {
                self.notes.push(format!("{source} is not read: its name is one of a development"));
            } else {
                chains.push((vec![base.clone(), file], Some(format!("from {source}, if that is used, too"))));
            }
        }
        let doubt =
            chain.get(1..).unwrap_or_default().iter().find(|file| is_named(file, &self.known.production));
        let doubt = doubt.map(|file| format!("as with {}", shown(file, self.root)));
        chains.insert(0, (chain, doubt));
        chains
    }

    /// The files that `COMPOSE_FILE` in `.env` beside them states.
    fn stated_chain(&mut self, files: &[&PathBuf]) -> Option<Vec<PathBuf>> {
        let folder = files.first()?.parent()?;
        let variables = Variables::of_file(&text(&folder.join(".env")).ok()?);
        let separator = variables.get("COMPOSE_PATH_SEPARATOR").unwrap_or(":");
        let stated = variables.get("COMPOSE_FILE").filter(|stated| !stated.is_empty())?;
        let chain: Vec<PathBuf> = stated.split(separator).map(|file| below(folder, file)).collect();
        self.parts.extend(chain.iter().skip(1).cloned());
        chain.iter().all(|file| self.content(file).is_some()).then_some(chain)
    }

    /// The projects of a folder without a file of the usual name: each file is one, and all have the name of the folder.
    fn without_base(
        &mut self,
        named: &[PathBuf],
        others: &[PathBuf],
        over: Option<&PathBuf>,
    ) -> Vec<(Vec<PathBuf>, Option<String>)> {
        let candidates = if named.is_empty() { others } else { named };
        let mut found: Vec<PathBuf> = Vec::new();
        for file in candidates.iter().chain(over).cloned() {
            let Some(content) = self.content(&file) else { continue };
            if over == Some(&file) && !states_container(content) {
                let source = shown(&file, self.root);
                self.notes.push(format!("{source} is not read: no compose file is beside it"));
            } else {
                found.push(file);
            }
        }
        let is_development = |file: &PathBuf| is_named(file, &self.known.development);
        if !found.iter().all(is_development) {
            found.retain(|file| !is_development(file));
        }
        found.into_iter().map(|file| (vec![file], None)).collect()
    }

    /// The content of a file, if that is a compose file. A file that cannot be read is one error.
    fn content(&mut self, file: &Path) -> Option<&Value> {
        if !self.contents.contains_key(file) {
            let content = self.read(file);
            self.contents.insert(file.to_owned(), content);
        }
        self.contents.get(file)?.as_ref()
    }

    fn read(&mut self, file: &Path) -> Option<Value> {
        // What a repository includes or extends may be outside of it.
        if self.root.is_dir() && !is_below(file, self.root) {
            return None;
        }
        // What another file names need not state an image.
        let is_part = self.parts.contains(file);
        let is_sure = self.is_standard(file) || is_named(file, &self.known.overrides);
        let text = match text(file) {
            Ok(text) if is_sure || text.contains("services:") || text.contains("include:") => text,
            Ok(_) => return None,
            Err(error) => {
                if is_sure && file.exists() {
                    self.errors.push(ImportError::Unreadable(file.to_owned(), error));
                }
                return None;
            }
        };
        // Tags are part of keys only in what is read: a mistake is shown with the position in the file.
        let content: Value = match yaml_of(file, &with_tags_in_keys(&text)) {
            Ok(content) => content,
            Err(_) => match yaml_of(file, &text) {
                Ok(content) => content,
                Err(error) => {
                    if is_sure || is_named(file, &self.known.compose_like) {
                        self.errors.push(error);
                    }
                    return None;
                }
            },
        };
        let has_include = content.get("include").is_some();
        let services = content.get("services").and_then(serde_json::Value::as_object);
        if is_sure {
            let is_one = has_include || services.is_some_and(|services| !services.is_empty());
            let is_over = is_named(file, &self.known.overrides);
            if !is_one && !is_over {
                self.errors.push(ImportError::NoServices(file.to_owned()));
            }
            return (is_one || is_over).then_some(content);
        }
        // Variables of Ansible and settings of programs may have services with images, too.
        let has_only = |value: &Value, known: &[String]| {
            let is_known =
                |key: &String| key.starts_with("x-") || known.iter().any(|known| known == plain_key(key));
            value.as_object().is_some_and(|value| value.keys().all(is_known))
        };
        let is_compose = has_only(&content, &self.known.compose_keys)
            && services
                .into_iter()
                .flat_map(serde_json::Map::values)
                .all(|service| service.is_null() || has_only(service, &self.known.service_keys));
        (is_compose
            && ((is_part && services.is_some())
                || states_container(&content)
                || (has_include && is_named(file, &self.known.compose_like))))
        .then_some(content)
    }

    /// Marks the files that this one includes or extends: they are no projects of their own.
    fn mark_parts(&mut self, file: &Path) {
        let Some(content) = self.content(file).cloned() else { return };
        let folder = file.parent().unwrap_or(file).to_owned();
        let services =
            content.get("services").and_then(Value::as_object).into_iter().flat_map(|all| all.values());
        let extended = services.filter_map(|service| service.get("extends")?.get("file")?.as_str());
        let included = included(&content).into_iter().flat_map(|(paths, _)| paths);
        let parts: Vec<PathBuf> =
            extended.map(str::to_owned).chain(included).map(|path| below(&folder, &path)).collect();
        for part in parts {
            if part != file && self.parts.insert(part.clone()) {
                if !self.is_read(&part) {
                    self.contents.remove(&part);
                }
                self.mark_parts(&part);
            }
        }
    }

    /// Adds the project of these files, and what they include as parts of it. `parent` is the project that includes them.
    fn add(
        &mut self,
        chain: &[PathBuf],
        doubt: Option<String>,
        parent: Option<(&(String, Option<&'static str>), &Variables)>,
        left: usize,
    ) {
        let Some(first) = chain.first() else { return };
        let mut content = Value::Null;
        let mut known_services: Vec<String> = Vec::new();
        for file in chain {
            let Some(own) = self.content(file).cloned() else { return };
            let folder = file.parent().unwrap_or(file).to_owned();
            let own = extended(own, &mut |path| self.content(&below(&folder, path)).cloned());
            merge(&mut content, own);
            if doubt.as_ref().is_some_and(|doubt| doubt.starts_with("from ")) && file == first {
                known_services = services(&content);
            }
        }
        // A file that may be used adds services to the project, and does not change those that are there.
        if let Some(all) = content.get_mut("services").and_then(Value::as_object_mut) {
            all.retain(|key, _| !known_services.contains(key));
        }
        let folder = first.canonicalize().ok().and_then(|file| Some(file.parent()?.to_owned()));
        let Some(folder) = folder else { return };
        let dot_env = text(&first.with_file_name(".env")).unwrap_or_default();
        let mut variables = Variables::of_file(&dot_env);
        if let Some((_, outer)) = parent {
            variables.add_missing(outer);
        }
        let name = parent.map_or_else(
            || self.project_name(first, &folder, &content, &variables),
            |(name, _)| name.clone(),
        );
        // Compose sets it for its files.
        variables.set_missing(PROJECT_NAME, &name.0);
        let source = shown(chain.last().filter(|_| !known_services.is_empty()).unwrap_or(first), self.root);
        for (paths, project_folder) in included(&content).into_iter().filter(|_| left > 0) {
            let base = first.parent().unwrap_or(first);
            let paths: Vec<PathBuf> = paths.iter().map(|path| below(base, path)).collect();
            if paths.iter().any(|path| self.content(path).is_none()) {
                let missing: Vec<String> = paths.iter().map(|path| shown(path, self.root)).collect();
                self.notes.push(format!(
                    "{source} includes {}, which is not there, or not in the folder",
                    missing.join(", ")
                ));
                continue;
            }
            let count = self.projects.len();
            self.add(&paths, None, Some((&name, &variables)), left - 1);
            if let Some(folder) = project_folder.map(|folder| below(base, &folder)) {
                self.projects.iter_mut().skip(count).for_each(|project| project.folder.clone_from(&folder));
            }
        }
        let is_stack = is_named(first, &self.known.stacks) || needs_swarm(&content);
        let project = Project { source, folder, name, doubt, is_stack, content, variables };
        if project.keys().next().is_some() {
            self.projects.push(project);
        }
    }

    /// The name of a project, as compose determines it: `COMPOSE_PROJECT_NAME`, `name`, else the name of the folder, and why it
    /// is a guess.
    fn project_name(
        &self,
        file: &Path,
        folder: &Path,
        content: &Value,
        variables: &Variables,
    ) -> (String, Option<&'static str>) {
        let stated = variables.get(PROJECT_NAME).map(str::to_owned);
        let stated = stated.or_else(|| variables.text(content.get("name")?));
        if let Some(stated) = stated {
            return (stated, None);
        }
        let is_root = self.root.canonicalize().is_ok_and(|root| root == folder);
        let why = if content.get("name").is_some() {
            Some("its `name` has a variable that is not known")
        } else if is_root {
            Some("the name of this folder, which may differ on its host")
        } else {
            (!self.is_standard(file)).then_some(OF_FOLDER)
        };
        let folder = folder.file_name().unwrap_or_default().to_string_lossy();
        (naming::project_of_folder(&folder), why)
    }
}

fn is_named(file: &Path, globs: &[String]) -> bool {
    globs.iter().any(|glob| matches(glob, &name(file).to_lowercase()))
}

/// Whether a service states what its container is made of.
fn states_container(content: &Value) -> bool {
    let all = content.get("services").and_then(Value::as_object).into_iter().flat_map(|all| all.values());
    all.into_iter().any(|service| ["image", "build", "extends"].iter().any(|key| service.get(key).is_some()))
}

/// Whether only swarm does what a file states.
fn needs_swarm(content: &Value) -> bool {
    let any = |key: &str, is_one: fn(&Value) -> bool| {
        content.get(key).and_then(Value::as_object).is_some_and(|all| all.values().any(is_one))
    };
    let is_external = |secret: &Value| secret.get("external") == Some(&Value::Bool(true));
    any("networks", |network| network.get("driver").and_then(Value::as_str) == Some("overlay"))
        || any("secrets", is_external)
        || any("configs", is_external)
        || any("services", |service| service.pointer("/deploy/placement").is_some())
}

fn services(content: &Value) -> Vec<String> {
    content
        .get("services")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|all| all.keys().cloned())
        .collect()
}

/// What a file includes: each the files that are merged, and the folder to which their paths are relative.
fn included(content: &Value) -> Vec<(Vec<String>, Option<String>)> {
    let texts = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![],
    };
    let one = |member: &Value| {
        let folder = member.get("project_directory").and_then(Value::as_str).map(str::to_owned);
        (texts(member.get("path").unwrap_or(member)), folder)
    };
    let members = content.get("include").and_then(Value::as_array).into_iter().flatten();
    members.map(one).filter(|(paths, _)| !paths.is_empty()).collect()
}

fn below(folder: &Path, path: &str) -> PathBuf {
    PathBuf::from(normal(&folder.join(path)))
}
