//! From the file's words to an [`Installation`]: every value is checked, every default filled in.

mod contacts;
mod context;
mod health;
mod hooks;
mod names;
mod policy;
mod rules;
mod service;
mod tier;

use std::net::IpAddr;

use serde_saphyr::Spanned;

use super::Installation;
use super::error::Mistake;
use super::wire::{Entries, HostWire, HostsFileWire};
use crate::model::inventory::{Host, Inventory, Service};
use crate::model::rules::{PathRule, Where};
use names::{check_name, is_dns_name};

type Checked<T> = Result<T, Mistake>;

/// Checks the whole file; the first mistake ends it.
pub fn check(file: HostsFileWire) -> Checked<Installation> {
    let domain = file
        .domain
        .map(|domain| {
            if is_dns_name(&domain.value) {
                Ok(domain.value)
            } else {
                Err(wrong(&domain, "is not a DNS name", "write a domain such as `example.net`"))
            }
        })
        .transpose()?;
    let hosts =
        entries(file.hosts).map(|(name, host)| check_host(name, host)).collect::<Checked<Vec<_>>>()?;
    let services = entries(file.services)
        .map(|(name, service)| service::check(name, service.unwrap_or_default(), domain.as_deref(), &hosts))
        .collect::<Checked<Vec<_>>>()?;
    let (services, parts): (Vec<Service>, Vec<Vec<service::Part>>) = services.into_iter().unzip();
    service::one_owner_per_part(&services, &parts)?;
    let contacts = contacts::check(file.contacts)?;
    let mut policy = policy::check(file.policy.unwrap_or_default(), contacts)?;
    let hooks = hooks::check(file.hooks)?;
    let context = context::check(file.context.unwrap_or_default())?;
    let roles = context.role_globs().into_iter().map(|glob| PathRule { glob, place: Where::Local });
    // Before the operator's own rules, which may except them.
    policy.rules.protect.splice(0..0, roles);
    Ok(Installation { inventory: Inventory { domain, hosts, services }, policy, hooks, context })
}

fn entries<T>(entries: Option<Entries<T>>) -> impl Iterator<Item = (Spanned<String>, T)> {
    entries.into_iter().flat_map(|entries| entries.0)
}

fn wrong(value: &Spanned<String>, what: &str, remedy: &str) -> Mistake {
    Mistake::at(value.referenced, format!("`{}` {what}", value.value), remedy.to_owned())
}

fn check_host(name: Spanned<String>, host: HostWire) -> Checked<Host> {
    let name = check_name(name)?;
    if host.address.value.parse::<IpAddr>().is_err() && !is_dns_name(&host.address.value) {
        return Err(wrong(
            &host.address,
            "is neither an IP address nor a host name",
            "write an address such as `192.168.1.10`, `fd00::10` or `nas.lan`",
        ));
    }
    let ssh = host.ssh.map(check_ssh).transpose()?;
    Ok(Host { name, address: host.address.value, ssh })
}

/// A destination is handed to `ssh` as one argument, so it must not read as an option or as two words.
fn check_ssh(ssh: Spanned<String>) -> Checked<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@:/[]%".contains(c);
    if ssh.value.is_empty() || ssh.value.starts_with('-') || !ssh.value.chars().all(plain) {
        return Err(wrong(&ssh, "is not an ssh destination", "write one such as `root@ie01`"));
    }
    Ok(ssh.value)
}
