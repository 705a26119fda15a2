//! The inventory as data for templates.

use serde::Serialize;

use crate::model::inventory::{Host, Inventory};

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
pub struct HostView<'a> {
    name: &'a str,
    address: &'a str,
    ssh: Option<&'a str>,
}

impl<'a> From<&'a Host> for HostView<'a> {
    fn from(host: &'a Host) -> Self {
        Self { name: &host.name, address: &host.address, ssh: host.ssh.as_deref() }
    }
}

#[derive(Serialize)]
struct HealthView<'a> {
    url: &'a str,
    status: &'a [u16],
}

/// The hosts.
pub fn hosts(inventory: &Inventory) -> Vec<HostView<'_>> {
    inventory.hosts.iter().map(HostView::from).collect()
}

/// The services with their hosts.
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
                host: host.map(HostView::from),
                containers: service.own_containers(),
                units: &service.units,
                health: service
                    .health
                    .as_ref()
                    .map(|health| HealthView { url: &health.url, status: &health.status }),
                dns: service.dns.as_ref().map(|dns| dns.name.as_str()),
            }
        })
        .collect()
}
