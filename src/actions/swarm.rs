//! Swarm services and stacks: `docker service …`, `docker stack …`.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};

use super::line::{Arguments, Line, Named};

const UPDATE_VALUED: &[&str] = &[
    "--args",
    "--config-add",
    "--config-rm",
    "--constraint-add",
    "--constraint-rm",
    "--container-label-add",
    "--container-label-rm",
    "--credential-spec",
    "--endpoint-mode",
    "--entrypoint",
    "--env-add",
    "--env-rm",
    "--group-add",
    "--group-rm",
    "--health-cmd",
    "--hostname",
    "--image",
    "--label-add",
    "--label-rm",
    "--limit-cpu",
    "--limit-memory",
    "--log-driver",
    "--log-opt",
    "--mount-add",
    "--mount-rm",
    "--network-add",
    "--network-rm",
    "--placement-pref-add",
    "--publish-add",
    "--publish-rm",
    "--replicas",
    "--reserve-cpu",
    "--reserve-memory",
    "--restart-condition",
    "--restart-delay",
    "--rollback-delay",
    "--secret-add",
    "--secret-rm",
    "--stop-grace-period",
    "--stop-signal",
    "--update-delay",
    "--update-failure-action",
    "--update-order",
    "--update-parallelism",
    "-u",
    "--user",
    "-w",
    "--workdir",
];
const STACK_VALUED: &[&str] = &["-c", "--compose-file", "--resolve-image", "--orchestrator", "--namespace"];

/// Reads from the word after `service` or `stack` on, which is at `noun`.
pub(super) fn find_actions(line: &Line<'_>, noun: usize, host: Option<&String>, actions: &mut Vec<Action>) {
    let what = line.text(noun);
    let valued = if what == "stack" { STACK_VALUED } else { UPDATE_VALUED };
    let mut arguments = Arguments::default();
    line.arguments(noun + 1, valued, &mut arguments);
    let Some((&word, rest)) = arguments.positionals.split_first() else { return };
    let operation = line.text(word);
    let verb = match (what, operation) {
        // Other changes of a service may leave its tasks alone.
        ("service", "update") if arguments.has(&["--force", "--image"]) => Verb::Restart,
        ("service", "rollback") => Verb::Restart,
        ("service", "scale") => Verb::Scale,
        ("stack", "deploy" | "up") => Verb::Start,
        ("service", "rm" | "remove") | ("stack", "rm" | "remove" | "down") => Verb::Stop,
        _ => return,
    };
    if arguments.has(&["--help"]) {
        return;
    }
    let words = format!("{} {what} {operation}", line.program());
    for &index in rest {
        let mut action = match line.named(index) {
            Named::One(name) => {
                let name = name.split('=').next().unwrap_or(name);
                let target = if what == "stack" {
                    Target::ComposeProject(name.to_owned())
                } else {
                    Target::Container(name.to_owned())
                };
                line.action(ActionKind::Restart, verb, Family::Container, target, format!("{words} {name}"))
            }
            Named::Everything(listing) => {
                line.forbidden(verb, Family::Container, &words, &format!("$({listing})"))
            }
            Named::Unknown => {
                let evidence = format!("{words} {}", line.text(index));
                line.action(ActionKind::Restart, verb, Family::Container, Target::Unknown, evidence)
            }
        };
        if host.is_some() {
            action.host = host.cloned();
        }
        actions.push(action);
    }
}
