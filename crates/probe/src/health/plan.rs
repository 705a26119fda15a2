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

    fn checks(yaml: &str) -> Vec<String> {
        let inventory = load::parse(yaml).unwrap().inventory;
        let checks = plan(&inventory.services[0], &inventory);
        checks.iter().map(|check| format!("{} {}", check.kind(), check.target())).collect()
    }

    #[test]
    fn a_minimal_service_has_three_checks() {
        let yaml =
            "{domain: lan, hosts: {ie01: {address: 10.0.0.1, ssh: root@ie01}}, services: {x: {host: ie01}}}";
        assert_eq!(checks(yaml), ["http https://x.lan/health", "dns x.lan", "container x on root@ie01"]);
    }

    #[test]
    fn none_switches_a_check_off_and_no_value_keeps_its_default() {
        let of = |keys: &str| checks(&format!("{{domain: lan, services: {{x: {{units: [x], {keys}}}}}}}"));
        assert_eq!(of("health: none, dns: none"), ["unit x"]);
        assert_eq!(of("dns: none"), ["http https://x.lan/health", "unit x"]);
        for keys in ["health: , dns: ", "health: ~, dns: null"] {
            assert_eq!(of(keys), ["http https://x.lan/health", "dns x.lan", "unit x"], "{keys}");
        }
    }

    #[test]
    fn commands_run_on_the_host_of_their_service_unless_they_are_local() {
        let of = |ssh: &str, check: &str| {
            let host = format!("hosts: {{ie01: {{address: 10.0.0.1{ssh}}}}}");
            checks(&format!("{{{host}, services: {{x: {{host: ie01, units: [x], check: {check}}}}}}}"))
        };
        let ssh = ", ssh: root@ie01";

        assert_eq!(
            of(ssh, "{command: [nc, -z, nas, 445]}"),
            ["unit x on root@ie01", "command nc -z nas 445 on root@ie01"]
        );
        assert_eq!(of("", "{command: [nc, -z, nas, 445]}"), ["unit x", "command nc -z nas 445"]);
        assert_eq!(
            of(ssh, "[{command: [sh, -c, 'echo \"it''s\"'], where: local}, {command: [b], where: host}]"),
            ["unit x on root@ie01", r#"command sh -c 'echo "it'\''s"'"#, "command b on root@ie01"]
        );
    }

    #[test]
    fn workloads_and_guests_are_checked_if_more_than_their_name_is_stated() {
        let yaml = "{hosts: {pve: {address: 10.0.0.1, ssh: root@pve}}, services: {x: {host: pve,
            workloads: [plain, deploy/web, media/db], guests: [plain, qm/101]}}}";
        assert_eq!(
            checks(yaml),
            [
                "workload deployment/web on root@pve",
                "workload media/db on root@pve",
                "guest qm/101 on root@pve"
            ]
        );
    }

    #[test]
    fn configured_checks_run_on_their_host() {
        let yaml = "{hosts: {ie01: {address: 10.0.0.1}, dns: {address: 10.0.0.53}}, services: {x: {host: ie01, units: [a, b],
            tcp: ['80', 'other.lan:81', '[fd00::1]:82'], dns: {name: x.lan, server: dns}}}}";
        assert_eq!(
            checks(yaml),
            [
                "dns x.lan at 10.0.0.53",
                "tcp 10.0.0.1:80",
                "tcp other.lan:81",
                "tcp [fd00::1]:82",
                "unit a",
                "unit b"
            ]
        );
    }
}
