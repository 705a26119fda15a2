//! Actions of simple commands. The catalogue states which form of a program acts, and on which kind of target; the
//! modules here read the names of targets from the words, one module for each kind of notation.

mod call;
mod generous;
mod line;
pub mod message;
pub mod platforms;
pub mod request;
mod suspicion;
mod targets;
mod within;

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use crate::catalogue::Catalogue;
use crate::shell::disk::Disk;
use crate::shell::{self, Command, Complaint, Construct, INHERITED, Node, Script};
use crate::terms::action::{Action, Target};
use crate::terms::verb::Verb;

use call::{Call, Idle};
use line::Line;

/// The reading of a command text: its actions, complaints and structure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandReading {
    /// The actions, in the order in which they would run.
    pub actions: Vec<Action>,
    /// The texts that could not be read, one sentence each; empty if everything was read.
    pub complaints: Vec<Complaint>,
    /// The commands that would run, as a tree of constructs.
    pub script: Script,
}

/// Reads bash text with the built-in programs, and lists its actions. Never panics, never hangs; text that it cannot
/// read causes a complaint.
///
/// `cwd` is the working directory of the command, if it is known.
pub fn read_command(text: &str, cwd: Option<&Path>) -> CommandReading {
    read_command_with(text, cwd, Catalogue::default())
}

/// Reads bash text with these programs, and lists its actions. Never panics, never hangs; text that it cannot read
/// causes a complaint.
///
/// `cwd` is the working directory of the command, if it is known.
pub fn read_command_with(text: &str, cwd: Option<&Path>, catalogue: Catalogue) -> CommandReading {
    read_command_on(text, cwd, catalogue, None)
}

/// Reads bash text with these programs and the scripts that it runs on a disk, and lists its actions. Never panics, never
/// hangs; text that it cannot read causes a complaint. Without a disk, no file is read.
///
/// `cwd` is the working directory of the command, if it is known.
pub fn read_command_on(
    text: &str,
    cwd: Option<&Path>,
    catalogue: Catalogue,
    disk: Option<Rc<dyn Disk>>,
) -> CommandReading {
    let script = shell::read_on(text, cwd.and_then(Path::to_str), catalogue, disk);
    let mut complaints = script.complaints.clone();
    let mut actions = Vec::new();
    actions_of(&script.nodes, (catalogue, &mut Vec::new()), &mut actions, &mut complaints);
    message::doubt(text, &script, &mut actions);
    let mut stated = BTreeSet::new();
    complaints.retain(|complaint| stated.insert(complaint.to_string()));
    CommandReading { actions, complaints, script }
}

/// The actions of these nodes, with the constructs around them.
fn actions_of<'a>(
    nodes: &'a [Node],
    (catalogue, around): (Catalogue, &mut Vec<&'a Construct>),
    actions: &mut Vec<Action>,
    complaints: &mut Vec<Complaint>,
) {
    for node in nodes {
        match node {
            Node::Command(command) => {
                let before = actions.len();
                find_actions(command, catalogue, actions, complaints);
                within::place(actions.get_mut(before..).unwrap_or_default(), command, around, catalogue);
            }
            Node::Unread(unread) => generous::find_actions(unread, catalogue, actions),
            Node::Group(construct, children) => {
                // What it runs is not all that it does: `opsctl launch COMMAND`.
                if let Construct::Through(command) = construct
                    && loosens(command, catalogue)
                {
                    find_actions(command, catalogue, actions, complaints);
                }
                around.push(construct);
                if *construct == Construct::OneOf {
                    let before = actions.len();
                    for child in children {
                        let mut own = Vec::new();
                        actions_of(std::slice::from_ref(child), (catalogue, around), &mut own, complaints);
                        if matches!(child, Node::Group(Construct::Branch(INHERITED), _)) {
                            forget_unnamed(actions.get(before..).unwrap_or_default(), &mut own);
                        }
                        add_missing(actions, before, own);
                    }
                } else {
                    actions_of(children, (catalogue, around), actions, complaints);
                }
                around.pop();
            }
        }
    }
}

/// Removes the actions that only the environment asks for, where the script asks for one of the same kind on the same target,
/// or on any if the environment names the target.
fn forget_unnamed(named: &[Action], own: &mut Vec<Action>) {
    let is_same = |one: &Action, other: &Action| {
        let is_like = (one.kind, one.repeats) == (other.kind, other.repeats);
        // Without its program, a command is taken for one of `systemctl`.
        is_like && (other.target == Target::Unknown || one.target.name() == other.target.name())
    };
    own.retain(|action| !named.iter().any(|known| is_same(known, action)));
}

/// Adds actions of which only those of one way are carried out: each as often as on the way with the most of them.
fn add_missing(actions: &mut Vec<Action>, from: usize, more: Vec<Action>) {
    let mut left: Vec<Action> = actions.get(from..).unwrap_or_default().to_vec();
    for action in more {
        match left.iter().position(|known| *known == action) {
            Some(at) => drop(left.swap_remove(at)),
            None => actions.push(action),
        }
    }
}

/// Whether a wrapper itself changes the limits of the agent.
fn loosens(command: &Command, catalogue: Catalogue) -> bool {
    let does = catalogue.usage(&command.texts(), &|_| false).and_then(|usage| usage.form.does);
    does.is_some_and(|does| does.verb == Verb::Loosen)
}

/// The result of reading one simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandActions {
    /// It carries out these actions.
    Acts(Vec<Action>),
    /// An option with which it changes nothing: `--help`, `--dry-run`.
    Quiet,
    /// It carries out no known action.
    NoAction,
}

/// The result of reading one simple command.
pub fn command_actions(command: &Command, catalogue: Catalogue) -> CommandActions {
    let line = Line::new(command, catalogue);
    let Some(usage) = line.usage() else { return CommandActions::NoAction };
    match Call::of(&line, &usage) {
        Err(Idle::Quiet) => CommandActions::Quiet,
        Err(Idle::NoAction) => CommandActions::NoAction,
        Ok(call) => {
            let mut actions = Vec::new();
            targets::act_on(&call, &mut actions);
            if actions.is_empty() { CommandActions::NoAction } else { CommandActions::Acts(actions) }
        }
    }
}

/// Whether `hosts.yaml` may describe a part of a script: a program that is not built in, or a request to an address.
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
    // `~/bin/tool` is `tool` in any folder.
    let named = program.unknown.is_none() || program.suffix().contains('/');
    let line = Line::new(command, catalogue);
    let is_described = targets::find_actions(&line, actions);
    let has_unknown = command.words.iter().skip(1).any(|word| word.unknown.is_some());
    if let Some(usage) = has_unknown.then(|| line.usage()).flatten() {
        let mut verb = usage.verb.iter().filter_map(|index| command.words.get(*index));
        if let Some(verb) = verb.find(|word| word.unknown.is_some()) {
            complaints.push(Complaint::Verb { program: program.text.clone(), verb: verb.text.clone() });
        }
    }
    if actions.len() > before {
        return;
    }
    if !is_described && !named {
        generous::dynamic_program(command, catalogue, actions);
        if actions.len() == before {
            actions.extend(suspicion::find_actions(command, catalogue));
        }
        if actions.len() > before {
            complaints.push(Complaint::Program(program.text.clone()));
        }
    } else if suspicion::is_open(&line) {
        actions.extend(suspicion::find_actions(command, catalogue));
        if actions.len() > before {
            complaints.push(Complaint::Runs(program.text.clone()));
        }
    }
}
