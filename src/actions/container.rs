//! `docker`, `podman`, `nerdctl` on single containers.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};
use crate::shell::host_of;
use crate::shell::valued::ENGINE;

use super::compose;
use super::line::{Arguments, Line, Named, Subcommand};
use super::swarm;

static SUBCOMMANDS: &[Subcommand] = &[
    Subcommand { name: "restart", verb: Verb::Restart, valued: STOPPING, needs: &[] },
    Subcommand { name: "stop", verb: Verb::Stop, valued: STOPPING, needs: &[] },
    Subcommand {
        name: "start",
        verb: Verb::Start,
        valued: &["--detach-keys", "--checkpoint", "--checkpoint-dir", "-f", "--filter"],
        needs: &[],
    },
    Subcommand { name: "kill", verb: Verb::Stop, valued: &["-s", "--signal", "--cidfile"], needs: &[] },
    Subcommand { name: "pause", verb: Verb::Stop, valued: &["--filter"], needs: &[] },
    Subcommand { name: "unpause", verb: Verb::Start, valued: &["--filter"], needs: &[] },
    // Removing a container that is stopped already restarts nothing.
    Subcommand {
        name: "rm",
        verb: Verb::Stop,
        valued: &["-t", "--time", "--cidfile", "--filter"],
        needs: FORCE,
    },
    Subcommand { name: "remove", verb: Verb::Stop, valued: &["-t", "--time"], needs: FORCE },
];

const STOPPING: &[&str] = &["-t", "--time", "--timeout", "-s", "--signal", "--cidfile", "-f", "--filter"];
const FORCE: &[&str] = &["-f", "--force"];

pub(super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) {
    let mut global = Arguments::default();
    let Some(mut at) = line.subcommand(1, ENGINE, &mut global) else { return };
    if global.has(&["--help", "-h", "--version", "-v"]) {
        return;
    }
    let host = host(line, &global);
    if line.text(at) == "compose" {
        return compose::find_actions(line, at + 1, host, actions);
    }
    if matches!(line.text(at), "service" | "stack") {
        return swarm::find_actions(line, at, host.as_ref(), actions);
    }
    if line.text(at) == "container" {
        let Some(next) = line.subcommand(at + 1, &[], &mut global) else { return };
        at = next;
    }
    let name = line.text(at);
    let unknown = line.word(at).is_some_and(|word| word.unknown.is_some());
    let subcommand = SUBCOMMANDS.iter().find(|subcommand| subcommand.name == name || unknown);
    let Some(subcommand) = subcommand else { return };
    let mut arguments = Arguments::default();
    line.arguments(at + 1, subcommand.valued, &mut arguments);
    if arguments.has(&["--help", "-h"]) || !(subcommand.needs.is_empty() || arguments.has(subcommand.needs)) {
        return;
    }
    let words =
        if name == "rm" { format!("{} rm -f", line.program()) } else { format!("{} {name}", line.program()) };
    let mut push = |mut action: Action| {
        if host.is_some() {
            action.host.clone_from(&host);
        }
        actions.push(action);
    };
    // `start -a` attaches; elsewhere podman's `-a` means all.
    let all = arguments.has(&["--all"]) || (arguments.has(&["-a"]) && subcommand.verb != Verb::Start);
    if all {
        push(line.forbidden(subcommand.verb, Family::Container, &words, "--all"));
        return;
    }
    let mut everything = false;
    for &index in &arguments.positionals {
        let (target, name) = match line.named(index) {
            Named::One(name) => {
                let name = name.trim_start_matches('/');
                let target =
                    if name.is_empty() { Target::Unknown } else { Target::Container(name.to_owned()) };
                (target, name)
            }
            Named::Everything(listing) => {
                if !everything {
                    push(line.forbidden(
                        subcommand.verb,
                        Family::Container,
                        &words,
                        &format!("$({listing})"),
                    ));
                }
                everything = true;
                continue;
            }
            Named::Unknown => (Target::Unknown, line.text(index)),
        };
        let evidence = format!("{words} {name}");
        push(line.action(ActionKind::Restart, subcommand.verb, Family::Container, target, evidence));
    }
}

/// The host that the engine's own options and variables name. A context's name is no host's.
pub(super) fn host(line: &Line<'_>, global: &Arguments<'_>) -> Option<String> {
    if let Some(address) = global.value(&["-H", "--host", "--url"]) {
        return host_of(&address.text);
    }
    let variables = ["DOCKER_HOST", "CONTAINER_HOST"];
    let address = variables.iter().find_map(|name| line.command.variable(name))?;
    host_of(&address.text)
}
