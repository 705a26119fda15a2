//! Checks of `hosts.yaml`: from its shape to an [`Installation`] with every default filled in.
//!
//! One file for each part of the file; a new top-level key is a line in [`check`] and a file here.

mod ask;
mod contacts;
mod context;
mod health;
mod hooks;
mod policy;
mod programs;
mod repositories;
mod rules;
mod service;
mod settings;
mod spend;
mod tier;
pub mod values;

use std::net::IpAddr;

use crate::spanned::Spanned;

use super::Installation;
use super::error::{Checked, Mistake, Mistakes};
use super::read::tree::Node;
use super::yaml::file::{HostWire, HostsFileWire};
use super::yaml::forms::entries;
use super::yaml::values::texts;
use opsctl_policy::model::installation::inventory::{Host, Inventory, ssh_host};
use opsctl_policy::model::rights::rules::{PathRule, Where};
use opsctl_policy::targets::nearest::nearest;
use values::check_name;

/// Checks the whole file. `root` is its tree, from which parts with a mistake are left out.
pub fn check(file: HostsFileWire, root: &Node, found: &mut Mistakes) -> Installation {
    // An invalid one still gives the services their names, so that they have no mistakes of their own.
    let unread = root.value("domain").filter(|domain| domain.is_left_out());
    let unread = unread.map(|domain| domain.text().unwrap_or_default().to_owned());
    let domain = file.domain.map(|domain| domain.0).or(unread);
    let hosts: Vec<Host> = entries(file.hosts).map(|(name, host)| check_host(name, host, found)).collect();
    let (mut services, mut parts, mut data) = (vec![], vec![], vec![]);
    let known = known_hosts(&hosts, root);
    for (name, service) in entries(file.services) {
        let mut service = service.unwrap_or_default();
        data.append(&mut service.data);
        let (service, own) = service::check(name, service, domain.as_deref(), &known, found);
        services.push(service);
        parts.push(own);
    }
    found.keep(service::one_owner_per_part(&services, &parts));
    let contacts = contacts::check(file.contacts, found);
    let catalogue = programs::check(file.programs, found);
    let mut policy = policy::check(file.policy.unwrap_or_default(), contacts, &known, found);
    policy.rules.catalogue = catalogue;
    policy.rules.data.extend(texts(data));
    let hooks = hooks::check(file.hooks, found);
    let repository_servers = repositories::check(file.repositories, found);
    let settings = found.keep(settings::check(file.settings)).unwrap_or_default();
    let context = context::check(file.context.unwrap_or_default(), found);
    let roles = context.role_globs().into_iter().map(|glob| PathRule { glob, scope: Where::Local });
    // In front of the operator's rules, whose exceptions then apply to role files, too.
    policy.rules.protect.splice(0..0, roles);
    Installation {
        inventory: Inventory { domain, hosts, services },
        policy,
        hooks,
        context,
        repository_servers,
        settings,
    }
}

/// The hosts that a service may name: a mistake in a host is not a mistake of the services on it.
fn known_hosts(hosts: &[Host], root: &Node) -> Vec<Host> {
    let named = |key: &Node| Host { name: key.text().unwrap_or_default().to_owned(), ..Host::default() };
    let left_out = root.value("hosts").into_iter().flat_map(Node::entries);
    let left_out = left_out.filter(|(_, host)| host.is_left_out()).map(|(name, _)| named(name));
    let is_unread = root.value("hosts").is_none_or(Node::is_left_out)
        && root.entries().iter().any(|(key, value)| {
            value.is_left_out() && key.text().is_some_and(|key| nearest(key, ["hosts"]).is_some())
        });
    let unread = is_unread.then_some(()).into_iter().flat_map(|()| {
        let services = root.value("services").into_iter().flat_map(Node::entries);
        services.filter_map(|(_, service)| service.value("host")).map(named)
    });
    hosts.iter().cloned().chain(left_out).chain(unread).collect()
}

fn check_host(name: Spanned<String>, host: HostWire, found: &mut Mistakes) -> Host {
    let ssh = host.ssh.and_then(|ssh| found.keep(check_ssh(&ssh)));
    let known = name.value.clone();
    Host { name: found.keep(check_name(name)).unwrap_or(known), address: host.address.0, ssh }
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
