//! Simple commands → actions. The catalogue says which form of a program acts, and on what; the files here read the
//! names of targets from the words, one file for each way of naming them.

mod ansible;
mod call;
mod compose;
pub mod effect;
mod engine_api;
mod generous;
mod kubectl;
mod line;
pub mod message;
mod request;
pub mod tool;

use std::path::Path;

use crate::catalogue::Catalogue;
use crate::catalogue::program::TargetKind;
use crate::model::action::{Action, Family, Target};
use crate::shell::{self, Command, Node, Script};

use call::Call;
use line::Line;

/// Everything that one command text was found to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandReading {
    /// In the order in which they would run.
    pub actions: Vec<Action>,
    /// What could not be read, one plain sentence each; empty when everything was understood.
    pub complaints: Vec<String>,
    /// The tree of what runs where.
    pub script: Script,
}

/// Reads bash text with the built-in programs and lists the actions it holds. Never panics, never hangs; what it cannot
/// read it complains about.
///
/// `cwd` is the working directory in which the command would start, when that is known.
pub fn read_command(text: &str, cwd: Option<&Path>) -> CommandReading {
    read_command_with(text, cwd, Catalogue::default())
}

/// Reads bash text with these programs and lists the actions it holds. Never panics, never hangs; what it cannot read it
/// complains about.
///
/// `cwd` is the working directory in which the command would start, when that is known.
pub fn read_command_with(text: &str, cwd: Option<&Path>, catalogue: Catalogue) -> CommandReading {
    let script = shell::read_with(text, cwd.and_then(Path::to_str), catalogue);
    let mut actions = Vec::new();
    let mut complaints = script.complaints.clone();
    script.visit(|node| match node {
        Node::Command(command) => find_actions(command, catalogue, &mut actions, &mut complaints),
        Node::Unread(unread) => generous::find_actions(unread, catalogue, &mut actions),
        Node::Group(..) => {}
    });
    message::doubt(text, &script, &mut actions);
    CommandReading { actions, complaints, script }
}

/// The actions of one simple command.
fn find_actions(
    command: &Command,
    catalogue: Catalogue,
    actions: &mut Vec<Action>,
    complaints: &mut Vec<String>,
) {
    let Some(program) = command.words.first() else { return };
    let before = actions.len();
    // `~/bin/tool` is a tool, wherever the folder is.
    let named = program.unknown.is_none() || program.suffix().contains('/');
    if !act(&Line::new(command, catalogue), actions) && !named {
        generous::dynamic_program(command, catalogue, actions);
        if actions.len() > before {
            complaints.push(format!("which program `{}` is cannot be determined", program.text));
        }
    }
}

/// Adds the actions of a command line; false when its program is not in the catalogue.
fn act(line: &Line<'_>, actions: &mut Vec<Action>) -> bool {
    let Some(usage) = line.usage() else { return false };
    if let Ok(call) = Call::of(line, &usage) {
        act_on(&call, actions);
    }
    true
}

/// Adds the actions of a call.
fn act_on(call: &Call<'_>, actions: &mut Vec<Action>) {
    match call.does.to.kind {
        TargetKind::Container if call.own.has(&call.does.all) => {
            actions.push(call.on_everything(Family::Container, "--all"));
        }
        TargetKind::Container => call.act_on_each(Family::Container, Target::Container, container, actions),
        TargetKind::Service => call.act_on_each(Family::Program, Target::Service, whole, actions),
        TargetKind::Project => call.act_on_each(Family::Container, Target::ComposeProject, whole, actions),
        TargetKind::Unit => call.act_on_each(Family::Unit, Target::Unit, unit, actions),
        TargetKind::Release if generates_name(call) => {
            actions.push(call.action(Family::Helm, Target::Unknown, call.words()));
        }
        TargetKind::Release => call.act_on_each(Family::Helm, Target::Release, whole, actions),
        TargetKind::Compose => compose::find_actions(call, actions),
        TargetKind::Workload => kubectl::find_actions(call, actions),
        TargetKind::Playbook => ansible::find_actions(call, actions),
        TargetKind::People => message::mail(call, actions),
        TargetKind::Apprise => message::apprise(call, actions),
        TargetKind::Requests => {
            let request = request::Request::of(call);
            engine_api::find_actions(call, &request, actions);
            message::web(call, &request, actions);
        }
        TargetKind::NoTarget => actions.push(without_target(call)),
    }
}

fn whole(name: &str) -> &str {
    name
}

/// A container, or a swarm service that may be followed by `=` and a number of copies.
fn container(name: &str) -> &str {
    name.trim_start_matches('/').split('=').next().unwrap_or_default()
}

fn unit(name: &str) -> &str {
    name.strip_suffix(".service").unwrap_or(name)
}

/// `helm install --generate-name CHART`: with a generated name the only word is the chart.
fn generates_name(call: &Call<'_>) -> bool {
    let installs = call.usage.verb.first().is_some_and(|index| call.line.text(*index) == "install");
    installs && call.own.positionals.len() < 2 && !call.own.positionals.is_empty()
}

/// A pull request, the guard itself, or an operator's program that restarts something without a name.
fn without_target(call: &Call<'_>) -> Action {
    use crate::model::action::ActionKind::{Forbidden, PullRequest};
    let mut action = call.action(Family::Program, Target::Unknown, call.words());
    if matches!(action.kind, PullRequest | Forbidden) {
        action.family = if action.kind == PullRequest { Family::Forge } else { Family::Guard };
        action.target = Target::Nothing;
        let title = call.own.value(&call.does.title);
        action.title = title.and_then(shell::Word::known).map(str::to_owned);
    }
    action
}
