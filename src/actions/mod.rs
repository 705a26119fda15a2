//! Simple commands → actions. The catalogue says which form of a program acts, and on what; the files here read the
//! names of targets from the words, one file for each way of naming them.

mod ansible;
mod call;
mod compose;
mod engine_api;
mod generous;
mod kubectl;
mod line;
pub mod message;
pub(crate) mod request;
mod targets;
pub mod tool;

use std::path::Path;

use crate::catalogue::Catalogue;
use crate::model::action::Action;
use crate::shell::{self, Command, Complaint, Node, Script};

use call::{Call, Idle};
use line::Line;

/// Everything that one command text was found to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandReading {
    /// In the order in which they would run.
    pub actions: Vec<Action>,
    /// What could not be read, one plain sentence each; empty when everything was understood.
    pub complaints: Vec<Complaint>,
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

/// What one simple command comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// These actions.
    Acts(Vec<Action>),
    /// An option makes it only look: `--help`, `--dry-run`.
    Quiet,
    /// No action that is known.
    NoAction,
}

/// What one simple command comes to.
pub fn outcome(command: &Command, catalogue: Catalogue) -> Outcome {
    let line = Line::new(command, catalogue);
    let Some(usage) = line.usage() else { return Outcome::NoAction };
    match Call::of(&line, &usage) {
        Err(Idle::Quiet) => Outcome::Quiet,
        Err(Idle::NoAction) => Outcome::NoAction,
        Ok(call) => {
            let mut actions = Vec::new();
            targets::act_on(&call, &mut actions);
            if actions.is_empty() { Outcome::NoAction } else { Outcome::Acts(actions) }
        }
    }
}

/// Whether `hosts.yaml` may say more of a script: it has a program that is not built in, or a request to an address.
pub fn may_depend_on_rules(script: &Script) -> bool {
    let is_built_in = |command: &Command| {
        command.words.first().is_none_or(|program| Catalogue::default().find(&program.text).is_some())
    };
    message::may_be_listed(script) || !script.commands().into_iter().all(is_built_in)
}

/// The actions of one simple command.
fn find_actions(
    command: &Command,
    catalogue: Catalogue,
    actions: &mut Vec<Action>,
    complaints: &mut Vec<Complaint>,
) {
    let Some(program) = command.words.first() else { return };
    let before = actions.len();
    // `~/bin/tool` is a tool, wherever the folder is.
    let named = program.unknown.is_none() || program.suffix().contains('/');
    if !targets::find_actions(&Line::new(command, catalogue), actions) && !named {
        generous::dynamic_program(command, catalogue, actions);
        if actions.len() > before {
            complaints.push(Complaint::Program(program.text.clone()));
        }
    }
}
