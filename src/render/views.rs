//! The inventory as data for templates.

use serde::Serialize;

use crate::model::inventory::{Host, Inventory, Service};
use crate::probe::health::{Check, line, plan, quoted};

#[derive(Serialize)]
pub struct ServiceView<'a> {
    name: &'a str,
    host: Option<HostView<'a>>,
    looks: Vec<LookView>,
    health: Option<HealthView<'a>>,
    dns: Option<&'a str>,
}

/// A command that shows the state of a part of a service.
#[derive(Serialize)]
struct LookView {
    /// The kind of the part.
    what: &'static str,
    command: String,
    /// What it prints or returns if the part is healthy, as the rest of the sentence.
    passes: String,
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
    /// Its playbooks, helm releases, workloads and compose projects.
    parts: Vec<String>,
}

/// The services with the checks that `opsctl verify` carries out.
pub fn checked_services<'a>(inventory: &'a Inventory) -> Vec<PromptView<'a>> {
    let view = |service: &'a Service| {
        let named =
            |kind: &'static str, names: &'a [String]| names.iter().map(move |name| format!("{kind} {name}"));
        PromptView {
            name: &service.name,
            host: service.host.as_deref(),
            checks: plan(service, inventory).iter().map(expected).collect(),
            parts: named("playbook", &service.playbooks)
                .chain(named("release", &service.releases))
                .chain(named("workload", &service.workloads))
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
        Check::Command { check: own, .. } => format!("command {} exits with {}", check.target(), own.expect),
    }
}

/// The command that shows what a check looks at; `None` for checks of the network.
fn look(check: &Check) -> Option<LookView> {
    let (command, ssh, passes) = match check {
        Check::Http(_) | Check::Dns { .. } | Check::Tcp { .. } => return None,
        Check::Container { engine, name, ssh } => (
            format!("{} ps --filter name=^{name}$ --format '{{{{.Status}}}}'", engine.program()),
            ssh,
            "prints a line that begins with `Up` and does not say `unhealthy`".to_owned(),
        ),
        Check::Unit { name, ssh } => {
            (format!("systemctl is-active {name}"), ssh, "prints `active`".to_owned())
        }
        Check::Command { check: own, ssh } => {
            let line = line(&own.command);
            let line = if ssh.is_some() { quoted(&line) } else { line };
            (line, ssh, format!("exits with {}", own.expect))
        }
    };
    let command = match ssh {
        Some(ssh) => format!("ssh {ssh} {command}"),
        None => command,
    };
    Some(LookView { what: check.kind(), command, passes })
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
                looks: plan(service, inventory).iter().filter_map(look).collect(),
                health: service
                    .health
                    .as_ref()
                    .map(|health| HealthView { url: &health.url, status: &health.status }),
                dns: service.dns.as_ref().map(|dns| dns.name.as_str()),
            }
        })
        .collect()
}
