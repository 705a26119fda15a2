//! From the file's words to an [`Installation`]: every value is checked, every default filled in.

use std::net::IpAddr;

use serde_saphyr::Spanned;

use super::Installation;
use super::error::{Mistake, suggestion};
use super::wire::{
    BudgetWire, Entries, HealthWire, HostWire, HostsFileWire, PolicyWire, ServiceWire, TierWire,
};
use crate::model::inventory::{Health, Host, Inventory, Service};
use crate::model::policy::{Budget, Policy, TierPolicy, Window};

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
        .map(|(name, service)| check_service(name, service.unwrap_or_default(), domain.as_deref(), &hosts))
        .collect::<Checked<Vec<_>>>()?;
    let (services, parts): (Vec<Service>, Vec<Vec<Part>>) = services.into_iter().unzip();
    one_owner_per_part(&services, &parts)?;
    let policy = check_policy(file.policy.unwrap_or_default())?;
    Ok(Installation { inventory: Inventory { domain, hosts, services }, policy })
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

/// Names stand in prompts, messages and command lines, so they are kept to letters that mean nothing there.
fn check_name(name: Spanned<String>) -> Checked<String> {
    if !is_name(&name.value) {
        return Err(wrong(
            &name,
            "is not a name",
            "begin with a letter or digit and go on with letters, digits, `.`, `_` and `-`",
        ));
    }
    Ok(name.value)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 128
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Letters, digits and hyphens in labels, and a last label that is not a number: `192.168.1.300` is a
/// mistyped address, not a name.
fn is_dns_name(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    text.len() <= 253
        && text.split('.').all(label)
        && text.rsplit('.').next().is_some_and(|last| !last.chars().all(|c| c.is_ascii_digit()))
}

/// A name under which commands speak of a service, with its place for the error message.
struct Part {
    list: &'static str,
    name: Spanned<String>,
}

fn check_service(
    name: Spanned<String>,
    wire: ServiceWire,
    domain: Option<&str>,
    hosts: &[Host],
) -> Checked<(Service, Vec<Part>)> {
    let name = check_name(name)?;
    let host = wire
        .host
        .map(|host| {
            if hosts.iter().any(|known| known.name == host.value) {
                Ok(host.value)
            } else {
                let remedy = suggestion(&host.value, hosts.iter().map(|known| known.name.as_str()));
                let remedy = if remedy.is_empty() { "list it under `hosts`".to_owned() } else { remedy };
                Err(Mistake::at(
                    host.referenced,
                    format!("service `{name}` is on host `{}`, which is not listed", host.value),
                    remedy,
                ))
            }
        })
        .transpose()?;
    let mut parts = Vec::new();
    let mut names = |list: &'static str, wire: Vec<Spanned<String>>| -> Checked<Vec<String>> {
        wire.into_iter()
            .map(|part| {
                let checked = check_name(part.clone())?;
                parts.push(Part { list, name: part });
                Ok(checked)
            })
            .collect()
    };
    let containers = names("containers", wire.containers)?;
    let projects = names("projects", wire.projects)?;
    let units = names("units", wire.units)?
        .into_iter()
        .map(|unit| unit.strip_suffix(".service").map(str::to_owned).unwrap_or(unit))
        .collect();
    let workloads = names("workloads", wire.workloads)?;
    let releases = names("releases", wire.releases)?;
    let playbooks = names("playbooks", wire.playbooks)?;
    let dns = wire
        .dns
        .map(|dns| {
            if is_dns_name(&dns.value) {
                Ok(dns.value)
            } else {
                Err(wrong(&dns, "is not a DNS name", "write a name such as `jellyfin.example.net`"))
            }
        })
        .transpose()?
        .or_else(|| domain.map(|domain| format!("{name}.{domain}")));
    let health = check_health(wire.health, &name, domain)?;
    let service =
        Service { name, host, containers, projects, units, workloads, releases, playbooks, health, dns };
    Ok((service, parts))
}

fn check_health(wire: Option<HealthWire>, service: &str, domain: Option<&str>) -> Checked<Option<Health>> {
    let derived = domain.map(|domain| format!("https://{service}.{domain}/health"));
    let Some(wire) = wire else {
        return Ok(derived.map(|url| Health { url, status: vec![200] }));
    };
    let url = match wire.url {
        Some(url) if is_http_url(&url.value) => Some(url.value),
        Some(url) => {
            return Err(wrong(&url, "is not an HTTP address", "write one such as `https://nas.lan/health`"));
        }
        None => derived,
    };
    let status = wire.status.unwrap_or_default();
    if let Some(code) = status.iter().find(|code| !(100..=599).contains(&code.value)) {
        return Err(Mistake::at(
            code.referenced,
            format!("`{}` is not an HTTP status code", code.value),
            "write codes from 100 to 599".to_owned(),
        ));
    }
    let status =
        if status.is_empty() { vec![200] } else { status.into_iter().map(|code| code.value).collect() };
    Ok(url.map(|url| Health { url, status }))
}

fn is_http_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with('/')
            // It is written into commands of a prompt, between quotes.
            && rest.chars().all(|c| c.is_ascii_graphic() && !"'\"`\\$<>".contains(c))
    })
}

/// A container that two services of one host list would be counted against whichever comes first.
fn one_owner_per_part(services: &[Service], parts: &[Vec<Part>]) -> Checked<()> {
    for (index, (service, own)) in services.iter().zip(parts).enumerate() {
        for part in own {
            let owner = services.iter().zip(parts).take(index).find(|(other, theirs)| {
                other.host == service.host
                    && theirs
                        .iter()
                        .any(|their| their.list == part.list && their.name.value == part.name.value)
            });
            if let Some((owner, _)) = owner {
                return Err(Mistake::at(
                    part.name.referenced,
                    format!(
                        "`{}` under `{}` of both `{}` and `{}`",
                        part.name.value, part.list, owner.name, service.name
                    ),
                    "list it under the one service whose budget it shares".to_owned(),
                ));
            }
        }
    }
    Ok(())
}

fn check_policy(wire: PolicyWire) -> Checked<Policy> {
    let defaults = Policy::default();
    let mut tiers = defaults.tiers;
    for (number, tier) in entries(wire.tiers) {
        let Some(slot) =
            number.value.parse().ok().and_then(|n: usize| n.checked_sub(1)).and_then(|n| tiers.get_mut(n))
        else {
            return Err(wrong(&number, "is not a tier", "the tiers are `1`, `2` and `3`"));
        };
        check_tier(slot, tier)?;
    }
    Ok(Policy {
        restart: check_budget(wire.restart, defaults.restart)?,
        redeployment: check_budget(wire.redeployment, defaults.redeployment)?,
        unresolved: wire.unresolved.map_or(defaults.unresolved, Into::into),
        on_failure: wire.on_failure.map_or(defaults.on_failure, Into::into),
        tiers,
    })
}

fn check_tier(slot: &mut TierPolicy, wire: TierWire) -> Checked<()> {
    if let Some(model) = wire.model {
        slot.model = check_name(model)?;
    }
    if let Some(allow) = wire.allow {
        slot.allow = allow.into_iter().map(Into::into).collect();
    }
    Ok(())
}

fn check_budget(wire: Option<BudgetWire>, default: Budget) -> Checked<Budget> {
    let Some(wire) = wire else { return Ok(default) };
    let window = match wire.window {
        None => default.window,
        Some(window) => Window::parse(&window.value).ok_or_else(|| {
            wrong(&window, "is not a duration", "write one such as `30m`, `4h`, `1h30m` or `2d`")
        })?,
    };
    Ok(Budget { limit: wire.limit.unwrap_or(default.limit), window })
}
