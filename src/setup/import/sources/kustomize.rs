//! Kustomizations, and the folders that Flux and Argo CD apply: the namespace of manifests, and whether their names change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::container::normal;
use super::kubernetes::{Stated, documents};
use crate::setup::import::file::{is_yaml, name, text};
use crate::setup::import::naming::is_name;

/// The names of a kustomization.
const NAMES: [&str; 2] = ["kustomization.yaml", "kustomization.yml"];

/// The keys with the files and folders that a kustomization lists.
const LISTS: [&str; 3] = ["resources", "bases", "components"];

/// How many kustomizations are followed from one that lists a manifest to those that list it.
const DEEPEST: usize = 8;

/// What applies files and folders.
#[derive(Debug)]
struct Listing {
    /// The files and folders.
    targets: Vec<PathBuf>,
    /// The folder of a kustomization, which others may list.
    folder: Option<PathBuf>,
    namespace: Option<String>,
    /// Whether its namespace replaces one that a manifest states.
    replaces: bool,
    renames: bool,
}

/// All that applies manifests of a repository.
#[derive(Debug, Default)]
pub struct Kustomizations(Vec<Listing>);

impl Kustomizations {
    /// Those among these files, whose folder is `root`.
    pub fn of(files: &[PathBuf], root: &Path) -> Self {
        let is_one = |file: &&PathBuf| NAMES.contains(&name(file));
        let mut listings: Vec<Listing> =
            files.iter().filter(is_one).filter_map(|file| listed(file)).collect();
        for file in files.iter().filter(|file| is_yaml(file) && !is_one(file)) {
            let Ok(text) = text(file) else { continue };
            if text.contains("kustomize.toolkit.fluxcd.io/") || text.contains("argoproj.io/") {
                listings.extend(documents(&text).iter().filter_map(|object| applied(object, root)));
            }
        }
        Self(listings)
    }

    /// Adds to what a file states the namespace that it gets.
    pub fn apply(&self, file: &Path, stated: &mut [Stated]) {
        let beside = file.parent().unwrap_or(file);
        let is_target =
            |path: &Path| self.0.iter().any(|listing| listing.targets.iter().any(|own| own == path));
        let is_folder = self.0.iter().any(|listing| listing.folder.as_deref() == Some(beside));
        for stated in stated {
            let (mut found, mut renames) = (BTreeSet::new(), false);
            let own = stated.namespace().map(str::to_owned);
            let target = std::iter::once(file).chain(file.ancestors().skip(1)).find(|path| is_target(path));
            if is_folder && !is_target(file) {
                for listing in self.0.iter().filter(|listing| listing.folder.as_deref() == Some(beside)) {
                    self.follow(listing, own.clone(), DEEPEST, &mut found, &mut renames);
                }
            } else if let Some(target) = target {
                self.collect(target, own, DEEPEST, &mut found, &mut renames);
            }
            if renames {
                stated.doubt("a kustomization changes its name");
            }
            if found.len() > 1 {
                stated.doubt("several kustomizations state its namespace");
            }
            if let Some(namespace) = found.into_iter().flatten().next() {
                stated.set_namespace(namespace);
            }
        }
    }

    /// The namespaces that a file or folder gets from everything that lists it.
    fn collect(
        &self,
        target: &Path,
        current: Option<String>,
        left: usize,
        found: &mut BTreeSet<Option<String>>,
        renames: &mut bool,
    ) {
        let count = found.len();
        let lists = |listing: &&Listing| listing.targets.iter().any(|own| own == target);
        for listing in self.0.iter().filter(lists).filter(|_| left > 0) {
            self.follow(listing, current.clone(), left, found, renames);
        }
        if found.len() == count {
            found.insert(current);
        }
    }

    fn follow(
        &self,
        listing: &Listing,
        current: Option<String>,
        left: usize,
        found: &mut BTreeSet<Option<String>>,
        renames: &mut bool,
    ) {
        *renames |= listing.renames;
        let next = match &listing.namespace {
            Some(namespace) if listing.replaces || current.is_none() => Some(namespace.clone()),
            _ => current,
        };
        match &listing.folder {
            Some(folder) => self.collect(folder, next, left - 1, found, renames),
            None => drop(found.insert(next)),
        }
    }
}

/// What a kustomization lists.
fn listed(file: &Path) -> Option<Listing> {
    let content: Value = serde_saphyr::from_str(&text(file).ok()?).ok()?;
    let folder = file.parent()?;
    let paths =
        LISTS.iter().filter_map(|key| content.get(key)?.as_array()).flatten().filter_map(Value::as_str);
    Some(Listing {
        targets: paths.map(|path| PathBuf::from(normal(&folder.join(path)))).collect(),
        folder: Some(folder.to_owned()),
        namespace: named(&content, "/namespace"),
        replaces: true,
        renames: ["namePrefix", "nameSuffix"].iter().any(|key| content.get(key).is_some()),
    })
}

/// The folder that an object of Flux or Argo CD applies.
fn applied(object: &Value, root: &Path) -> Option<Listing> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let group = text("/apiVersion")?;
    let (path, namespace, replaces) = match text("/kind")? {
        "Kustomization" if group.starts_with("kustomize.toolkit.fluxcd.io/") => {
            (text("/spec/path")?, "/spec/targetNamespace", true)
        }
        "Application" if group.starts_with("argoproj.io/") => {
            (text("/spec/source/path")?, "/spec/destination/namespace", false)
        }
        _ => return None,
    };
    let target = PathBuf::from(normal(&root.join(path.trim_start_matches('/'))));
    let namespace = named(object, namespace);
    Some(Listing { targets: vec![target], folder: None, namespace, replaces, renames: false })
}

fn named(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer).and_then(Value::as_str).filter(|name| is_name(name)).map(str::to_owned)
}
