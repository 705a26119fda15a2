//! A host: how it is reached and asked, and what it states of its services.

use std::net::IpAddr;

use crate::spanned::Spanned;

use crate::check::values::check_name;
use crate::error::{Checked, Mistake, Mistakes, suggestion};
use crate::read::tree::Node;
use crate::yaml::file::HostWire;
use crate::yaml::forms::{Entries, OneOrMore, entries};
use crate::yaml::policy::HostBudgetWire;
use crate::yaml::values::texts;
use opsctl_policy::model::installation::checks::Engine;
use opsctl_policy::model::installation::inventory::{Asking, Host, Service, ssh_host};
use opsctl_policy::model::rights::policy::{Budget, HostBudget, Policy};

/// What a host states of its services.
pub struct OnHost {
    /// The engine of those that state none.
    pub engine: Option<Engine>,
    /// Its compose projects with the names of their services.
    projects: Vec<(String, Vec<Spanned<String>>)>,
    restart: Option<HostBudgetWire>,
    redeployment: Option<HostBudgetWire>,
}

impl OnHost {
    /// Whether one of its projects names this service.
    pub fn lists(&self, service: &str) -> bool {
        self.projects.iter().any(|(_, names)| names.iter().any(|name| name.value == service))
    }
}

/// Checks a host.
pub fn check(name: Spanned<String>, wire: HostWire, found: &mut Mistakes) -> (Host, OnHost) {
    let ssh = wire.ssh.and_then(|ssh| found.keep(check_ssh(&ssh)));
    let kubectl = wire.kubectl.and_then(|words| found.keep(check_kubectl(&words))).unwrap_or_default();
    let asking =
        Asking { sudo: wire.sudo, path: texts(wire.path), kubectl, units: wire.units.unwrap_or_default() };
    let known = name.value.clone();
    let name = found.keep(check_name(name)).unwrap_or(known);
    let projects = check_projects(wire.projects, found);
    let on_host =
        OnHost { engine: wire.engine, projects, restart: wire.restart, redeployment: wire.redeployment };
    let shell = wire.shell.unwrap_or_default();
    (Host { name, address: wire.address.0, ssh, shell, asking }, on_host)
}

/// The words of a command that starts kubectl.
fn check_kubectl(words: &Spanned<OneOrMore>) -> Checked<Vec<String>> {
    let words_of = |text: &String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let split: Vec<String> = words.value.0.iter().flat_map(words_of).collect();
    let is_plain = |word: &String| word.chars().all(|c| c.is_ascii_alphanumeric() || "._-=/:@,".contains(c));
    match split.first() {
        Some(first) if !first.starts_with('-') && split.iter().all(is_plain) => Ok(split),
        _ => Err(Mistake::at(
            words.referenced,
            "`kubectl` is not a command",
            "write one such as `k3s kubectl` or `/usr/local/bin/kubectl`",
        )),
    }
}

fn check_projects(
    wire: Option<Entries<Vec<Spanned<String>>>>,
    found: &mut Mistakes,
) -> Vec<(String, Vec<Spanned<String>>)> {
    let mut projects = Vec::new();
    for (project, names) in entries(wire) {
        let Some(project) = found.keep(check_name(project)) else { continue };
        let names = names.into_iter().filter(|name| found.keep(check_name(name.clone())).is_some());
        projects.push((project, names.collect()));
    }
    projects
}

/// Adds the services that the projects of hosts name. One that `services` lists gets the host and the project.
pub fn add_projects(hosts: &[Host], on_hosts: &[OnHost], services: &mut Vec<Service>, found: &mut Mistakes) {
    let listed = services.len();
    for (host, on_host) in hosts.iter().zip(on_hosts) {
        for (project, names) in &on_host.projects {
            for name in names {
                let known = services.iter_mut().enumerate().find(|(_, service)| service.name == name.value);
                match known {
                    None => services.push(Service {
                        name: name.value.clone(),
                        host: Some(host.name.clone()),
                        projects: vec![project.clone()],
                        engine: on_host.engine.unwrap_or_default(),
                        ..Service::default()
                    }),
                    Some((place, service)) if place < listed && service.host.as_ref() == Some(&host.name) => {
                        if !service.projects.contains(project) {
                            service.projects.push(project.clone());
                        }
                    }
                    Some((_, service)) => {
                        let other = service.host.as_deref().unwrap_or_default();
                        let what = format!("names the service `{}` of `{other}`, too", name.value);
                        let remedy = format!(
                            "list it as `{project}-{0}: {{host: {1}, containers: [{0}], projects: [{project}]}}` under `services`",
                            name.value, host.name
                        );
                        found.add(Mistake::at(
                            name.referenced,
                            format!("project `{project}` {what}"),
                            remedy,
                        ));
                    }
                }
            }
        }
    }
}

/// Checks that the services that others need are listed.
pub fn check_needs(needs: Vec<Spanned<OneOrMore>>, services: &[Service], root: &Node, found: &mut Mistakes) {
    // A mistake in a service is not a mistake of those that need it.
    let unread: Vec<&str> = root
        .value("services")
        .into_iter()
        .flat_map(Node::entries)
        .filter_map(|(name, _)| name.text())
        .collect();
    let names = || services.iter().map(|service| service.name.as_str());
    for Spanned { value: OneOrMore(needed), referenced } in needs {
        for name in needed {
            if names().any(|known| known == name) || unread.contains(&name.as_str()) {
                continue;
            }
            let remedy = suggestion(&name, names());
            let remedy = if remedy.is_empty() { "list it under `services`".to_owned() } else { remedy };
            found.add(Mistake::at(referenced, format!("unknown service `{name}` in `needs`"), remedy));
        }
    }
}

/// The budgets of hosts, each with the services that it counts.
pub fn budgets(
    hosts: &[Host],
    on_hosts: Vec<OnHost>,
    services: &[Service],
    policy: &Policy,
) -> Vec<HostBudget> {
    let budget = |wire: Option<HostBudgetWire>, of_service: &Budget| {
        let HostBudgetWire { limit, window } = wire?;
        Some(Budget { limit, window: window.unwrap_or(of_service.window), per: of_service.per })
    };
    let of_host = |(host, on_host): (&Host, OnHost)| {
        let own = services.iter().filter(|service| service.host.as_ref() == Some(&host.name));
        HostBudget {
            host: host.name.clone(),
            services: own.map(|service| service.name.clone()).collect(),
            restart: budget(on_host.restart, &policy.restart),
            redeployment: budget(on_host.redeployment, &policy.redeployment),
        }
    };
    let budgets = hosts.iter().zip(on_hosts).map(of_host);
    budgets.filter(|budget| budget.restart.is_some() || budget.redeployment.is_some()).collect()
}

/// An SSH destination, as one argument of `ssh`. A port needs the form of a URL: in `ops@nas:2222`, ssh would take
/// `nas:2222` for the host.
fn check_ssh(ssh: &Spanned<String>) -> Checked<String> {
    let wrong =
        || Mistake::of(ssh, "is not an SSH destination", "write one such as `root@ie01` or `ops@nas:2222`");
    let rest = ssh.value.strip_prefix("ssh://").unwrap_or(&ssh.value);
    let (user, rest) = rest.rsplit_once('@').map_or((None, rest), |(user, rest)| (Some(user), rest));
    let host = ssh_host(rest);
    let port = rest.strip_prefix(host).or_else(|| rest.strip_prefix(&format!("[{host}]")));
    let port = port.ok_or_else(wrong)?.strip_prefix(':');
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_user = |user: &str| !user.is_empty() && !user.starts_with('-') && user.chars().all(plain);
    let address = host.split_once('%').map_or(host, |(address, _)| address);
    let is_name = !host.is_empty() && !host.starts_with('-') && host.chars().all(plain);
    let is_host = is_name || address.parse::<IpAddr>().is_ok();
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if !is_host || !user.is_none_or(is_user) || !port.is_none_or(is_port) {
        return Err(wrong());
    }
    Ok(match port {
        Some(_) if !ssh.value.starts_with("ssh://") => format!("ssh://{}", ssh.value),
        _ => ssh.value.clone(),
    })
}
