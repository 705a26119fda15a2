//! Guests of Proxmox VE: their configuration files, and resources of Terraform.

use std::path::Path;

use regex_lite::Regex;

use crate::setup::import::draft::{Key, Service};
use crate::setup::import::naming::{self, is_name};

/// Types of resources of Terraform with the program of their guests.
const RESOURCES: [(&str, &str); 4] = [
    ("proxmox_virtual_environment_vm", "qm"),
    ("proxmox_virtual_environment_container", "pct"),
    ("proxmox_vm_qemu", "qm"),
    ("proxmox_lxc", "pct"),
];

/// A guest, with the name of the node that it runs on.
fn service(program: &str, id: &str, name: &str, node: Option<&str>, source: &str) -> Service {
    let mut service = Service::new(naming::name(name), source, false);
    service.add(Key::Guests, format!("{program}/{id}"));
    service.notes.extend(node.map(|node| format!("guess: a guest of the node {node}: add `host:`")));
    service
}

/// The guest of a configuration file such as `lxc/101.conf` or `qemu-server/100.conf`.
pub fn configured(file: &Path, text: &str, source: &str) -> Option<Service> {
    let id = file.file_stem()?.to_str().filter(|stem| stem.bytes().all(|c| c.is_ascii_digit()))?;
    // Sections behind the first lines are snapshots.
    let lines = || text.lines().take_while(|line| !line.starts_with('['));
    let value = |key: &str| {
        lines()
            .find_map(|line| line.split_once(':').filter(|(name, _)| *name == key))
            .map(|(_, value)| value.trim())
    };
    if value("template") == Some("1") {
        return None;
    }
    let (program, name) = match (value("rootfs"), value("hostname"), value("name")) {
        (Some(_), hostname, _) => ("pct", hostname),
        (None, _, name) if value("memory").is_some() || value("boot").is_some() => ("qm", name),
        _ => return None,
    };
    let names: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
    let node = names.windows(2).find_map(|pair| match pair {
        ["nodes", node] => Some(*node),
        _ => None,
    });
    let name = name.filter(|name| is_name(name)).map_or_else(|| format!("{program}-{id}"), str::to_owned);
    Some(service(program, id, &name, node, source))
}

/// The guests of the resources in a file of Terraform that state their number and name.
pub fn terraform(text: &str, source: &str) -> Vec<Service> {
    let Ok(head) = Regex::new(r#"(?m)^resource\s+"([a-z_]+)"\s+"([\w-]+)"\s*\{"#) else { return vec![] };
    let mut found = Vec::new();
    for one in head.captures_iter(text) {
        let part = |index| one.get(index).map_or("", |part| part.as_str());
        let Some((_, program)) = RESOURCES.iter().find(|(resource, _)| *resource == part(1)) else {
            continue;
        };
        let behind = one.get(0).and_then(|head| text.get(head.end()..)).unwrap_or_default();
        let body = behind.split("\n}").next().unwrap_or_default();
        let value = |keys: &str, form: &str| {
            let pattern = Regex::new(&format!(r"(?m)^\s*(?:{keys})\s*=\s*{form}\s*(?:#.*)?$")).ok()?;
            pattern.captures(body)?.get(1).map(|value| value.as_str())
        };
        let is_many = ["count", "for_each"].iter().any(|key| value(key, "(.+)").is_some());
        let Some(id) = value("vm_id|vmid", r#""?(\d+)"?"#).filter(|_| !is_many) else { continue };
        if value("template", "(true)").is_some() {
            continue;
        }
        let name = value("name|hostname", r#""([\w.-]+)""#).unwrap_or_else(|| part(2));
        let node = value("node_name|target_node", r#""([\w.-]+)""#);
        let mut guest = service(program, id, name, node, source);
        if value("started", "(false)").is_some() {
            guest.guess(Key::Unchecked, "guest", "it is not started");
        }
        found.push(guest);
    }
    found
}
