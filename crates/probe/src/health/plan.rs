//! The health checks of a service, from `hosts.yaml`.

use std::time::Duration;

use super::command::line;
use super::finding::{Finding, plain};
use opsctl_policy::model::installation::checks::{CommandCheck, DnsName, Engine, Health, Place, TcpPort};
use opsctl_policy::model::installation::inventory::{Inventory, Service};
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
    /// A container.
    Container {
        /// The container engine.
        engine: Engine,
        /// The name of the container or compose service.
        name: String,
        /// The ssh destination of its host; `None` for this machine.
        ssh: Option<String>,
    },
    /// A systemd unit.
    Unit {
        /// The name of the unit.
        name: String,
        /// The ssh destination of its host; `None` for this machine.
        ssh: Option<String>,
    },
    /// A Kubernetes workload.
    Workload {
        /// The workload.
        workload: Workload,
        /// The ssh destination that runs kubectl; `None` for this machine.
        ssh: Option<String>,
    },
    /// A virtual machine or a system container.
    Guest {
        /// The program that manages it.
        program: GuestProgram,
        /// Its number in Proxmox, otherwise its name.
        name: String,
        /// The ssh destination of its host; `None` for this machine.
        ssh: Option<String>,
    },
    /// A command of the operator's own.
    Command {
        /// The command and its exit code.
        check: CommandCheck,
        /// The ssh destination that runs it; `None` for this machine.
        ssh: Option<String>,
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
        let on = |ssh: &Option<String>| ssh.as_ref().map(|ssh| format!(" on {ssh}")).unwrap_or_default();
        match self {
            Self::Http(health) => super::http::shown(&health.url),
            Self::Dns { name, server } => {
                let at = server.as_ref().map(|server| format!(" at {server}")).unwrap_or_default();
                format!("{}{at}", name.name)
            }
            Self::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Self::Tcp { host, port } => format!("{host}:{port}"),
            Self::Container { name, ssh, .. } | Self::Unit { name, ssh } => format!("{name}{}", on(ssh)),
            Self::Workload { workload, ssh } => format!("{workload}{}", on(ssh)),
            Self::Guest { program, name, ssh } => format!("{}/{name}{}", program.as_str(), on(ssh)),
            Self::Command { check, ssh } => format!("{}{}", plain(&line(&check.command)), on(ssh)),
        }
    }

    /// The finding after a timeout.
    pub(super) fn late(&self) -> Finding {
        match self {
            Self::Workload { .. } | Self::Guest { .. } => Finding::late().unknown(),
            _ => Finding::late(),
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

/// The checks of a service.
pub fn plan(service: &Service, inventory: &Inventory) -> Vec<Check> {
    let host = service.host.as_deref().and_then(|name| inventory.host(name));
    let ssh = || host.and_then(|host| host.ssh.clone());
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
    for name in service.own_containers() {
        checks.push(Check::Container { engine: service.engine, name: name.to_owned(), ssh: ssh() });
    }
    for name in &service.units {
        checks.push(Check::Unit { name: name.clone(), ssh: ssh() });
    }
    // A name alone may be that of several workloads, and leaves open which program manages a guest.
    for workload in service.workloads.iter().filter(|workload| !workload.is_bare()) {
        checks.push(Check::Workload { workload: workload.clone(), ssh: ssh() });
    }
    for guest in &service.guests {
        if let Some(program) = guest.program {
            checks.push(Check::Guest { program, name: guest.name.clone(), ssh: ssh() });
        }
    }
    for check in &service.commands {
        let ssh = if check.place == Place::Local { None } else { ssh() };
        checks.push(Check::Command { check: check.clone(), ssh });
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
