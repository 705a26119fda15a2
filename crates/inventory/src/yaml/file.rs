//! The shape of the top level, of hosts and of services.

use crate::spanned::Spanned;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::checks::{CommandCheckWire, DnsWire, HealthWire};
use super::contacts::ContactWire;
use super::context::ContextWire;
use super::forms::{Entries, Maps, OneOrMore, TextOrMap};
use super::hooks::HookWire;
use super::policy::{HostBudgetWire, PolicyWire};
use super::repositories::RepositoryWire;
use super::values::{DataFolder, Domain, HostAddress, ProgramFolder, Text};
use opsctl_policy::model::installation::checks::{CheckKind, Engine};
use opsctl_policy::model::installation::inventory::{Shell, UnitManager};
use opsctl_reader::catalogue::program::Program;

/// Every key is optional; an empty file is valid.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostsFileWire {
    /// DNS domain of the services. By default, a service has the DNS name SERVICE.DOMAIN and the health endpoint `https://SERVICE.DOMAIN/health`.
    pub domain: Option<Text<Domain>>,
    /// Hosts, by name.
    pub hosts: Option<Entries<HostWire>>,
    /// Services, by the name under which budgets and events are recorded.
    pub services: Option<Entries<Option<ServiceWire>>>,
    /// Budgets, tiers and rules.
    pub policy: Option<PolicyWire>,
    /// Programs of your own and what they do, by name; see [programs.md](programs.md).
    pub programs: Option<Entries<Program>>,
    /// Recipients of messages, by name; see [modes.md](modes.md).
    pub contacts: Option<Entries<ContactWire>>,
    /// Additional hooks, by event of the client; see [hooks.md](hooks.md).
    pub hooks: Option<Entries<Vec<Spanned<HookWire>>>>,
    /// Files that sessions load when they start; see [context.md](context.md).
    pub context: Option<ContextWire>,
    /// Repositories whose MCP servers may run, by the name of their folder; see [entrypoint.md](entrypoint.md).
    pub repositories: Option<Entries<RepositoryWire>>,
    /// Settings of the client's project, by key, including those that `opsctl render` otherwise removes; see [policy.md](policy.md).
    pub settings: Option<Spanned<Map<String, Value>>>,
}

/// A host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostWire {
    /// IPv4 address, IPv6 address or DNS name.
    pub address: Text<HostAddress>,
    /// SSH destination, such as `root@ie01`, with a port `ops@nas:2222` or `ssh://ops@nas:2222`. Without it, the host is not accessible over SSH.
    pub ssh: Option<Spanned<String>>,
    /// Shell that the broker of ssh judges commands for, and runs them with; see [gates.md](gates.md). `sh` is for a host without bash. Default: `bash`.
    pub shell: Option<Shell>,
    /// Whether its container engine, hypervisor and kubectl need the rights of root: `opsctl verify` runs them with `sudo -n`. Default: `false`.
    #[serde(default)]
    pub sudo: bool,
    /// Folders that `opsctl verify` searches for programs before those of `PATH`, such as `[/usr/local/bin]`.
    #[serde(default)]
    pub path: Vec<Text<ProgramFolder>>,
    /// Command that starts kubectl there, such as `k3s kubectl`. Default: `kubectl`.
    pub kubectl: Option<Spanned<OneOrMore>>,
    /// Whose systemd is asked about units: that of the system (`system`), or that of the user of `ssh` (`user`), and for a unit that does not run there, that of the system. Default: `system`.
    pub units: Option<UnitManager>,
    /// Container engine of its services. Default: `docker`.
    pub engine: Option<Engine>,
    /// Its compose projects, each with the names of its services: each name is a service of this host, with its container as the only check, unless `services` lists it, too.
    pub projects: Option<Entries<Vec<Spanned<String>>>>,
    /// Budget of stops, starts and restarts of all services of the host together, in addition to that of each service. Default: none.
    pub restart: Option<HostBudgetWire>,
    /// Budget of redeployments of all services of the host together, in addition to that of each service. Default: none.
    pub redeployment: Option<HostBudgetWire>,
}

/// A service. Every key is optional.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceWire {
    /// Host that the service runs on, one of `hosts`.
    pub host: Option<Spanned<String>>,
    /// Names of its containers and compose services. Default: the name of the service.
    pub containers: Vec<Spanned<String>>,
    /// Names of its compose projects and swarm stacks. An action on a project counts for each service that lists it.
    pub projects: Vec<Spanned<String>>,
    /// Names of its systemd or init units: `smbd`, `wg-quick@wg0`, `backup.timer`.
    pub units: Vec<Spanned<String>>,
    /// Its Kubernetes workloads, as `[NAMESPACE/][KIND/]NAME`: `jellyfin`, `deployment/jellyfin`, `media/statefulset/db`. Kinds are `deployment`, `statefulset`, `daemonset`, `job` and `cronjob`. Without a namespace or a kind, any matches.
    pub workloads: Vec<Spanned<String>>,
    /// Its virtual machines and system containers, as `[PROGRAM/]NAME`: `qm/101`, `pct/103`, `virsh/web`, `incus/web`, `lxc/web`. Without a program, any matches.
    pub guests: Vec<Spanned<String>>,
    /// Names of its Helm releases. An action on a release counts for each service that lists it.
    pub releases: Vec<Spanned<String>>,
    /// File names of the Ansible playbooks that deploy it. A run of a playbook counts for each service that lists it.
    pub playbooks: Vec<Spanned<String>>,
    /// Folders with its data, which no command may remove; as in `policy.data`.
    pub data: Vec<Text<DataFolder>>,
    /// HTTP health check, or `none`. Default: `https://SERVICE.DOMAIN/health`, if `domain` is set.
    pub health: Option<Spanned<TextOrMap<HealthWire>>>,
    /// DNS name that must resolve, or `none`. Default: SERVICE.DOMAIN, if `domain` is set.
    pub dns: Option<Spanned<TextOrMap<DnsWire>>>,
    /// Ports that must accept connections: `8096` on the service's host, or `nas.lan:8096`.
    pub tcp: Vec<Spanned<String>>,
    /// Commands of your own that check the service; a single one may be written without the list.
    pub check: Option<Maps<CommandCheckWire>>,
    /// Container engine. Default: that of the host, else `docker`.
    pub engine: Option<Engine>,
    /// Services whose restart restarts this one, too, such as the VPN container whose network it uses. After an action on one of them, this one is verified as well.
    pub needs: Option<Spanned<OneOrMore>>,
    /// Checks that are switched off although its names imply them: `container`, `unit`, `workload`, `guest`.
    pub unchecked: Vec<CheckKind>,
}
