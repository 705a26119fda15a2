//! The sources that `--from` names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::draft::{Draft, Host};
use super::error::ImportError;
use super::files::Found;
use super::sources::ansible::Inventory;
use super::sources::{ansible, containers, kubernetes, units};
use super::{command, naming};
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
        if let Some(context) = text.strip_prefix("kube:") {
            if context.is_empty() || context.starts_with('-') {
                return Err("name the context of kubectl, such as `kube:homelab`".to_owned());
            }
            return Ok(Self::Kube(context.to_owned()));
        }
        if let Some(host) = text.strip_prefix("systemd:") {
            return destination(host).map(Self::Systemd);
        }
        for (prefix, engine) in [("docker:", "docker"), ("podman:", "podman")] {
            if let Some(host) = text.strip_prefix(prefix) {
                return destination(host).map(|host| Self::Engine(engine, host));
            }
        }
        if text.starts_with("ssh://") {
            return destination(text).map(|host| Self::Engine("docker", host));
        }
        Ok(Self::Path(PathBuf::from(text)))
    }
}

/// Reads all sources, files before what runs, so that names and hosts of files are the ones that are kept.
pub fn read(sources: &[Source]) -> Result<Draft, ImportError> {
    let mut draft = Draft::default();
    let mut found = Vec::new();
    for source in sources {
        if let Source::Path(path) = source {
            found.push((path, in_path(path)?));
        }
    }
    for (_, found) in &found {
        found.inventories.iter().for_each(|(name, inventory)| inventory.draft(name, &mut draft));
    }
    for source in sources {
        match source {
            Source::Engine(_, destination) | Source::Systemd(destination) => {
                draft.add_host(host(destination));
            }
            Source::Path(_) | Source::Kube(_) => {}
        }
    }
    let mut keys: BTreeMap<String, usize> = BTreeMap::new();
    for project in found.iter().flat_map(|(_, found)| &found.projects) {
        project.keys().for_each(|key| *keys.entry(key.to_owned()).or_default() += 1);
    }
    for (_, found) in &found {
        for project in &found.projects {
            let host = host_of_folder(&project.folder, &draft);
            let host = host.as_deref().map(|host| (host, "the name of a folder"));
            project.draft(|key| keys.get(key).is_some_and(|count| *count > 1), host, &mut draft);
        }
    }
    for source in sources {
        running(source, &mut draft)?;
    }
    let none = Inventory::default();
    for (_, found) in &found {
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

fn in_path(path: &Path) -> Result<Found, ImportError> {
    let found = if path.is_dir() { Found::in_folder(path)? } else { Found::in_file(path)? };
    if found.is_empty() { Err(ImportError::Nothing(path.to_owned())) } else { Ok(found) }
}

fn host(destination: &str) -> Host {
    let address = ssh_host(destination).trim_matches(['[', ']']).to_owned();
    let is_ip = address.parse::<std::net::IpAddr>().is_ok();
    let first = if is_ip { &address } else { address.split('.').next().unwrap_or(&address) };
    Host { name: naming::name(first), address, ssh: Some(destination.to_owned()), comments: vec![] }
}

/// Asks what runs.
fn running(source: &Source, draft: &mut Draft) -> Result<(), ImportError> {
    match source {
        Source::Path(_) => Ok(()),
        Source::Kube(context) => {
            let source = format!("kube:{context}");
            let arguments = [&["--context", context.as_str()], kubernetes::ARGUMENTS.as_slice()].concat();
            kubernetes::draft(&command::output("kubectl", &arguments, &source)?, &source, draft)
        }
        Source::Engine(engine, destination) => {
            let source = format!("{engine}:{destination}");
            let listing = command::on_host(destination, &containers::command(engine), &source)?;
            let host = host_name(destination, draft);
            containers::draft(&listing, engine, &host, &source, draft);
            Ok(())
        }
        Source::Systemd(destination) => {
            let source = format!("systemd:{destination}");
            let listing = command::on_host(destination, units::COMMAND, &source)?;
            let host = host_name(destination, draft);
            units::draft(&listing, &host, &source, draft)
        }
    }
}

/// The name of the host with this ssh destination or address.
fn host_name(destination: &str, draft: &Draft) -> String {
    let own = host(destination);
    let same = draft.hosts.iter().find(|known| known.address == own.address || known.name == own.name);
    same.map_or(own.name, |known| known.name.clone())
}
