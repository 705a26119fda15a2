//! One service: the names of its parts, and how its health is asked for.

use serde_saphyr::Spanned;

use super::names::{check_name, is_dns_name};
use super::{Checked, wrong};
use crate::inventory::error::{Mistake, suggestion};
use crate::inventory::wire::{HealthWire, ServiceWire};
use crate::model::inventory::{Health, Host, Service};

/// A name under which commands speak of a service, with its place for the error message.
pub struct Part {
    list: &'static str,
    name: Spanned<String>,
}

/// Checks a service, and gives the names of its parts with their places.
pub fn check(
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
pub fn one_owner_per_part(services: &[Service], parts: &[Vec<Part>]) -> Checked<()> {
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
