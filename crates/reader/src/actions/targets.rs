//! The actions of one command line, by the kind of target that the catalogue states for it.

use super::call::Call;
use super::line::Line;
use super::message;
use super::platforms::{ansible, compose, forge_api, guest, http_api, kubectl};
use super::request::Request;
use crate::catalogue::base_name;
use crate::catalogue::program::TargetKind;
use crate::languages::names::shell as names;
use crate::shell::Word;
use crate::terms::action::{Action, ActionKind, Family, Target};

/// Adds the actions of a command line; returns false if its program is not in the catalogue.
pub(super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) -> bool {
    let Some(usage) = line.usage() else { return false };
    if let Ok(call) = Call::of(line, &usage) {
        act_on(&call, actions);
    }
    true
}

/// Adds the actions of a call.
pub(super) fn act_on(call: &Call<'_>, actions: &mut Vec<Action>) {
    match call.does.to.kind {
        TargetKind::Container | TargetKind::Service | TargetKind::Guest if call.own.has(&call.does.all) => {
            actions.push(call.on_everything(Family::Container, "--all"));
        }
        TargetKind::Container => call.act_on_each(Family::Container, Target::Container, container, actions),
        TargetKind::Service => call.act_on_each(Family::Program, service, |name| name, actions),
        TargetKind::Project => compose::find_stacks(call, actions),
        TargetKind::Unit => call.act_on_each(Family::Unit, Target::Unit, unit, actions),
        TargetKind::Process if call.targets().iter().any(|word| owner(word).is_some()) => {
            let owners = call.targets().into_iter().filter(|_| !reloads(call));
            for (family, target) in owners.filter_map(|word| owner(&word)) {
                let evidence = call.evidence(target.name().unwrap_or_default());
                actions.push(call.action(family, target, evidence));
            }
        }
        // A signal with which a process goes on; the first one of a container ends with most of them.
        TargetKind::Process if reloads(call) && call.line.texts().last() != Some(&"1") => {}
        TargetKind::Process => call.act_on_each(Family::Process, service, process, actions),
        TargetKind::Guest => guest::find_actions(call, actions),
        TargetKind::Release if generates_name(call) => {
            actions.push(call.action(Family::Helm, Target::Unknown, call.words()));
        }
        TargetKind::Release => {
            let known = actions.len();
            call.act_on_each(Family::Helm, Target::Release, |name| name, actions);
            // It creates the release where none has this name.
            if call.own.has(&["-i", "--install"]) {
                for action in actions.iter_mut().skip(known) {
                    action.evidence = action.evidence.replacen(" upgrade ", " upgrade --install ", 1);
                }
            }
        }
        TargetKind::Compose => compose::find_actions(call, actions),
        TargetKind::Workload => kubectl::find_actions(call, actions),
        TargetKind::Playbook => ansible::find_actions(call, actions),
        TargetKind::Recipients => message::mail(call, actions),
        TargetKind::Apprise => message::apprise(call, actions),
        TargetKind::Requests => {
            let request = Request::of(call);
            http_api::find_actions(call, &request, actions);
            forge_api::find_actions(call, &request, actions);
            message::web(call, &request, actions);
        }
        TargetKind::Nothing => actions.push(without_target(call)),
    }
}

/// A service by its name; `all` are those of a supervisor, whichever it runs, and a number is a process of any.
fn service(name: String) -> Target {
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    // The job before another process: `kill %1 123`.
    let is_job = name.starts_with('%');
    if name == "all" || is_number || is_job { Target::Unknown } else { Target::Service(name) }
}

/// Whether `kill` sends a signal with which a process reads its settings again, or goes on.
fn reloads(call: &Call<'_>) -> bool {
    call.line.program() == "kill" && call.line.texts().iter().any(|text| names::RELOAD_SIGNALS.has(text))
}

/// A container, or a swarm service, with an optional `=` and a number of replicas.
pub(super) fn container(name: &str) -> &str {
    name.trim_start_matches('/').split('=').next().unwrap_or_default()
}

fn unit(name: &str) -> &str {
    let name = bus_text(name);
    name.strip_suffix(".service").unwrap_or(name)
}

/// A text as programs for D-Bus write it, without its type and its quotes: `string:web`, `'web'`.
pub(super) fn bus_text(word: &str) -> &str {
    let word = word.strip_prefix("string:").or_else(|| word.strip_prefix("@s ")).unwrap_or(word).trim();
    word.trim_matches(['\'', '"'])
}

/// A program that a supervisor runs: `web` of the group `web:`, or the folder `/run/service/web`.
fn process(name: &str) -> &str {
    let name = name.trim_end_matches('/');
    let group = name.split(':').next().unwrap_or(name);
    base_name(group)
}

/// What a process belongs to whose id a word looks up: `$(docker inspect -f '{{.State.Pid}}' NAME)`, `$(cat /run/UNIT.pid)`.
fn owner(word: &Word) -> Option<(Family, Target)> {
    let unknown = word.unknown.as_ref().filter(|_| word.prefix().is_empty())?;
    let source = unknown.source.strip_prefix("$(")?.strip_suffix(')')?;
    // `$(<FILE)` needs no blank.
    let spaced = source.strip_prefix('<').map(|file| format!("< {file}"));
    let mut words = spaced.as_deref().unwrap_or(source).split('|').next()?.split_whitespace();
    let program = base_name(words.next()?);
    let is_name = |word: &&str| !word.starts_with(['-', '.']) && !word.contains(['{', '}', '=']);
    let names: Vec<&str> = words.filter(is_name).collect();
    let last = names.last()?;
    match (program, names.as_slice()) {
        ("docker" | "podman", ["inspect", _, ..] | ["container", "inspect", _, ..]) => {
            Some((Family::Container, Target::Container((*last).to_owned())))
        }
        ("docker" | "podman", ["top", name, ..] | ["container", "top", name, ..]) => {
            Some((Family::Container, Target::Container((*name).to_owned())))
        }
        ("systemctl", ["show", _, ..]) if *last != "MainPID" => {
            Some((Family::Unit, Target::Unit(unit(last).to_owned())))
        }
        (_, [.., file]) => {
            let file = file.strip_suffix("/cgroup.procs").unwrap_or(file);
            let name = base_name(file);
            let name = name.strip_suffix(".pid").or_else(|| name.strip_suffix(".service"))?;
            Some((Family::Unit, Target::Unit(name.to_owned())))
        }
        _ => None,
    }
}

/// `helm install --generate-name CHART`: with a generated name the only word is the chart.
fn generates_name(call: &Call<'_>) -> bool {
    let installs = call.usage.verb.first().is_some_and(|index| call.line.text(*index) == "install");
    installs && call.own.positionals.len() < 2 && !call.own.positionals.is_empty()
}

/// A pull request, a change to opsctl's limits, or an operator's program that restarts something without naming it.
fn without_target(call: &Call<'_>) -> Action {
    let mut action = call.action(Family::Program, Target::Unknown, call.words());
    if matches!(action.kind, ActionKind::PullRequest | ActionKind::Forbidden) {
        action.family = if action.kind == ActionKind::PullRequest { Family::Forge } else { Family::Guard };
        action.target = Target::Nothing;
        let title = call.own.value(&call.does.title);
        action.title = title.and_then(Word::known).map(str::to_owned);
    }
    action
}
