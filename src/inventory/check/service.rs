//! A service: the names of its parts, and its health checks.

use serde_saphyr::Spanned;

use super::health;
use super::values::check_name;
use crate::inventory::error::{Checked, Mistake, suggestion};
use crate::inventory::yaml::file::ServiceWire;
use crate::model::inventory::{Host, Service};

/// A name that commands use for a service, with its position in the file.
pub struct Part {
    list: &'static str,
    name: Spanned<String>,
}

/// Checks a service; returns it with its parts.
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
                let remedy = if remedy.is_empty() { "add it to `hosts`".to_owned() } else { remedy };
                Err(Mistake::at(
                    host.referenced,
                    format!("unknown host `{}` of service `{name}`", host.value),
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
    let commands = health::check_commands(wire.check)?;
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
        commands,
        engine,
    };
    Ok((service, parts))
}

/// Checks that no two services of one host list the same part: an action on it would count against the first one only.
/// A compose project may have several services.
pub fn one_owner_per_part(services: &[Service], parts: &[Vec<Part>]) -> Checked<()> {
    for (index, (service, own)) in services.iter().zip(parts).enumerate() {
        for part in own.iter().filter(|part| part.list != "projects") {
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
                        "`{}` is listed under `{}` of both `{}` and `{}`",
                        part.name.value, part.list, owner.name, service.name
                    ),
                    "list it under the service whose budget applies",
                ));
            }
        }
    }
    Ok(())
}
