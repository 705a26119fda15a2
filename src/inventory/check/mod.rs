//! Checks of `hosts.yaml`: from its shape to an [`Installation`] with every default filled in.
//!
//! One file for each part of the file; a new top-level key is a line in [`check`] and a file here.

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
mod tier;
mod values;

use std::net::IpAddr;

use serde_saphyr::Spanned;

use super::Installation;
use super::error::{Checked, Mistake};
use super::yaml::file::{HostWire, HostsFileWire};
use super::yaml::forms::entries;
use crate::model::inventory::{Host, Inventory, Service};
use crate::model::rules::{PathRule, Where};
use values::{check_name, is_dns_name};

/// Checks the whole file, up to the first mistake.
pub fn check(file: HostsFileWire) -> Checked<Installation> {
    let domain = file
        .domain
        .map(|domain| {
            if is_dns_name(&domain.value) {
                Ok(domain.value)
            } else {
                Err(Mistake::of(&domain, "is not a DNS name", "write a domain such as `example.net`"))
            }
        })
        .transpose()?;
    let hosts =
        entries(file.hosts).map(|(name, host)| check_host(name, host)).collect::<Checked<Vec<_>>>()?;
    let mut data = vec![];
    let services = entries(file.services)
        .map(|(name, service)| {
            let mut service = service.unwrap_or_default();
            data.append(&mut service.data);
            service::check(name, service, domain.as_deref(), &hosts)
        })
        .collect::<Checked<Vec<_>>>()?;
    let (services, parts): (Vec<Service>, Vec<Vec<service::Part>>) = services.into_iter().unzip();
    service::one_owner_per_part(&services, &parts)?;
    let contacts = contacts::check(file.contacts)?;
    let (programs, catalogue) = programs::check(file.programs)?;
    let mut policy = policy::check(file.policy.unwrap_or_default(), contacts)?;
    policy.rules.catalogue = catalogue;
    policy.rules.data.extend(rules::check_data(data)?);
    let hooks = hooks::check(file.hooks)?;
    let repository_servers = repositories::check(file.repositories)?;
    let settings = settings::check(file.settings)?;
    let context = context::check(file.context.unwrap_or_default())?;
    let roles = context.role_globs().into_iter().map(|glob| PathRule { glob, scope: Where::Local });
    // In front of the operator's rules, whose exceptions then apply to role files, too.
    policy.rules.protect.splice(0..0, roles);
    Ok(Installation {
        inventory: Inventory { domain, hosts, services },
        policy,
        hooks,
        context,
        programs,
        repository_servers,
        settings,
    })
}

fn check_host(name: Spanned<String>, host: HostWire) -> Checked<Host> {
    let name = check_name(name)?;
    if host.address.value.parse::<IpAddr>().is_err() && !is_dns_name(&host.address.value) {
        return Err(Mistake::of(
            &host.address,
            "is neither an IP address nor a host name",
            "write an address such as `192.168.1.10`, `fd00::10` or `nas.lan`",
        ));
    }
    let ssh = host.ssh.map(check_ssh).transpose()?;
    Ok(Host { name, address: host.address.value, ssh })
}

/// An SSH destination. It becomes one argument of `ssh`, so it must not be an option or several words.
fn check_ssh(ssh: Spanned<String>) -> Checked<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@:/[]%".contains(c);
    if ssh.value.is_empty() || ssh.value.starts_with('-') || !ssh.value.chars().all(plain) {
        return Err(Mistake::of(&ssh, "is not an SSH destination", "write one such as `root@ie01`"));
    }
    Ok(ssh.value)
}
