//! `docker compose` and its kin.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};

use crate::shell::valued::COMPOSE;

use super::line::{Arguments, Line, Named, Subcommand};

static SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "up",
        verb: Verb::Start,
        valued: &[
            "-t",
            "--timeout",
            "--scale",
            "--exit-code-from",
            "--attach",
            "--no-attach",
            "--pull",
            "--wait-timeout",
            "-p",
            "--project-name",
        ],
        needs: &[],
    },
    Subcommand { name: "restart", verb: Verb::Restart, valued: &["-t", "--timeout"], needs: &[] },
    Subcommand { name: "start", verb: Verb::Start, valued: &["--wait-timeout"], needs: &[] },
    Subcommand { name: "stop", verb: Verb::Stop, valued: &["-t", "--timeout"], needs: &[] },
    Subcommand { name: "kill", verb: Verb::Stop, valued: &["-s", "--signal"], needs: &[] },
    Subcommand { name: "down", verb: Verb::Stop, valued: &["-t", "--timeout", "--rmi"], needs: &[] },
    // Without `--stop` it removes only what is stopped already.
    Subcommand { name: "rm", verb: Verb::Stop, valued: &[], needs: &["-s", "--stop"] },
];

/// Reads from the word after `compose` on; `host` is what the engine's own options say.
pub(super) fn find_actions(line: &Line<'_>, from: usize, host: Option<String>, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    let Some(at) = line.subcommand(from, COMPOSE, &mut arguments) else { return };
    let host = host.or_else(|| super::container::host(line, &arguments));
    let unknown = line.word(at).is_some_and(|word| word.unknown.is_some());
    let name = line.text(at);
    let Some(subcommand) = SUBCOMMANDS.iter().find(|subcommand| subcommand.name == name || unknown) else {
        return;
    };
    let mut own = Arguments::default();
    line.arguments(at + 1, subcommand.valued, &mut own);
    let quiet = ["--help", "-h", "--dry-run", "--no-start"];
    if arguments.has(&["--help", "--dry-run", "-v", "--version"])
        || own.has(&quiet)
        || !(subcommand.needs.is_empty() || own.has(subcommand.needs))
    {
        return;
    }
    let program = if from > 1 { format!("{} compose", line.program()) } else { line.program().to_owned() };
    let words = format!("{program} {name}{}", if subcommand.needs.is_empty() { "" } else { " -s" });
    let mut push = |mut action: Action| {
        if host.is_some() {
            action.host.clone_from(&host);
        }
        actions.push(action);
    };
    if own.positionals.is_empty() {
        let target = project(line, &arguments).map_or(Target::Unknown, Target::ComposeProject);
        push(line.action(ActionKind::Restart, subcommand.verb, Family::Compose, target, words));
        return;
    }
    for &index in &own.positionals {
        let (target, name) = match line.named(index) {
            Named::One(name) => (Target::ComposeService(name.to_owned()), name),
            Named::Everything(listing) => {
                push(line.forbidden(subcommand.verb, Family::Compose, &words, &format!("$({listing})")));
                return;
            }
            Named::Unknown => (Target::Unknown, line.text(index)),
        };
        let evidence = format!("{words} {name}");
        push(line.action(ActionKind::Restart, subcommand.verb, Family::Compose, target, evidence));
    }
}

/// The project's name: told, or the folder that compose would take it from.
fn project(line: &Line<'_>, arguments: &Arguments<'_>) -> Option<String> {
    if let Some(name) = arguments.value(&["-p", "--project-name"]) {
        return name.known().map(str::to_owned);
    }
    if let Some(name) = line.command.variable("COMPOSE_PROJECT_NAME").filter(|name| !name.text.is_empty()) {
        return name.known().map(str::to_owned);
    }
    let cwd = line.command.cwd.as_deref();
    if let Some(dir) = arguments.value(&["--project-directory"]) {
        return folder(dir.known()?, cwd);
    }
    let file = arguments.values(&["-f", "--file"]).next();
    if let Some(file) = file.or_else(|| line.command.variable("COMPOSE_FILE")).filter(|file| file.text != "-")
    {
        let file = file.known()?;
        let file = file.split(':').next().unwrap_or(file);
        return folder(
            file.rsplit_once('/').map_or(".", |(dir, _)| if dir.is_empty() { "/" } else { dir }),
            cwd,
        );
    }
    folder(".", cwd)
}

/// The name of a folder, which may be written from where the command runs.
fn folder(dir: &str, cwd: Option<&str>) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let start = if dir.starts_with(['/', '~']) { "" } else { cwd.unwrap_or_default() };
    for part in start.split('/').chain(dir.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.last().filter(|name| !name.contains(['$', '~'])).map(|name| (*name).to_owned())
}
