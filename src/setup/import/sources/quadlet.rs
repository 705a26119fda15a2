//! Quadlets: containers, pods and kube files that systemd starts with Podman.

use std::path::Path;

use super::container::{Port, add_data, add_health, add_ports};
use super::labels;
use crate::setup::import::draft::{Key, Service};
use crate::setup::import::known::Known;
use crate::setup::import::naming::{self, is_name};

/// The folder of the quadlets of a user, below its home.
const OF_USER: &str = ".config/containers/systemd";

/// The keys of a unit file with their sections, in their order.
struct Unit(Vec<(String, String, String)>);

impl Unit {
    /// Reads a unit file. A line that ends in `\` goes on in the next one that is no comment.
    fn read(text: &str) -> Self {
        let mut lines: Vec<String> = Vec::new();
        let mut goes_on = false;
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
            let (part, continues) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
            match lines.last_mut().filter(|_| goes_on) {
                Some(last) => *last += part,
                None => lines.push(part.to_owned()),
            }
            goes_on = continues;
        }
        let mut section = String::new();
        let mut keys = Vec::new();
        for line in lines {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                name.clone_into(&mut section);
            } else if let Some((key, value)) = line.split_once('=') {
                keys.push((section.clone(), key.trim().to_owned(), value.trim().to_owned()));
            }
        }
        Self(keys)
    }

    fn all<'a>(&'a self, section: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
        let is_meant = move |(of, name, _): &&(String, String, String)| of == section && name == key;
        self.0.iter().filter(is_meant).map(|(_, _, value)| value.as_str())
    }

    /// The last value of a key, which is the one that counts.
    fn last<'a>(&'a self, section: &'a str, key: &'a str) -> Option<&'a str> {
        self.all(section, key).last()
    }
}

/// The service of a quadlet; `None` for a template of units, and for a file that is none.
pub fn service(file: &Path, text: &str, source: &str, known: &Known) -> Option<Service> {
    let (stem, kind) = (file.file_stem()?.to_str()?, file.extension()?.to_str()?);
    let (section, required, suffix) = match kind {
        "container" => ("Container", &["Image", "Rootfs"][..], ""),
        "pod" => ("Pod", &[][..], "-pod"),
        "kube" => ("Kube", &["Yaml"][..], ""),
        _ => return None,
    };
    let unit = Unit::read(text);
    let is_one = unit.0.iter().any(|(of, ..)| of == section)
        && (required.is_empty() || required.iter().any(|key| unit.last(section, key).is_some()));
    let stated = |key| unit.last(section, key).filter(|value| is_name(value)).map(str::to_owned);
    let name = stated("ServiceName").unwrap_or_else(|| format!("{stem}{suffix}"));
    if !is_one || !is_name(&name) {
        return None;
    }
    let mut service = Service::new(naming::name(&name), source, true);
    service.add(Key::Engine, "podman");
    if kind == "container" {
        match unit.last(section, "ContainerName") {
            None => service.add(Key::Containers, format!("systemd-{stem}")),
            Some(container) if is_name(container) => service.add(Key::Containers, container),
            Some(_) => service.notes.push("guess: its ContainerName is not known".to_owned()),
        }
        if unit.last("Service", "Type") == Some("oneshot") {
            for check in ["container", "unit"] {
                service.guess(Key::Unchecked, check, "it ends after its work");
            }
        }
    }
    service.add(Key::Units, name);
    // `default.target` is what units of a user are wanted by, those of the system by `multi-user.target`.
    let wanted_by: Vec<&str> = unit.all("Install", "WantedBy").flat_map(str::split_whitespace).collect();
    let is_of_user = wanted_by.contains(&"default.target") && !wanted_by.contains(&"multi-user.target");
    if is_of_user || file.to_string_lossy().contains(OF_USER) {
        service.notes.push("guess: a unit of a user, so that its host needs `units: user`".to_owned());
    }
    let pod = unit.last(section, "Pod").and_then(|pod| pod.strip_suffix(".pod"));
    if let Some(pod) = pod {
        service.guess(Key::Needs, naming::name(&format!("{pod}-pod")), "it runs in its pod");
    }
    if unit.all(section, "Network").any(|network| network == "host") {
        service.notes.push("in the network of its host: add its ports as `tcp`".to_owned());
    } else if pod.is_none() {
        add_reachable(&unit, section, &mut service);
    }
    for volume in unit.all(section, "Volume").filter(|volume| !volume.contains(['%', '$'])) {
        let mut parts = volume.split(':');
        // A relative path is one of the host that has the unit.
        if let Some(source) = parts.next().filter(|source| source.starts_with('/')) {
            add_data(source, parts.next().unwrap_or_default(), Path::new("/"), known, &mut service);
        }
    }
    Some(service)
}

/// Adds the published ports, and the health check of labels and `HealthCmd`.
fn add_reachable(unit: &Unit, section: &str, service: &mut Service) {
    let is_known = |port: &&str| !port.contains(['%', '$']);
    let ports = unit.all(section, "PublishPort").filter(is_known).filter_map(Port::of_text);
    let ports = add_ports(ports, service);
    let pairs: Vec<(String, String)> = unit
        .all(section, "Label")
        .filter(|label| !label.contains(['%', '$']))
        .filter_map(|label| labels::pair(label.trim_matches(['"', '\''])))
        .collect();
    let test = unit.last(section, "HealthCmd").unwrap_or_default();
    add_health(labels::page(&pairs, &[]), test, &ports, service);
}
