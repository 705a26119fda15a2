//! One service: the names of its parts, and how its health is asked for.

use serde_saphyr::Spanned;

use super::names::check_name;
use super::{Checked, health};
use crate::inventory::error::{Mistake, suggestion};
use crate::inventory::wire::ServiceWire;
use crate::model::inventory::{Host, Service};

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
    let dns = health::check_dns(wire.dns, &name, domain, hosts)?;
    let tcp =
        wire.tcp.iter().map(|port| health::check_port(port, host.is_some())).collect::<Checked<Vec<_>>>()?;
    let engine = wire.engine.map(Into::into).unwrap_or_default();
    let health = health::check(wire.health, &name, domain)?;
    let service = Service {
        name,
        host,
        containers,
        projects,
        units,
        workloads,
        releases,
        playbooks,
        health,
        dns,
        tcp,
        engine,
    };
    Ok((service, parts))
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
