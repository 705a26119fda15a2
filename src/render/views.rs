//! The inventory as data for templates.

use serde::Serialize;

use crate::model::inventory::{Host, Inventory, Service};
use crate::probe::health::{Check, plan};

#[derive(Serialize)]
pub struct ServiceView<'a> {
    name: &'a str,
    host: Option<HostView<'a>>,
    containers: Vec<&'a str>,
    /// Their names, quoted for the shells that read them.
    units: Vec<String>,
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

/// A service in a prompt.
#[derive(Serialize)]
pub struct PromptView<'a> {
    name: &'a str,
    host: Option<&'a str>,
    checks: Vec<String>,
    /// Its playbooks, helm releases, workloads, guests and compose projects.
    parts: Vec<String>,
}

/// The services with the checks that `opsctl verify` carries out.
pub fn checked_services<'a>(inventory: &'a Inventory) -> Vec<PromptView<'a>> {
    let view = |service: &'a Service| {
        let named =
            |kind: &'static str, names: &'a [String]| names.iter().map(move |name| format!("{kind} {name}"));
        let workloads = service.workloads.iter().map(|workload| format!("workload {workload}"));
        let guests = service.guests.iter().map(|guest| format!("guest {guest}"));
        PromptView {
            name: &service.name,
            host: service.host.as_deref(),
            checks: plan(service, inventory).iter().map(expected).collect(),
            parts: named("playbook", &service.playbooks)
                .chain(named("release", &service.releases))
                .chain(workloads)
                .chain(guests)
                .chain(named("compose project", &service.projects))
                .collect(),
        }
    };
    inventory.services.iter().map(view).collect()
}

/// A check, with the result that it expects where the inventory states one.
fn expected(check: &Check) -> String {
    match check {
        Check::Http(health) => {
            let codes: Vec<String> = health.status.iter().map(ToString::to_string).collect();
            format!("http {} answers {}", check.target(), codes.join(" or "))
        }
        Check::Dns { name, .. } => match name.address {
            Some(address) => format!("dns {} resolves to {address}", check.target()),
            None => format!("dns {}", check.target()),
        },
        Check::Tcp { .. } => format!("tcp {}", check.target()),
        Check::Container { name, .. } | Check::Unit { name, .. } => format!("{} {name}", check.kind()),
    }
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
            // Each shell removes half of the backslashes.
            let escaped = if host.is_some_and(|host| host.ssh.is_some()) { r"\\\\" } else { r"\\" };
            ServiceView {
                name: &service.name,
                host: host.map(HostView::from),
                containers: service.own_containers(),
                units: service.units.iter().map(|unit| unit.replace('\\', escaped)).collect(),
                health: service
                    .health
                    .as_ref()
                    .map(|health| HealthView { url: &health.url, status: &health.status }),
                dns: service.dns.as_ref().map(|dns| dns.name.as_str()),
            }
        })
        .collect()
}
