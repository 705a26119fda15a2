//! A service: the names of its parts, and its health checks.

use crate::spanned::Spanned;

use super::health;
use crate::check::values::{check_name, is_name};
use crate::error::{Checked, Mistake, Mistakes, suggestion};
use crate::yaml::file::ServiceWire;
use opsctl_policy::model::installation::checks::Engine;
use opsctl_policy::model::installation::inventory::{Host, Service};
use opsctl_reader::terms::action::Target;
use opsctl_reader::terms::guest::{Guest, GuestProgram};
use opsctl_reader::terms::workload::{Workload, WorkloadKind};

/// A name that commands use for a service, which no other service on its host may list.
pub struct OwnedName {
    list: &'static str,
    written: Spanned<String>,
    target: Target,
}

/// Checks a service; returns it with its parts. `engine` is that of its host.
pub fn check(
    name: Spanned<String>,
    wire: ServiceWire,
    domain: Option<&str>,
    engine: Option<Engine>,
    hosts: &[Host],
    found: &mut Mistakes,
) -> (Service, Vec<OwnedName>) {
    let known = name.value.clone();
    let name = found.keep(check_name(name)).unwrap_or(known);
    let has_host = wire.host.is_some();
    let host = wire.host.and_then(|host| found.keep(check_host(&host, &name, hosts)));
    let mut parts = Vec::new();
    let check_container = |name: &Spanned<String>| check_name(name.clone());
    let containers =
        found.keep_all(named("containers", wire.containers, check_container, Target::Container, &mut parts));
    let units = found.keep_all(named("units", wire.units, check_unit, Target::Unit, &mut parts));
    let workloads =
        found.keep_all(named("workloads", wire.workloads, check_workload, Target::Workload, &mut parts));
    let guests = found.keep_all(named("guests", wire.guests, check_guest, Target::Guest, &mut parts));
    let mut shared = |wire: Vec<_>| found.keep_all(wire.into_iter().map(check_name));
    let projects = shared(wire.projects);
    let releases = shared(wire.releases);
    let playbooks = found.keep_all(wire.playbooks.into_iter().map(check_playbook));
    let dns = health::check_dns(wire.dns, &name, domain, hosts, found);
    let tcp = found.keep_all(wire.tcp.iter().map(|port| health::check_port(port, has_host)));
    let commands = health::check_commands(wire.check, found);
    let engine = wire.engine.or(engine).unwrap_or_default();
    let needs = wire.needs.into_iter().flat_map(|needs| needs.value.0).collect();
    let health = health::check(wire.health, &name, domain, found);
    let service = Service {
        name,
        host,
        containers,
        projects,
        units,
        workloads,
        guests,
        releases,
        playbooks,
        health,
        dns,
        tcp,
        commands,
        engine,
        needs,
        unchecked: wire.unchecked,
    };
    (service, parts)
}

/// Checks the names of a list, which become parts of the service.
fn named<T: Clone>(
    list: &'static str,
    wire: Vec<Spanned<String>>,
    check: fn(&Spanned<String>) -> Checked<T>,
    target: fn(T) -> Target,
    parts: &mut Vec<OwnedName>,
) -> impl Iterator<Item = Checked<T>> {
    wire.into_iter().map(move |written| {
        let value = check(&written)?;
        parts.push(OwnedName { list, written, target: target(value.clone()) });
        Ok(value)
    })
}

/// The name of a unit without `.service`.
fn check_unit(unit: &Spanned<String>) -> Checked<String> {
    let name = unit.value.strip_suffix(".service").unwrap_or(&unit.value);
    let remedy = "name the instance, such as `wg-quick@wg0`";
    Mistake::unless(!name.ends_with('@'), unit, "is a template, not a unit", remedy)?;
    let remedy = "write one such as `smbd`, `wg-quick@wg0` or `backup.timer`";
    Mistake::unless(is_unit(&unit.value), unit, "is not the name of a unit", remedy)?;
    Ok(name.to_owned())
}

/// Whether systemd accepts the name of a unit, and no program takes it for an option.
fn is_unit(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || r":-_.\@".contains(c);
    (1..=255).contains(&name.len()) && !name.starts_with(['-', '.', '@']) && name.chars().all(is_plain)
}

/// The file name of a playbook, without its folder.
fn check_playbook(playbook: Spanned<String>) -> Checked<String> {
    match playbook.value.rsplit_once('/') {
        Some((_, file)) if is_name(file) => {
            Err(Mistake::of(&playbook, "is a path", format!("write only the file name, `{file}`")))
        }
        _ => check_name(playbook),
    }
}

fn check_workload(written: &Spanned<String>) -> Checked<Workload> {
    Workload::read(&written.value).filter(|_| written.value.split('/').all(is_name)).ok_or_else(|| {
        let kinds = WorkloadKind::ALL.map(WorkloadKind::as_str).join("`, `");
        let remedy = format!("write `NAME`, `KIND/NAME` or `NAMESPACE/KIND/NAME`; kinds are `{kinds}`");
        Mistake::of(written, "is not a workload", remedy)
    })
}

fn check_guest(written: &Spanned<String>) -> Checked<Guest> {
    Guest::read(&written.value).filter(|guest| is_name(&guest.name)).ok_or_else(|| {
        let programs = GuestProgram::ALL.map(GuestProgram::as_str).join("`, `");
        let remedy = format!("write `PROGRAM/NAME`, such as `qm/101`; programs are `{programs}`");
        Mistake::of(written, "is not a guest", remedy)
    })
}

/// The host of a service, which must be in the inventory.
fn check_host(host: &Spanned<String>, service: &str, hosts: &[Host]) -> Checked<String> {
    if hosts.iter().any(|known| known.name == host.value) {
        return Ok(host.value.clone());
    }
    let remedy = suggestion(&host.value, hosts.iter().map(|known| known.name.as_str()));
    let remedy = if remedy.is_empty() { "add it to `hosts`".to_owned() } else { remedy };
    Err(Mistake::at(host.referenced, format!("unknown host `{}` of service `{service}`", host.value), remedy))
}

/// Checks that no two services of one host list the same part: an action on it would count against the first one only.
/// Compose projects, Helm releases and playbooks may have several services.
pub fn one_owner_per_part(services: &[Service], parts: &[Vec<OwnedName>]) -> Checked<()> {
    for (index, (service, own)) in services.iter().zip(parts).enumerate() {
        for OwnedName { list, written, target } in own {
            let is_container = matches!(target, Target::Container(_));
            let may_share = |other: &Service| is_container && other.is_in_another_project_than(service);
            let owners = services.iter().take(index).filter(|other| other.host == service.host);
            let owner = owners.filter(|other| !may_share(other)).find(|other| other.lists(target));
            if let Some(owner) = owner {
                return Err(Mistake::at(
                    written.referenced,
                    format!(
                        "`{}` is listed under `{list}` of both `{}` and `{}`",
                        written.value, owner.name, service.name
                    ),
                    "list it under the service whose budget applies",
                ));
            }
        }
    }
    Ok(())
}
