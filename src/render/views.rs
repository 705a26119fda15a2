//! What the templates see of the inventory.

use serde::Serialize;

use crate::model::inventory::{Host, Inventory, Service};

#[derive(Serialize)]
pub struct ServiceView<'a> {
    name: &'a str,
    host: Option<HostView<'a>>,
    containers: Vec<&'a str>,
    units: &'a [String],
    health: Option<HealthView<'a>>,
    dns: Option<&'a str>,
}

#[derive(Serialize)]
struct HostView<'a> {
    name: &'a str,
    ssh: Option<&'a str>,
}

#[derive(Serialize)]
struct HealthView<'a> {
    url: &'a str,
    status: &'a [u16],
}

/// The services with their hosts looked up.
pub fn services(inventory: &Inventory) -> Vec<ServiceView<'_>> {
    inventory
        .services
        .iter()
        .map(|service| {
            let host = service
                .host
                .as_deref()
                .and_then(|name| inventory.hosts.iter().find(|host| host.name == name));
            ServiceView {
                name: &service.name,
                host: host.map(|Host { name, ssh, .. }| HostView { name, ssh: ssh.as_deref() }),
                containers: containers(service),
                units: &service.units,
                health: service
                    .health
                    .as_ref()
                    .map(|health| HealthView { url: &health.url, status: &health.status }),
                dns: service.dns.as_deref(),
            }
        })
        .collect()
}

/// A service that names only units or workloads runs in no container of its own name.
fn containers(service: &Service) -> Vec<&str> {
    let elsewhere = !service.units.is_empty() || !service.workloads.is_empty();
    if service.containers.is_empty() && elsewhere { vec![] } else { service.container_names() }
}
