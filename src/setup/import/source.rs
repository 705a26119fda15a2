//! The sources that `--from` names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::draft::{Draft, Host};
use super::error::ImportError;
use super::files::FoundFiles;
use super::known::Known;
use super::sources::ansible::Inventory;
use super::sources::compose::Project;
use super::sources::{ansible, home_assistant, kubernetes, tasks};
use super::{naming, running};
use opsctl_policy::model::installation::inventory::ssh_host;

/// A source of hosts and services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A repository or another folder, or a file.
    Path(PathBuf),
    /// A context of kubectl.
    Kube(String),
    /// The containers of an engine on the host of an ssh destination.
    Engine(&'static str, String),
    /// The systemd units of the host of an ssh destination.
    Systemd(String),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let destination = |text: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@:/[]%".contains(c);
            if text.is_empty() || text.starts_with('-') || !text.chars().all(is_plain) {
                Err(format!("`{text}` is not an ssh destination; write one such as `root@nas`"))
            } else {
                Ok(text.to_owned())
            }
        };
        match text.split_once(':') {
            Some(("kube", context)) if context.is_empty() || context.starts_with('-') => {
                Err("name the context of kubectl, such as `kube:homelab`".to_owned())
            }
            Some(("kube", context)) => Ok(Self::Kube(context.to_owned())),
            Some(("systemd", host)) => destination(host).map(Self::Systemd),
            Some(("docker", host)) => destination(host).map(|host| Self::Engine("docker", host)),
            Some(("podman", host)) => destination(host).map(|host| Self::Engine("podman", host)),
            Some(("ssh", host)) if host.starts_with("//") => {
                destination(text).map(|host| Self::Engine("docker", host))
            }
            _ => Ok(Self::Path(PathBuf::from(text))),
        }
    }
}

/// Reads all sources, files before what runs, so that names and hosts of files are the ones that are kept. Every source that
/// gives nothing is an error.
pub fn read(sources: &[Source]) -> Result<Draft, Vec<ImportError>> {
    let known = Known::built_in().map_err(|error| vec![error])?;
    let mut draft = Draft { known, ..Draft::default() };
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for source in sources {
        let Source::Path(path) = source else { continue };
        match in_path(path, &draft.known) {
            Ok(files) => found.push(files),
            Err(wrong) => errors.extend(wrong),
        }
    }
    for files in &mut found {
        draft.unread.extend(files.errors.drain(..).map(|error| error.to_string()));
        draft.notes.append(&mut files.notes);
    }
    for (name, inventory) in found.iter().flat_map(|found| &found.inventories) {
        inventory.draft(name, &mut draft);
    }
    for source in sources {
        if let Source::Engine(_, destination) | Source::Systemd(destination) = source {
            draft.add_host(host(destination));
        }
    }
    draft_projects(&found, &mut draft);
    for service in found.iter().flat_map(|found| &found.services) {
        draft.add_described(service.clone());
    }
    let manifests: Vec<_> = found.iter_mut().flat_map(|found| found.manifests.drain(..)).collect();
    kubernetes::draft(&manifests, &mut draft);
    for source in sources {
        let asked = match source {
            Source::Path(_) => continue,
            Source::Kube(context) => running::workloads(context, &mut draft),
            Source::Engine(engine, destination) => {
                running::containers(engine, destination, &host_name(destination, &draft), &mut draft)
            }
            Source::Systemd(destination) => {
                running::units(destination, &host_name(destination, &draft), &mut draft)
            }
        };
        errors.extend(asked.err());
    }
    for found in &found {
        let none = Inventory::default();
        let inventory = found.inventories.first().map_or(&none, |(_, inventory)| inventory);
        for (file, text, source) in &found.playbooks {
            ansible::draft_playbook(file, text, source, inventory, &mut draft);
        }
        for (source, assistant) in &found.assistants {
            home_assistant::draft(assistant, source, &mut draft);
        }
        for (source, scripts) in &found.scripts {
            tasks::draft(scripts, source, &mut draft);
        }
    }
    if errors.is_empty() && draft.hosts.is_empty() && draft.services.is_empty() {
        // Such as playbooks that concern no single service.
        let path = |source: &Source| match source {
            Source::Path(path) => Some(ImportError::Nothing(path.clone())),
            _ => None,
        };
        errors.extend(sources.iter().filter_map(path));
    }
    if errors.is_empty() { Ok(draft) } else { Err(errors) }
}

/// Adds the services of all compose projects.
fn draft_projects(found: &[FoundFiles], draft: &mut Draft) {
    let projects: Vec<(&Path, &Project)> = found
        .iter()
        .flat_map(|found| found.projects.iter().map(|project| (found.root.as_path(), project)))
        .collect();
    let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
    projects
        .iter()
        .flat_map(|(_, project)| project.keys())
        .for_each(|key| *keys.entry(key).or_default() += 1);
    let is_common = |key: &str| keys.get(key).is_some_and(|count| *count > 1);
    let guessed = folders_of_hosts(&projects, is_common, draft);
    for (index, (_, project)) in projects.iter().enumerate() {
        let stated = host_of_folder(&project.folder, draft).map(|host| (host, "the name of a folder"));
        let guessed = guessed.get(&index).map(|host| (host.clone(), "a folder of it has the same services"));
        let host = stated.or(guessed);
        project.draft(is_common, host.as_ref().map(|(host, why)| (host.as_str(), *why)), draft);
    }
}

/// The folders that may each be a host, by the index of a project below: two projects in different ones have a container of the
/// same name. Such hosts are added.
fn folders_of_hosts(
    projects: &[(&Path, &Project)],
    is_common: impl Fn(&str) -> bool + Copy,
    draft: &mut Draft,
) -> BTreeMap<usize, String> {
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, (_, project)) in projects.iter().enumerate() {
        if host_of_folder(&project.folder, draft).is_none() {
            project
                .names(&draft.known, is_common)
                .for_each(|name| by_name.entry(name).or_default().push(index));
        }
    }
    let parts = |index: &usize| -> Vec<String> {
        let Some((root, project)) = projects.get(*index) else { return vec![] };
        let root = root.canonicalize().unwrap_or_else(|_| (*root).to_owned());
        let below = project.folder.strip_prefix(&root).unwrap_or(&project.folder);
        below.iter().filter_map(|part| part.to_str()).map(str::to_owned).collect()
    };
    // The folders whose names are those of hosts, as the parts of their paths.
    let mut folders: BTreeSet<Vec<String>> = BTreeSet::new();
    for indexes in by_name.values() {
        for (at, one) in indexes.iter().enumerate() {
            for other in indexes.get(at + 1..).unwrap_or_default() {
                let (one, other) = (parts(one), parts(other));
                let same = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
                let has_more = |parts: &[String]| parts.len() > same + 1;
                if has_more(&one) && has_more(&other) {
                    folders.extend([one, other].map(|parts| parts.into_iter().take(same + 1).collect()));
                }
            }
        }
    }
    let mut hosts = BTreeMap::new();
    for index in 0..projects.len() {
        let own = parts(&index);
        let Some(folder) = folders.iter().find(|folder| own.starts_with(folder)) else { continue };
        let Some(name) = folder.last().map(|name| naming::name(name)) else { continue };
        if !draft.hosts.iter().any(|host| host.name == name) {
            let comment =
                format!("guess: a host, because of the folder {}; set its address and ssh", folder.join("/"));
            draft.hosts.push(Host::new(name.clone(), name.clone(), None, vec![comment]));
        }
        hosts.insert(index, name);
    }
    hosts
}

/// The known host after which a folder above the files is named.
fn host_of_folder(folder: &Path, draft: &Draft) -> Option<String> {
    let names: Vec<&str> = folder.iter().rev().filter_map(|name| name.to_str()).collect();
    names.into_iter().find(|name| draft.hosts.iter().any(|host| host.name == *name)).map(str::to_owned)
}

fn in_path(path: &Path, known: &Known) -> Result<FoundFiles, Vec<ImportError>> {
    let read = if path.is_dir() { FoundFiles::in_folder } else { FoundFiles::in_file };
    let found = read(path, known).map_err(|error| vec![error])?;
    match (found.is_empty(), found.errors.is_empty()) {
        (true, true) => Err(vec![ImportError::Nothing(path.to_owned())]),
        (true, false) => Err(found.errors),
        (false, _) => Ok(found),
    }
}

fn host(destination: &str) -> Host {
    let address = ssh_host(destination).trim_matches(['[', ']']).to_owned();
    let is_ip = address.parse::<std::net::IpAddr>().is_ok();
    let first = if is_ip { &address } else { address.split('.').next().unwrap_or(&address) };
    Host::new(naming::name(first), address, Some(destination.to_owned()), vec![])
}

/// The name of the host with this ssh destination or address.
fn host_name(destination: &str, draft: &Draft) -> String {
    let own = host(destination);
    let same = draft.hosts.iter().find(|known| known.address == own.address || known.name == own.name);
    same.map_or(own.name, |known| known.name.clone())
}
