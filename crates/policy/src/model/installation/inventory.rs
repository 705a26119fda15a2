//! Hosts and services, and the names that commands use for them.

use serde::{Deserialize, Serialize};

use super::checks::{CheckKind, CommandCheck, DnsName, Engine, Health, TcpPort};
use super::names;
use opsctl_reader::terms::action::Target;
use opsctl_reader::terms::guest::Guest;
use opsctl_reader::terms::workload::Workload;

/// The hosts and services of `hosts.yaml`, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Inventory {
    /// The DNS domain from which health URLs and DNS names are derived.
    pub domain: Option<String>,
    /// The hosts.
    pub hosts: Vec<Host>,
    /// The services.
    pub services: Vec<Service>,
}

/// A machine that runs services.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// An IPv4 or IPv6 address, or a DNS name.
    pub address: String,
    /// The ssh destination, e.g. `root@ie01`.
    pub ssh: Option<String>,
    /// The shell that runs commands of the broker of ssh.
    pub shell: Shell,
    /// How its programs are asked about services.
    pub asking: Asking,
}

/// A shell that runs commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shell {
    /// bash.
    #[default]
    Bash,
    /// `sh`, which may be any shell of POSIX.
    Sh,
}

/// How the programs of a host are asked about services.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Asking {
    /// Whether container engines, hypervisors and kubectl run as root, through `sudo -n`.
    pub sudo: bool,
    /// Folders that are searched for programs before those of `PATH`.
    pub path: Vec<String>,
    /// The words that start kubectl, if these are others than `kubectl`.
    pub kubectl: Vec<String>,
    /// The manager of the units.
    pub units: UnitManager,
}

/// The systemd that manages units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitManager {
    /// That of the system.
    #[default]
    System,
    /// That of the user of the ssh destination; for a unit that does not run there, that of the system.
    User,
}

/// A service and the names of its parts, which share one budget.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Service {
    /// Its name in budgets and events.
    pub name: String,
    /// The name of the host that it runs on.
    pub host: Option<String>,
    /// Container names and compose service names.
    pub containers: Vec<String>,
    /// Compose project names.
    pub projects: Vec<String>,
    /// systemd and init units, without `.service`.
    pub units: Vec<String>,
    /// Kubernetes workloads.
    pub workloads: Vec<Workload>,
    /// Virtual machines and system containers.
    pub guests: Vec<Guest>,
    /// helm releases.
    pub releases: Vec<String>,
    /// Ansible playbooks, by file name.
    pub playbooks: Vec<String>,
    /// Its HTTP health endpoint.
    pub health: Option<Health>,
    /// The DNS name that must resolve.
    pub dns: Option<DnsName>,
    /// Ports that must accept connections.
    pub tcp: Vec<TcpPort>,
    /// Commands of the operator's own that check it.
    pub commands: Vec<CommandCheck>,
    /// The container engine.
    pub engine: Engine,
    /// The services whose restart restarts it, too.
    pub needs: Vec<String>,
    /// The kinds of check that are switched off.
    pub unchecked: Vec<CheckKind>,
}

impl Service {
    /// The names of its containers; its own name if it lists none.
    pub fn container_names(&self) -> Vec<&str> {
        if self.containers.is_empty() {
            vec![&self.name]
        } else {
            self.containers.iter().map(String::as_str).collect()
        }
    }

    /// The containers that should be running: none if it lists units, workloads or guests, but no
    /// containers.
    pub fn own_containers(&self) -> Vec<&str> {
        let elsewhere = !self.units.is_empty() || !self.workloads.is_empty() || !self.guests.is_empty();
        if self.containers.is_empty() && elsewhere { vec![] } else { self.container_names() }
    }

    /// Its name, and those of its containers, units, workloads and guests.
    pub fn part_names(&self) -> Vec<String> {
        let own = std::iter::once(&self.name).chain(&self.containers).chain(&self.units);
        let workloads = self.workloads.iter().map(|workload| &workload.name);
        own.chain(workloads).chain(self.guests.iter().map(|guest| &guest.name)).cloned().collect()
    }

    /// Whether this is the name of one of its parts that no other service on its host has, of any kind.
    pub(crate) fn has_own_part(&self, written: &str) -> bool {
        let unit = written.strip_suffix(".service").unwrap_or(written);
        self.units.iter().any(|name| name == unit)
            || self.containers.iter().any(|name| name == written)
            || self.workloads.iter().any(|workload| workload.name == written)
            || self.guests.iter().any(|guest| guest.name == written)
    }

    /// Whether this is the name of one of its parts that other services may have, too, of any kind.
    pub(crate) fn has_shared_part(&self, written: &str) -> bool {
        self.is_in_project(written)
            || [&self.releases, &self.playbooks].into_iter().flatten().any(|name| name == written)
    }

    /// Whether it lists this compose project.
    pub(crate) fn lists_project(&self, project: &str) -> bool {
        self.projects.iter().any(|name| names::is_same_project(name, project))
    }

    /// Whether it and another service are in compose projects, and not in the same one: then a name of a compose service
    /// may be that of both.
    pub fn is_in_another_project_than(&self, other: &Self) -> bool {
        !self.projects.is_empty()
            && !other.projects.is_empty()
            && !self.projects.iter().any(|project| other.lists_project(project))
    }

    /// Whether it lists this compose project, or a container that a stack of this name has named.
    fn is_in_project(&self, project: &str) -> bool {
        let of_stack = |name: &String| name.strip_prefix(project).is_some_and(|rest| rest.starts_with('_'));
        self.lists_project(project) || self.containers.iter().any(of_stack)
    }

    /// Whether its part with this name is certainly another one than the target: a workload in another namespace, a guest
    /// of another program, a guest whose number is the beginning of a container ID.
    pub(crate) fn has_other(&self, name: &str, target: &Target) -> bool {
        match target {
            Target::Workload(workload) => {
                let wanted = Workload { name: name.to_owned(), ..workload.clone() };
                let mut own = self.workloads.iter().filter(|own| own.name == name).peekable();
                own.peek().is_some() && own.all(|own| !own.may_be(&wanted))
            }
            Target::Guest(guest) => {
                let mut own = self.guests.iter().filter(|own| own.name == name).peekable();
                own.peek().is_some() && own.all(|own| !own.may_be(guest))
            }
            Target::Container(_) => {
                names::may_be_id(name) && self.guests.iter().any(|guest| guest.name == name)
            }
            _ => false,
        }
    }

    /// Whether it lists the target under its kind of name.
    pub fn lists(&self, target: &Target) -> bool {
        let (listed, name) = match target {
            Target::Container(name) | Target::ComposeService(name) => (&self.containers, name),
            Target::ComposeProject(name) => return self.is_in_project(name),
            Target::Unit(name) => (&self.units, name),
            Target::Workload(workload) => return self.workloads.iter().any(|own| own.may_be(workload)),
            Target::Guest(guest) => return self.guests.iter().any(|own| own.may_be(guest)),
            Target::Release(name) => (&self.releases, name),
            Target::Playbook(playbook) => match &playbook.file {
                Some(file) => (&self.playbooks, file),
                None => return false,
            },
            Target::Service(_) | Target::Recipients(_) | Target::Unknown | Target::Nothing => return false,
        };
        listed.iter().any(|known| known == name)
    }
}

impl Inventory {
    /// The host with this name.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name == name)
    }

    /// The services that need one of these, directly or through others, without these themselves; in the order of the inventory.
    pub fn dependents(&self, of: &[&str]) -> Vec<&Service> {
        let mut reached: Vec<&str> = of.to_vec();
        loop {
            let needs = |service: &&Service| {
                !reached.contains(&service.name.as_str())
                    && service.needs.iter().any(|needed| reached.contains(&needed.as_str()))
            };
            let Some(next) = self.services.iter().find(needs) else { break };
            reached.push(&next.name);
        }
        let is_new = |service: &&Service| {
            reached.contains(&service.name.as_str()) && !of.contains(&service.name.as_str())
        };
        self.services.iter().filter(is_new).collect()
    }

    /// The name of the service with this name, else of the service with a part of this name, else the name itself.
    pub fn service_named(&self, written: &str) -> String {
        let own = || self.services.iter().find(|service| service.name == written);
        let has_part = |service: &&Service| service.has_own_part(written) || service.has_shared_part(written);
        let part = || self.services.iter().find(has_part);
        own().or_else(part).map_or_else(|| written.to_owned(), |service| service.name.clone())
    }

    /// The services that a name may mean: the one with this name or an own part of it, otherwise all that share the part.
    pub fn services_named(&self, written: &str) -> Vec<&Service> {
        let own = |service: &&Service| service.name == written;
        let has_own_part = |service: &&Service| service.has_own_part(written);
        match self.services.iter().find(own).or_else(|| self.services.iter().find(has_own_part)) {
            Some(only) => vec![only],
            None => self.services.iter().filter(|service| service.has_shared_part(written)).collect(),
        }
    }

    /// The host with this name, with or without the inventory's domain, else with this address or ssh destination.
    pub fn find_host(&self, written: &str) -> Option<&Host> {
        let domain = self.domain.as_deref().unwrap_or_default();
        let bare = written.strip_suffix(domain).and_then(|name| name.strip_suffix('.')).unwrap_or(written);
        self.host(written)
            .or_else(|| {
                self.hosts.iter().find(|host| {
                    host.address == written || host.ssh.as_deref().map(ssh_host) == Some(written)
                })
            })
            .or_else(|| self.host(bare))
    }

    /// The name of the host that [`Self::find_host`] finds; the text itself if it finds none.
    pub fn host_of<'a>(&'a self, written: &'a str) -> &'a str {
        self.find_host(written).map_or(written, |host| host.name.as_str())
    }
}

/// Whether a host is this machine by its address.
pub fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "::1") || host.starts_with("127.")
}

/// The host in an ssh destination such as `root@ie01` or `ssh://root@[fd00::10]:22`.
pub fn ssh_host(destination: &str) -> &str {
    let rest = destination.strip_prefix("ssh://").unwrap_or(destination);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let host = match rest.rsplit_once(':') {
        Some((host, port))
            if port.chars().all(|c| c.is_ascii_digit()) && (!host.contains(':') || host.ends_with(']')) =>
        {
            host
        }
        _ => rest,
    };
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}
