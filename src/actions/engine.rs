//! The container engine of a command: the one that can be asked which container an ID names.

use super::line::{Arguments, Line};
use crate::catalogue::Catalogue;
use crate::catalogue::lookup::Usage;
use crate::model::reference::{EngineCall, Form, Reference};

/// The programs that can be asked.
const PROGRAMS: [&str; 3] = ["docker", "podman", "nerdctl"];

/// Options before the verb that choose no other engine than the host does.
const HARMLESS: [&str; 6] = ["-H", "--host", "-l", "--log-level", "-D", "--debug"];

/// Variables that choose another engine.
const OTHER_ENGINE: [&str; 4] =
    ["DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_CONNECTION", "CONTAINERD_NAMESPACE"];

/// Addresses of the engine of this machine, which is also the default.
const LOCAL: [&str; 3] =
    ["unix:///var/run/docker.sock", "unix:///run/docker.sock", "unix:///run/podman/podman.sock"];

/// How the targets of a call are named, and which engine knows them. `global` are the options before the verb, `host` is
/// the host that the call itself names.
pub(super) fn reference(
    line: &Line<'_>,
    usage: &Usage,
    global: &Arguments<'_>,
    host: Option<&str>,
) -> Reference {
    if usage.program.key != "docker" {
        return Reference::default();
    }
    if usage.verb.first().is_some_and(|index| line.text(*index) == "service") {
        return Reference { form: Form::SwarmService, engine: None };
    }
    Reference { form: Form::Name, engine: engine(line, usage, global, host) }
}

fn engine(line: &Line<'_>, usage: &Usage, global: &Arguments<'_>, host: Option<&str>) -> Option<EngineCall> {
    let program = PROGRAMS.into_iter().find(|name| *name == line.program())?;
    let command = line.command;
    let other = global.options.iter().any(|(name, _)| !name.is_any(&HARMLESS))
        || OTHER_ENGINE.iter().any(|name| command.variable(name).is_some());
    let address = global.value(&["-H", "--host"]);
    let variables = usage.program.host_variables;
    let address = address.or_else(|| variables.iter().find_map(|name| command.variable(name)));
    // An address without a host is a socket of this machine.
    let elsewhere = host.is_none() && address.is_some_and(|address| !LOCAL.contains(&address.text.as_str()));
    let own_host = command.via.iter().rposition(|via| via == "ssh").map_or(0, |at| at + 1);
    let on_host = command.via.get(own_host..).unwrap_or_default();
    let is_inside = on_host.iter().any(|via| runs_inside(line.catalogue, via));
    let sudo = on_host.iter().any(|via| via == "sudo");
    (!other && !elsewhere && !is_inside).then_some(EngineCall { program, sudo })
}

/// Whether a program can run commands in a container, a virtual machine or another root.
fn runs_inside(catalogue: Catalogue, name: &str) -> bool {
    let Some(program) = catalogue.find(name) else { return true };
    let forms = program.verbs.iter().map(|verb| &verb.form).chain([&program.form]);
    forms.into_iter().any(|form| form.runs.is_some_and(|runs| runs.inside))
}
