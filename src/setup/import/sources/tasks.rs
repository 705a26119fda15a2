//! Justfiles and Taskfiles: what their commands act on, and on which host.

use std::path::Path;

use serde_json::Value;

use crate::setup::import::draft::{Draft, Host, Key, Service, push_new};
use crate::setup::import::naming::{self, is_name};
use opsctl_policy::model::installation::inventory::ssh_host;
use opsctl_reader::actions::read_command;
use opsctl_reader::manifest::{just, taskfile};
use opsctl_reader::terms::action::{Action, Target};

/// The scripts of all tasks of a file.
pub fn scripts(file: &Path, text: &str) -> Vec<String> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
    let is_just = name.ends_with("justfile");
    let name_of_recipe = |line: &str| {
        let name = line.split([':', ' ']).next()?.trim_start_matches('@');
        let is_recipe =
            line.contains(':') && !line.contains(":=") && !line.starts_with([' ', '\t', '#', '[']);
        (is_recipe && is_name(name)).then(|| name.to_owned())
    };
    if is_just {
        let names = text.lines().filter_map(name_of_recipe);
        return names.flat_map(|name| just::commands(text, &[&name]).scripts).collect();
    }
    let content: Option<Value> = serde_saphyr::from_str(text).ok();
    let tasks = content.as_ref().and_then(|content| content.get("tasks")?.as_object());
    let names = tasks.into_iter().flat_map(|tasks| tasks.keys());
    names.flat_map(|name| taskfile::commands(text, &[name], "").scripts).collect()
}

/// Adds what the scripts act on: the hosts that they name, and which of them a service runs on.
pub fn draft(scripts: &[String], source: &str, draft: &mut Draft) {
    for script in scripts {
        for action in read_command(script, None).actions {
            act(&action, source, draft);
        }
    }
}

fn act(action: &Action, source: &str, draft: &mut Draft) {
    let host = action.host.as_deref().filter(|host| !host.contains(['$', '*', '?']));
    let host = host.and_then(|host| known_host(host, source, draft));
    let Some(name) = action.target.name().filter(|name| is_name(name)).map(str::to_owned) else { return };
    let key = match &action.target {
        Target::Container(_) | Target::ComposeService(_) | Target::Service(_) => Key::Containers,
        Target::ComposeProject(_) => Key::Projects,
        Target::Unit(_) => Key::Units,
        Target::Release(_) => Key::Releases,
        Target::Playbook(playbook) => {
            let file = playbook.file.as_ref().filter(|file| is_name(file));
            if let (Some(service), Some(file)) = (&playbook.stated, file)
                && let Some(known) = draft.services.iter_mut().find(|known| known.name == *service)
            {
                known.guess(Key::Playbooks, file, &format!("a command of {source} names both"));
            }
            return;
        }
        _ => return,
    };
    let is_meant = |service: &&mut Service| {
        let is_listed = service.keys.get(&key).is_some_and(|entry| entry.values.contains(&name));
        is_listed || (key != Key::Projects && service.name == name)
    };
    let mut is_known = false;
    for known in draft.services.iter_mut().filter(is_meant) {
        is_known = true;
        if let Some(host) = host.as_ref().filter(|_| known.host().is_none() && known.on_host) {
            known.guess(Key::Host, host, &format!("a command of {source} runs there"));
        }
    }
    let is_new = matches!(action.target, Target::Container(_) | Target::Unit(_) | Target::Release(_));
    if !is_known && is_new {
        let mut service = Service::new(naming::name(&name), source, key != Key::Releases);
        service.notes.push(format!("guess: a command of {source} acts on it"));
        if key == Key::Releases {
            service.add(Key::Unchecked, "container");
        }
        if key != Key::Containers {
            service.add(key, name);
        }
        if let Some(host) = host {
            service.guess(Key::Host, host, &format!("a command of {source} runs there"));
        }
        draft.add_service(service);
    }
}

/// The name of the host that a command names by its name, address or ssh destination; one that is not known is added.
fn known_host(written: &str, source: &str, draft: &mut Draft) -> Option<String> {
    let address = ssh_host(written).trim_matches(['[', ']']).to_owned();
    let same = draft.hosts.iter().find(|known| known.name == address || known.address == address);
    if let Some(known) = same {
        return Some(known.name.clone());
    }
    let is_address = address.parse::<std::net::IpAddr>().is_ok();
    let is_plain =
        !address.is_empty() && address.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:".contains(c));
    if !is_plain || address == "localhost" {
        return None;
    }
    let first = if is_address { &address } else { address.split('.').next().unwrap_or(&address) };
    let name = naming::name(first);
    let mut comments = vec![source.to_owned()];
    push_new(&mut comments, "guess: a command names it".to_owned());
    draft.hosts.push(Host::new(name.clone(), address, Some(written.to_owned()), comments));
    Some(name)
}
