//! Containers that run on a host, from `docker ps` or `podman ps`.

use std::collections::BTreeMap;

use super::labels;
use crate::setup::import::draft::{Draft, Key, Service};
use crate::setup::import::naming;
use crate::setup::import::naming::is_name;

/// What the engine prints for each container, separated by tabs.
const FIELDS: [&str; 5] = [
    "{{.Names}}",
    "{{.Label \"com.docker.compose.project\"}}",
    "{{.Label \"com.docker.compose.service\"}}",
    "{{.Ports}}",
    "{{.Labels}}",
];

/// The label of a swarm task's service.
const SWARM_SERVICE: &str = "com.docker.swarm.service.name";

/// The command that lists the running containers of an engine, for a shell.
pub fn command(engine: &str) -> String {
    format!("{engine} ps --no-trunc --format '{}'", FIELDS.join("\\t"))
}

/// Adds the containers that an engine has listed.
pub fn draft(listing: &str, engine: &str, host: &str, source: &str, draft: &mut Draft) {
    let rows: Vec<Vec<&str>> = listing
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|fields| fields.len() == FIELDS.len())
        .collect();
    let mut projects: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for fields in &rows {
        if let [_, project, key, ..] = fields.as_slice() {
            let known = projects.entry(key).or_default();
            if !known.contains(project) {
                known.push(project);
            }
        }
    }
    for fields in &rows {
        let [name, project, key, ports, labels] = fields.as_slice() else { continue };
        let labels = pairs(labels);
        let swarm = labels.iter().find(|(label, _)| label == SWARM_SERVICE).map(|(_, value)| value.as_str());
        let mut service = if let Some(swarm) = swarm {
            Service::new(naming::name(swarm), source, true)
        } else if key.is_empty() {
            let mut service = Service::new(naming::name(name), source, true);
            if service.name != *name {
                service.notes.push(format!("the container {name}"));
            }
            service
        } else {
            let is_generated =
                [format!("{project}-{key}-"), format!("{project}_{key}_")].iter().any(|front| {
                    name.strip_prefix(front).is_some_and(|number| number.bytes().all(|c| c.is_ascii_digit()))
                });
            let stated = (!is_generated).then_some(*name);
            let is_common = projects.get(key).is_some_and(|projects| projects.len() > 1);
            let names = naming::of_compose(project, key, stated, is_common);
            let mut service = Service::new(names.service, source, true);
            names.containers.into_iter().for_each(|name| service.add(Key::Containers, name));
            service
        };
        service.add(Key::Host, host);
        if engine == "podman" {
            service.add(Key::Engine, engine);
        }
        if is_name(project) {
            service.add(Key::Projects, *project);
        }
        for port in published(ports) {
            service.add(Key::Tcp, port);
        }
        if let Some(page) = labels::page(&labels, &[]) {
            let why = format!("{}; status 200 is healthy", page.stated_by);
            service.guess(Key::Health, page.origin + &page.path, &why);
        }
        draft.add_service(service);
    }
}

/// The labels in a list separated by commas. A value may contain commas: what has no `=` continues it.
fn pairs(labels: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for part in labels.split(',') {
        match (part.split_once('='), pairs.last_mut()) {
            (Some((name, value)), _) => pairs.push((name.to_owned(), value.to_owned())),
            (None, Some((_, value))) => *value += &format!(",{part}"),
            (None, None) => {}
        }
    }
    pairs
}

/// The TCP ports in a list such as `0.0.0.0:8096->8096/tcp, :::8096->8096/tcp, 9000/tcp` that are open on all addresses, or with
/// the address.
fn published(ports: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for port in ports.split(", ").filter_map(|port| port.strip_suffix("/tcp")) {
        let Some((address, number)) = port.split_once("->").and_then(|(front, _)| front.rsplit_once(':'))
        else {
            continue;
        };
        let Some(number) = number.split('-').next().filter(|number| number.parse::<u16>().is_ok()) else {
            continue;
        };
        let written = match address {
            "0.0.0.0" | "::" | "[::]" | "" => number.to_owned(),
            local if local.starts_with("127.") || local.contains("::1") => continue,
            other => format!("{other}:{number}"),
        };
        if !found.contains(&written) {
            found.push(written);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ports_and_labels_as_the_engine_prints_them() {
        let ports = "0.0.0.0:8096->8096/tcp, :::8096->8096/tcp, 127.0.0.1:81->81/tcp, 53/udp, 192.168.1.2:53->53/tcp, 0.0.0.0:6881-6882->6881-6882/tcp";
        assert_eq!(published(ports), ["8096", "192.168.1.2:53", "6881"]);
        let labels = pairs("a=1,caddy=a.x.net,b.x.net,c=");
        assert_eq!(labels.len(), 3);
        assert_eq!(labels[1].1, "a.x.net,b.x.net");
        assert!(!command("docker").replace(" '", "").trim_end_matches('\'').contains('\''));
    }
}
