//! The health checks of a service, from `hosts.yaml`.

use std::time::Duration;

use super::finding::{Finding, State, plain};
use super::programs::{Way, line};
use opsctl_policy::model::installation::checks::{
    CheckKind, CommandCheck, DnsName, Engine, Health, Place, TcpPort,
};
use opsctl_policy::model::installation::inventory::{Host, Inventory, Service};
use opsctl_reader::terms::guest::GuestProgram;
use opsctl_reader::terms::workload::Workload;

/// A health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// An HTTP health endpoint.
    Http(Health),
    /// A DNS name.
    Dns {
        /// The name and the expected address.
        name: DnsName,
        /// The name or address of the DNS server; `None` for the system's resolver.
        server: Option<String>,
    },
    /// A TCP port.
    Tcp {
        /// A name or an address.
        host: String,
        /// The port.
        port: u16,
    },
    /// The containers of a service.
    Container {
        /// The container engine.
        engine: Engine,
        /// The names of the containers or compose services.
        names: Vec<String>,
        /// The machine on which it is checked.
        way: Way,
    },
    /// A systemd unit.
    Unit {
        /// The name of the unit.
        name: String,
        /// The machine on which it is checked.
        way: Way,
    },
    /// A Kubernetes workload.
    Workload {
        /// The workload.
        workload: Workload,
        /// The machine on which it is checked.
        way: Way,
    },
    /// A virtual machine or a system container.
    Guest {
        /// The program that manages it.
        program: GuestProgram,
        /// Its number in Proxmox, otherwise its name.
        name: String,
        /// The machine on which it is checked.
        way: Way,
    },
    /// A command of the operator's own.
    Command {
        /// The command and its exit code.
        check: CommandCheck,
        /// The machine on which it is checked.
        way: Way,
    },
}

impl Check {
    /// The kind of check.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Dns { .. } => "dns",
            Self::Tcp { .. } => "tcp",
            Self::Container { .. } => "container",
            Self::Unit { .. } => "unit",
            Self::Workload { .. } => "workload",
            Self::Guest { .. } => "guest",
            Self::Command { .. } => "command",
        }
    }

    /// The target, without passwords and queries in URLs.
    pub fn target(&self) -> String {
        let on = |way: &Way| way.ssh.as_ref().map(|ssh| format!(" on {ssh}")).unwrap_or_default();
        match self {
            Self::Http(health) => super::http::shown(&health.url),
            Self::Dns { name, server } => {
                let at = server.as_ref().map(|server| format!(" at {server}")).unwrap_or_default();
                format!("{}{at}", name.name)
            }
            Self::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Self::Tcp { host, port } => format!("{host}:{port}"),
            Self::Container { names, way, .. } => format!("{}{}", names.join(", "), on(way)),
            Self::Unit { name, way } => format!("{name}{}", on(way)),
            Self::Workload { workload, way } => format!("{workload}{}", on(way)),
            Self::Guest { program, name, way } => format!("{}/{name}{}", program.as_str(), on(way)),
            Self::Command { check, way } => format!("{}{}", plain(&line(&check.command)), on(way)),
        }
    }

    /// The finding after a timeout.
    pub(super) fn late(&self) -> Finding {
        match self {
            // An engine or a manager of this machine that does not answer is ill itself.
            Self::Container { way, .. } | Self::Unit { way, .. } if way.ssh.is_none() => Finding::late(),
            Self::Container { .. } | Self::Unit { .. } | Self::Workload { .. } | Self::Guest { .. } => {
                let remedy = "give the checks more time with `policy.verify.deadline`";
                Finding {
                    remedy: Some(remedy.to_owned()),
                    ..Finding::new(State::Unknown, Finding::late().detail)
                }
            }
            Self::Http(_) | Self::Dns { .. } | Self::Tcp { .. } | Self::Command { .. } => Finding::late(),
        }
    }

    /// The timeout of one attempt.
    pub(super) fn timeout(&self) -> Duration {
        match self {
            Self::Http(health) => health.timeout.duration(),
            Self::Command { check, .. } => check.timeout.duration(),
            Self::Dns { .. } | Self::Tcp { .. } => Duration::from_secs(5),
            Self::Container { .. } | Self::Unit { .. } | Self::Workload { .. } | Self::Guest { .. } => {
                Duration::from_secs(15)
            }
        }
    }
}

/// The checks of a service on its host.
pub fn plan(service: &Service, inventory: &Inventory) -> Vec<Check> {
    let host = service.host.as_deref().and_then(|name| inventory.host(name));
    plan_on(host, service, inventory)
}

/// The checks of a service on a host; without one, on this machine.
pub fn plan_on(host: Option<&Host>, service: &Service, inventory: &Inventory) -> Vec<Check> {
    let way = || Way::to(host);
    let is_checked = |kind: CheckKind| !service.unchecked.contains(&kind);
    let mut checks = Vec::new();
    checks.extend(service.health.clone().map(Check::Http));
    checks.extend(service.dns.clone().map(|name| {
        // A listed host is queried at its address.
        let address = |server: &String| match inventory.host(server) {
            Some(host) => host.address.clone(),
            None => server.clone(),
        };
        let server = name.server.as_ref().map(address);
        Check::Dns { name, server }
    }));
    for TcpPort { host: named, port } in &service.tcp {
        if let Some(host) = named.clone().or_else(|| host.map(|host| host.address.clone())) {
            checks.push(Check::Tcp { host, port: *port });
        }
    }
    let containers: Vec<String> = service.own_containers().into_iter().map(str::to_owned).collect();
    if !containers.is_empty() && is_checked(CheckKind::Container) {
        checks.push(Check::Container { engine: service.engine, names: containers, way: way() });
    }
    for name in service.units.iter().filter(|_| is_checked(CheckKind::Unit)) {
        checks.push(Check::Unit { name: name.clone(), way: way() });
    }
    // A name alone may be that of several workloads, and leaves open which program manages a guest.
    let is_stated = |workload: &&Workload| !workload.is_bare() && is_checked(CheckKind::Workload);
    for workload in service.workloads.iter().filter(is_stated) {
        checks.push(Check::Workload { workload: workload.clone(), way: way() });
    }
    for guest in service.guests.iter().filter(|_| is_checked(CheckKind::Guest)) {
        if let Some(program) = guest.program {
            checks.push(Check::Guest { program, name: guest.name.clone(), way: way() });
        }
    }
    for check in &service.commands {
        let way = if check.place == Place::Local { Way::default() } else { way() };
        checks.push(Check::Command { check: check.clone(), way });
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_inventory::load;

    #[test]
    fn a_service_has_the_checks_that_its_keys_state() {
        #[derive(serde::Deserialize)]
        struct Case {
            inventory: String,
            checks: Vec<String>,
        }
        let cases: Vec<Case> = serde_saphyr::from_str(include_str!("plan.yaml")).unwrap();
        for Case { inventory: text, checks } in cases {
            let inventory = load::parse(&text).unwrap().inventory;
            let found = plan(&inventory.services[0], &inventory);
            let found: Vec<_> =
                found.iter().map(|check| format!("{} {}", check.kind(), check.target())).collect();
            assert_eq!(found, checks, "{text}");
        }
    }
}
