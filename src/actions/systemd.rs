//! `systemctl`, `service`, `rc-service` and init scripts.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};
use crate::shell::host_of;

use super::line::{Arguments, Line, Named};

const VALUED: &[&str] = &[
    "-t",
    "--type",
    "-p",
    "--property",
    "-P",
    "-H",
    "--host",
    "-M",
    "--machine",
    "-s",
    "--signal",
    "--kill-whom",
    "--kill-who",
    "-n",
    "--lines",
    "-o",
    "--output",
    "--root",
    "--image",
    "--job-mode",
    "--state",
    "--what",
    "--when",
    "--boot-loader-entry",
    "--reboot-argument",
    "--preset-mode",
    "--timestamp",
];

fn verb(word: &str) -> Option<Verb> {
    Some(match word {
        "restart"
        | "try-restart"
        | "condrestart"
        | "reload-or-restart"
        | "try-reload-or-restart"
        | "reload-or-try-restart"
        | "force-reload" => Verb::Restart,
        "stop" => Verb::Stop,
        "start" => Verb::Start,
        _ => return None,
    })
}

pub(super) fn systemctl(line: &Line<'_>, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    let Some(at) = line.subcommand(1, VALUED, &mut arguments) else { return };
    line.arguments(at + 1, VALUED, &mut arguments);
    if arguments.has(&["--help", "-h", "--dry-run", "--version"]) {
        return;
    }
    let word = line.text(at);
    let now = arguments.has(&["--now"]);
    let unknown = line.word(at).is_some_and(|word| word.unknown.is_some());
    let (verb, words) = match word {
        "enable" | "reenable" if now => (Verb::Start, format!("systemctl {word} --now")),
        "disable" | "mask" if now => (Verb::Stop, format!("systemctl {word} --now")),
        _ => match verb(word).or(unknown.then_some(Verb::Restart)) {
            Some(verb) => (verb, format!("systemctl {word}")),
            None => return,
        },
    };
    let host = arguments.value(&["-H", "--host"]).and_then(|host| host_of(&host.text));
    for &index in &arguments.positionals {
        let mut action = match line.named(index) {
            Named::Everything(listing) => {
                line.forbidden(verb, Family::Unit, &words, &format!("$({listing})"))
            }
            Named::One(unit @ ("*" | "*.service")) => {
                line.forbidden(verb, Family::Unit, &words, &format!("'{unit}'"))
            }
            Named::One(unit) => unit_action(line, verb, &words, unit),
            Named::Unknown => {
                let evidence = format!("{words} {}", line.text(index));
                line.action(ActionKind::Restart, verb, Family::Unit, Target::Unknown, evidence)
            }
        };
        if host.is_some() {
            action.host.clone_from(&host);
        }
        actions.push(action);
    }
}

fn unit_action(line: &Line<'_>, verb: Verb, words: &str, unit: &str) -> Action {
    let name = unit.strip_suffix(".service").unwrap_or(unit);
    let target = Target::Unit(name.to_owned());
    line.action(ActionKind::Restart, verb, Family::Unit, target, format!("{words} {name}"))
}

/// `service NAME restart`.
pub(super) fn service(line: &Line<'_>, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    line.arguments(1, &[], &mut arguments);
    let [name, word, ..] = arguments.positionals.as_slice() else { return };
    if arguments.has(&["--help", "-h", "--status-all"]) {
        return;
    }
    named_then_verb(line, *name, *word, line.program(), actions);
}

/// `/etc/init.d/NAME restart`.
pub(super) fn init_script(line: &Line<'_>, actions: &mut Vec<Action>) {
    let Some(verb) = verb(line.text(1)) else { return };
    let target = Target::Unit(line.program().to_owned());
    let evidence = format!("{} {}", line.text(0), line.text(1));
    actions.push(line.action(ActionKind::Restart, verb, Family::Unit, target, evidence));
}

fn named_then_verb(line: &Line<'_>, name: usize, word: usize, program: &str, actions: &mut Vec<Action>) {
    let unknown = line.word(word).is_some_and(|word| word.unknown.is_some());
    let Some(verb) = verb(line.text(word)).or(unknown.then_some(Verb::Restart)) else { return };
    let (target, name) = match line.named(name) {
        Named::One(name) => {
            let name = name.strip_suffix(".service").unwrap_or(name);
            (Target::Unit(name.to_owned()), name)
        }
        Named::Everything(listing) => {
            let words = format!("{program} {}", line.text(word));
            actions.push(line.forbidden(verb, Family::Unit, &words, &format!("$({listing})")));
            return;
        }
        Named::Unknown => (Target::Unknown, line.text(name)),
    };
    let evidence = format!("{program} {name} {}", line.text(word));
    actions.push(line.action(ActionKind::Restart, verb, Family::Unit, target, evidence));
}
