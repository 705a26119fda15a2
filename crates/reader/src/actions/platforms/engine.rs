//! The container engine of a command: the one that can be asked which container an ID names.

use crate::actions::line::{Arguments, Line};
use crate::catalogue::lookup::Usage;
use crate::catalogue::program::Program;
use crate::languages::names::engines;
use crate::shell::{Word, host_of};
use crate::terms::action::Family;
use crate::terms::reference::{EngineCall, Form, Reference};

/// How the targets of a call are named, and which engine knows them. `global` are the options before the verb, `host` is
/// the host that the call itself names.
pub(in crate::actions) fn reference(
    line: &Line<'_>,
    usage: &Usage,
    global: &Arguments<'_>,
    host: Option<&str>,
) -> Reference {
    if usage.program.key != "docker" {
        return Reference::default();
    }
    if usage.verb.first().is_some_and(|index| line.text(*index) == "service") {
        return Reference { form: Form::SwarmService, ..Reference::default() };
    }
    let has = |name: &&str| line.command.variable(name).is_some();
    let names_address =
        global.value(&["-H", "--host"]).is_some() || usage.program.host_variables.iter().any(has);
    // An address without a host is a socket, perhaps of another engine.
    let is_other = names_address && host.is_none()
        || global.options.iter().any(|(name, _)| !name.is_any(engines::HARMLESS.0));
    let program = engines::PROGRAMS.iter().find(|name| *name == line.program());
    let engine = program.filter(|_| !is_other).and_then(|program| askable(line, program, host.is_some()));
    Reference { engine, context: context(line, usage, global, host), ..Reference::default() }
}

/// The context of a container engine that a command chooses, if it names no host.
pub(in crate::actions) fn context(
    line: &Line<'_>,
    usage: &Usage,
    global: &Arguments<'_>,
    host: Option<&str>,
) -> Option<String> {
    if host.is_some() {
        return None;
    }
    let named = || engines::CONTEXTS.iter().find_map(|name| line.command.variable(name));
    let context = named_context(usage, global).or_else(|| is_engine(usage).then(named)?);
    context?.known().map(str::to_owned)
}

/// The context that an option chooses.
fn named_context<'a>(usage: &Usage, global: &'a Arguments<'_>) -> Option<&'a Word> {
    let options: &[&str] = match usage.program.key {
        _ if is_engine(usage) => &["-c", "--context", "--connection"],
        "kubectl" => &["--context"],
        "helm" => &["--kube-context"],
        _ => &[],
    };
    global.value(options)
}

/// The host that variables name, beside options that may choose a context. Where it is not clear which host that is, or whether
/// the program reads the variable, it is the name of the option or variable, which is no host.
pub(in crate::actions) fn host(line: &Line<'_>, usage: &Usage, given: &[&Arguments<'_>]) -> Option<String> {
    let set = |name: &'static str| {
        let values: Vec<&Word> = line.command.values(name).collect();
        values.iter().any(|value| !value.text.is_empty()).then_some((name, values))
    };
    let is_read = |name| engines::READERS.get(name).is_none_or(|programs| programs.has(line.program()));
    let hosts = usage.program.host_variables.iter().copied().filter_map(set);
    // An address without a host is a socket of this machine.
    let is_host =
        |(_, values): &(&str, Vec<&Word>)| values.iter().any(|value| host_of(&value.text).is_some());
    let hosts: Vec<_> = hosts.filter(is_host).collect();
    let contexts: Vec<_> = engines::CONTEXTS.iter().filter(|_| is_engine(usage)).filter_map(set).collect();
    let context = given.iter().find_map(|given| named_context(usage, given));
    // Podman ignores the option.
    let is_ignored =
        !line.program().starts_with("docker") && given.iter().any(|given| given.has(&["--context"]));
    match (context, hosts.as_slice(), contexts.as_slice()) {
        (Some(context), ..) if context.known().is_none() || is_engine(usage) && is_ignored => {
            Some("--context".to_owned())
        }
        // The context with this name is the one that a variable states.
        (_, [], []) => None,
        (Some(context), ..) if context.known() != Some("default") => None,
        (None, [(name, values)], []) if is_read(name) && is_one(values) => {
            values.first().and_then(|value| host_of(&value.text))
        }
        (None, [], [(name, values)])
            if is_read(name) && is_one(values) && values.iter().all(|value| value.known().is_some()) =>
        {
            None
        }
        (_, [(name, _), ..], _) | (_, [], [(name, _), ..]) => Some(format!("${name}")),
    }
}

/// Whether all values are the same.
fn is_one(values: &[&Word]) -> bool {
    values.windows(2).all(|pair| matches!(pair, [one, other] if one.text == other.text))
}

/// Whether a container engine or its compose is called.
pub(in crate::actions) fn is_engine(usage: &Usage) -> bool {
    let is_engine = |program: &Program| program.key == "docker";
    is_engine(usage.program) || usage.before.is_some_and(|(outer, _)| is_engine(outer))
}

/// The context that a command chooses for those after it, and whose: `docker context use NAME`.
pub(in crate::actions) fn chosen(line: &Line<'_>) -> Option<(Family, String)> {
    let usage = line.usage()?;
    let own = line.arguments(usage.start, usize::MAX, usage.value());
    let words: Vec<&str> = own.positionals.iter().map(|index| line.text(*index)).collect();
    let family = match (usage.program.key, words.as_slice()) {
        ("docker", ["context", "use", _]) => Family::Container,
        ("kubectl", ["config", "use-context" | "use", _]) => Family::Workload,
        _ => return None,
    };
    let name = own.positionals.last().and_then(|index| line.word(*index))?;
    Some((family, name.known()?.to_owned()))
}

/// How the target of a request to an engine's socket is named.
pub(in crate::actions) fn reference_on_socket(line: &Line<'_>, socket: &str) -> Reference {
    let engine = engines::SOCKETS.has(socket).then(|| askable(line, "docker", false)).flatten();
    Reference { engine, ..Reference::default() }
}

/// The engine behind the programs that run a command; `None` if these may choose another one.
fn askable(line: &Line<'_>, program: &'static str, names_host: bool) -> Option<EngineCall> {
    let command = line.command;
    let ssh = command.via.iter().rposition(|via| via == "ssh");
    let behind = command.via.get(ssh.map_or(0, |at| at + 1)..).unwrap_or_default();
    let is_remote = ssh.is_some() || names_host;
    let sudo = behind.iter().any(|via| via == "sudo");
    let is_plain = behind.iter().all(|via| engines::PLAIN.has(via) || via == "sudo" && is_remote);
    let is_other = engines::OTHER.iter().any(|name| command.variable(name).is_some());
    (is_plain && !is_other).then_some(EngineCall { program, sudo })
}
