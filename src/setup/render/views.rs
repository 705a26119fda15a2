//! The inventory as data for templates.

use serde::Serialize;

use opsctl_policy::model::installation::checks::{CheckKind, Engine, Health};
use opsctl_policy::model::installation::inventory::{Host, Inventory, Service};
use opsctl_probe::health::{
    Check, Rights, Way, container_listing, guest_status, line, plan, quoted, unit_state, workload_selection,
};
use opsctl_reader::terms::workload::Workload;

/// A service in the prompt of the verification agent.
#[derive(Serialize)]
pub struct ServiceView<'a> {
    name: &'a str,
    host: Option<&'a Host>,
    looks: Vec<LookView>,
    health: Option<&'a Health>,
    dns: Option<&'a str>,
}

/// A command that shows the state of a part of a service.
#[derive(Serialize)]
struct LookView {
    /// The kind of the part.
    what: &'static str,
    command: String,
    /// What it prints or returns if the part is healthy, as the rest of the sentence.
    passes: String,
}

/// A service in a prompt.
#[derive(Serialize)]
pub struct PromptView<'a> {
    name: &'a str,
    host: Option<&'a str>,
    checks: Vec<String>,
    /// Its playbooks, helm releases, workloads, guests and compose projects.
    parts: Vec<String>,
}

/// The services with the checks that `opsctl verify` carries out.
pub fn checked_services<'a>(inventory: &'a Inventory) -> Vec<PromptView<'a>> {
    let view = |service: &'a Service| {
        let named =
            |kind: &'static str, names: &'a [String]| names.iter().map(move |name| format!("{kind} {name}"));
        // The others are among the checks.
        let workloads = service.workloads.iter().filter(|workload| workload.is_bare());
        let workloads = workloads.map(|workload| format!("workload {workload}"));
        let guests = service.guests.iter().filter(|guest| guest.program.is_none());
        let guests = guests.map(|guest| format!("guest {guest}"));
        PromptView {
            name: &service.name,
            host: service.host.as_deref(),
            checks: plan(service, inventory).iter().map(expected).collect(),
            parts: named("playbook", &service.playbooks)
                .chain(named("release", &service.releases))
                .chain(workloads)
                .chain(guests)
                .chain(named("compose project", &service.projects))
                .collect(),
        }
    };
    inventory.services.iter().map(view).collect()
}

/// A check, with the result that it expects where the inventory states one.
fn expected(check: &Check) -> String {
    match check {
        Check::Http(health) => {
            let codes: Vec<String> = health.status.iter().map(ToString::to_string).collect();
            format!("http {} answers {}", check.target(), codes.join(" or "))
        }
        Check::Dns { name, .. } => match name.address {
            Some(address) => format!("dns {} resolves to {address}", check.target()),
            None => format!("dns {}", check.target()),
        },
        Check::Tcp { .. } => format!("tcp {}", check.target()),
        Check::Container { engine: Engine::Docker, names, .. } => format!("container {}", names.join(", ")),
        Check::Container { engine, names, .. } => {
            format!("{} container {}", engine.as_str(), names.join(", "))
        }
        Check::Unit { name, .. } => format!("unit {name}"),
        Check::Workload { workload, .. } => format!("workload {workload}"),
        Check::Guest { program, name, .. } => format!("guest {}/{name}", program.as_str()),
        Check::Command { check: own, .. } => format!("command {} exits with {}", check.target(), own.expect),
    }
}

/// The commands that show the state of the parts of a service.
fn looks(service: &Service, inventory: &Inventory) -> Vec<LookView> {
    let mut looks: Vec<LookView> = plan(service, inventory).iter().filter_map(look).collect();
    let way = Way::to(service.host.as_deref().and_then(|name| inventory.host(name)));
    let is_checked = !service.unchecked.contains(&CheckKind::Workload);
    let unchecked = service.workloads.iter().filter(|workload| is_checked && workload.is_bare());
    looks.extend(unchecked.map(|workload| look_at_workload(workload, &way)));
    looks
}

/// The command that shows what a check looks at; `None` for checks of the network.
fn look(check: &Check) -> Option<LookView> {
    let (command, passes) = match check {
        Check::Http(_) | Check::Dns { .. } | Check::Tcp { .. } => return None,
        Check::Workload { workload, way } => return Some(look_at_workload(workload, way)),
        Check::Container { engine, names, way } => (
            listed(*engine, names, way),
            match names.len() {
                1 => "prints a line that begins with `Up` and does not say `unhealthy`",
                _ => "prints only lines that begin with `Up` and do not say `unhealthy`",
            }
            .to_owned(),
        ),
        Check::Unit { name, way } => {
            let (words, rights) = unit_state(name, way.units());
            (called(&words, rights, way), "prints `active`".to_owned())
        }
        Check::Guest { program, name, way } => {
            (called(&guest_status(*program, name), Rights::Root, way), "prints that it is running".to_owned())
        }
        Check::Command { check: own, way } => {
            (called(&own.command, Rights::Own, way), format!("exits with {}", own.expect))
        }
    };
    Some(LookView { what: check.kind(), command, passes })
}

fn look_at_workload(workload: &Workload, way: &Way) -> LookView {
    let command = called(&workload_selection(workload, way), Rights::Root, way);
    LookView { what: "workload", command, passes: "shows as many ready as desired".to_owned() }
}

/// The command that lists containers.
fn listed(engine: Engine, names: &[String], way: &Way) -> String {
    let words = way.written(&container_listing(engine, names), Rights::Root);
    // Both shells read a filter as it is.
    let is_filter = |word: &String| word.starts_with("name=^") && word.ends_with('$');
    let word = |word: &String| if is_filter(word) { word.clone() } else { quoted(word) };
    on(way, &words.iter().map(word).collect::<Vec<_>>().join(" "))
}

/// The command that calls a program, for the shell of this machine.
fn called(words: &[String], rights: Rights, way: &Way) -> String {
    let line = line(&way.written(words, rights));
    on(way, &if way.ssh.is_some() && line.contains('\'') { quoted(&line) } else { line })
}

fn on(way: &Way, command: &str) -> String {
    match &way.ssh {
        Some(ssh) => format!("ssh {ssh} {command}"),
        None => command.to_owned(),
    }
}

/// The services with their hosts.
pub fn services<'a>(inventory: &'a Inventory) -> Vec<ServiceView<'a>> {
    let view = |service: &'a Service| ServiceView {
        name: &service.name,
        host: service.host.as_deref().and_then(|name| inventory.host(name)),
        looks: looks(service, inventory),
        health: service.health.as_ref(),
        dns: service.dns.as_ref().map(|dns| dns.name.as_str()),
    };
    inventory.services.iter().map(view).collect()
}
