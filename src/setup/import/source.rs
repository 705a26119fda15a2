//! The sources that `--from` names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::draft::{Draft, Host};
use super::error::ImportError;
use super::files::FoundFiles;
use super::known::Known;
use super::sources::ansible;
use super::sources::ansible::Inventory;
use super::sources::compose::Project;
use super::{naming, running};
use opsctl_policy::model::installation::inventory::ssh_host;

/// A source of hosts and services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A compose file, an inventory, or a folder with such files.
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

/// Reads all sources, files before what runs, so that names and hosts of files are the ones that are kept.
pub fn read(sources: &[Source]) -> Result<Draft, ImportError> {
    let mut draft = Draft { known: Known::built_in()?, ..Draft::default() };
    let mut found = Vec::new();
    for source in sources {
        if let Source::Path(path) = source {
            found.push(in_path(path, &draft.known)?);
        }
    }
    for (name, inventory) in found.iter().flat_map(|found| &found.inventories) {
        inventory.draft(name, &mut draft);
    }
    for source in sources {
        if let Source::Engine(_, destination) | Source::Systemd(destination) = source {
            draft.add_host(host(destination));
        }
    }
    let projects = || found.iter().flat_map(|found| &found.projects);
    let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
    projects().flat_map(Project::keys).for_each(|key| *keys.entry(key).or_default() += 1);
    for project in projects() {
        let host = host_of_folder(&project.folder, &draft);
        let host = host.as_deref().map(|host| (host, "the name of a folder"));
        project.draft(|key| keys.get(key).is_some_and(|count| *count > 1), host, &mut draft);
    }
    for source in sources {
        match source {
            Source::Path(_) => {}
            Source::Kube(context) => running::workloads(context, &mut draft)?,
            Source::Engine(engine, destination) => {
                running::containers(engine, destination, &host_name(destination, &draft), &mut draft)?;
            }
            Source::Systemd(destination) => {
                running::units(destination, &host_name(destination, &draft), &mut draft)?;
            }
        }
    }
    let none = Inventory::default();
    for found in &found {
        let inventory = found.inventories.first().map_or(&none, |(_, inventory)| inventory);
        for (file, text, source) in &found.playbooks {
            ansible::draft_playbook(file, text, source, inventory, &mut draft);
        }
    }
    Ok(draft)
}

/// The known host after which a folder above the files is named.
fn host_of_folder(folder: &Path, draft: &Draft) -> Option<String> {
    let names: Vec<&str> = folder.iter().rev().filter_map(|name| name.to_str()).collect();
    names.into_iter().find(|name| draft.hosts.iter().any(|host| host.name == *name)).map(str::to_owned)
}

fn in_path(path: &Path, known: &Known) -> Result<FoundFiles, ImportError> {
    let read = if path.is_dir() { FoundFiles::in_folder } else { FoundFiles::in_file };
    let found = read(path, known)?;
    if found.is_empty() { Err(ImportError::Nothing(path.to_owned())) } else { Ok(found) }
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
