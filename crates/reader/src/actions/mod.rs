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

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use crate::catalogue::Catalogue;
use crate::catalogue::program::{How, TargetKind};
use crate::shell::disk::Disk;
use crate::shell::{
    self, Command, Complaint, Construct, EACH, Found, INHERITED, NOT_TAKEN, Node, Script, Word,
};
use crate::terms::action::{Action, ActionKind, Family, Target, Verb};
use crate::terms::class::Class;
use crate::terms::reference::{Form, Reference};

use call::{Call, Idle};
use line::Line;
use platforms::http_api;
use request::Request;
pub use within::place_of;

/// The number of actions beyond which each one is listed once.
const MOST_ACTIONS: usize = 1000;

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
    let mut judged = Judged { catalogue, known: Found::default(), around: Vec::new(), contexts: Vec::new() };
    judged.add_actions(&script.nodes, &mut actions, &mut complaints);
    put_in_place(&script, &mut actions);
    if actions.len() > MOST_ACTIONS {
        complaints.push(Complaint::ManyActions);
        actions = bounded(actions);
    }
    message::doubt(text, &script, &mut actions);
    let mut stated = BTreeSet::new();
    complaints.retain(|complaint| stated.insert(complaint.to_string()));
    CommandReading { actions, complaints, script }
}

/// The actions of the commands that were judged so far.
struct Judged<'a> {
    catalogue: Catalogue,
    known: Found<'a, Vec<Action>>,
    /// The constructs around the nodes in progress.
    around: Vec<&'a Construct>,
    /// The contexts that commands on this machine have chosen.
    contexts: Vec<(Family, String)>,
}

impl<'a> Judged<'a> {
    /// Adds the actions of these nodes.
    fn add_actions(&mut self, nodes: &'a [Node], actions: &mut Vec<Action>, complaints: &mut Vec<Complaint>) {
        for node in nodes {
            match node {
                Node::Command(command) => {
                    let before = actions.len();
                    self.judge(command, actions, complaints);
                    let own = actions.get_mut(before..).unwrap_or_default();
                    within::place(own, command, &self.around, self.catalogue);
                    self.choose_context(command, own);
                    if self.is_each_once(command) {
                        let all = own.iter_mut().filter(|action| action.reference.form == Form::Everything);
                        all.for_each(|action| action.repeats = false);
                    }
                }
                Node::Unread(unread) => generous::find_actions(unread, self.catalogue, actions),
                Node::Group(Construct::Branch(NOT_TAKEN), _) => {}
                Node::Group(construct, children) => {
                    // What it runs is not all that it does: `opsctl launch COMMAND`, `docker run -d --name NAME IMAGE COMMAND`.
                    if let Construct::Through(command) = construct
                        && acts_itself(command, self.catalogue)
                    {
                        self.judge(command, actions, complaints);
                    }
                    self.around.push(construct);
                    if *construct == Construct::OneOf {
                        let before = actions.len();
                        for child in children {
                            let mut own = Vec::new();
                            self.add_actions(std::slice::from_ref(child), &mut own, complaints);
                            if matches!(child, Node::Group(Construct::Branch(INHERITED), _)) {
                                forget_unnamed(actions.get(before..).unwrap_or_default(), &mut own);
                            }
                            add_missing(actions, before, own);
                        }
                    } else {
                        self.add_actions(children, actions, complaints);
                    }
                    self.around.pop();
                }
            }
        }
    }

    /// Whether a command acts on each part of a list of everything, and repeats for no other reason: in a loop over it, or behind
    /// `xargs`.
    fn is_each_once(&self, command: &Command) -> bool {
        let mut rounds = self.around.iter().filter_map(|construct| match construct {
            // Rounds of a known number stand in the tree one by one.
            Construct::Loop(rounds) => {
                Some(rounds).filter(|rounds| !rounds.starts_with(|c: char| c.is_ascii_digit()))
            }
            _ => None,
        });
        let is_each = match (rounds.next(), rounds.next()) {
            (Some(rounds), None) => rounds.strip_prefix(EACH).is_some_and(|variable| {
                command.words.iter().any(|word| word.text.strip_prefix('$') == Some(variable))
            }),
            (None, _) => {
                matches!(self.around.last(), Some(Construct::Through(wrapper)) if self.runs_each(wrapper))
            }
            _ => false,
        };
        let is_plain = |construct: &&Construct| match construct {
            Construct::Call(_) | Construct::Trap(_) | Construct::Embedded(_) => false,
            Construct::Through(wrapper) => {
                let usage = self.catalogue.usage(&wrapper.texts(), &|_| false);
                !wrapper.repeats
                    && usage.is_some_and(|usage| usage.form.runs.is_some_and(|runs| !runs.repeats))
            }
            _ => true,
        };
        is_each && self.around.iter().all(is_plain)
    }

    /// Whether a wrapper runs a command for each item of its input, and names no items itself.
    fn runs_each(&self, wrapper: &Command) -> bool {
        let usage = self.catalogue.usage(&wrapper.texts(), &|_| false);
        let how = usage.and_then(|usage| usage.form.runs).map(|runs| runs.how);
        matches!(how, Some(How::Xargs | How::Parallel))
            && wrapper.words.iter().all(|word| word.unknown.is_none())
    }

    /// States the context of the actions of a command where one before it has chosen it, and keeps what this one chooses.
    fn choose_context(&mut self, command: &Command, own: &mut [Action]) {
        if !command.hosts.is_empty() {
            return;
        }
        for action in own.iter_mut().filter(|action| action.reference.context.is_none()) {
            let is_of = |family: Family| {
                family == action.family || (family, action.family) == (Family::Container, Family::Compose)
            };
            let chosen = self.contexts.iter().rfind(|(family, _)| is_of(*family));
            action.reference.context = chosen.map(|(_, name)| name.clone());
        }
        self.contexts.extend(platforms::engine::chosen(&Line::new(command, self.catalogue)));
    }

    /// Adds the actions of a command. A loop has the same command many times, which causes the same complaints.
    fn judge(&mut self, command: &'a Command, actions: &mut Vec<Action>, complaints: &mut Vec<Complaint>) {
        if let Some(found) = self.known.get(command) {
            actions.extend_from_slice(found);
            return;
        }
        let mut found = Vec::new();
        find_actions(command, self.catalogue, &mut found, complaints);
        actions.extend_from_slice(&found);
        self.known.add(command, found);
    }
}

/// Makes redeployments of the starts of compose projects, where the script fetches or builds other versions.
fn put_in_place(script: &Script, actions: &mut [Action]) {
    let starts = |action: &Action| {
        (action.family, action.verb) == (Family::Compose, Verb::Start) && action.evidence.contains(" up")
    };
    let fetches = |command: &Command| {
        let usage = script.catalogue.usage(&command.texts(), &|_| false);
        usage.is_some_and(|usage| usage.form.fetches)
            && command_actions(command, script.catalogue) != CommandActions::Quiet
    };
    if actions.iter().any(starts) && script.commands().into_iter().any(fetches) {
        for action in actions.iter_mut().filter(|action| starts(action)) {
            action.verb = Verb::Deploy;
            action.kind = ActionKind::of(action.verb);
        }
    }
}

/// Each action once, with any number of repetitions. Beyond [`MOST_ACTIONS`], those on known targets stand for any target.
fn bounded(actions: Vec<Action>) -> Vec<Action> {
    let mut found: Vec<Action> = Vec::new();
    let mut known = BTreeMap::new();
    for mut action in actions {
        if found.len() >= MOST_ACTIONS && !matches!(action.target, Target::Nothing | Target::Recipients(_)) {
            (action.target, action.reference, action.within) = (Target::Unknown, Reference::default(), None);
            "…".clone_into(&mut action.evidence);
        }
        action.repeats = true;
        let same: &mut Vec<usize> = known.entry(action.evidence.clone()).or_default();
        if !same.iter().any(|at| found.get(*at).is_some_and(|other| *other == action)) {
            same.push(found.len());
            found.push(action);
        }
    }
    found
}

/// Removes the actions that only the environment asks for, where the script asks for one of the same kind on the same target and
/// host, or on any target if the environment names it.
fn forget_unnamed(named: &[Action], own: &mut Vec<Action>) {
    let is_same = |one: &Action, other: &Action| {
        let is_like = (one.kind, one.repeats, &one.host) == (other.kind, other.repeats, &other.host);
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

/// Whether a wrapper carries out an action of its own.
fn acts_itself(command: &Command, catalogue: Catalogue) -> bool {
    catalogue.usage(&command.texts(), &|_| false).is_some_and(|usage| usage.form.does.is_some())
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

/// The call of `systemctl` that does to units what a command of another program does to them: `systemctl stop web` for
/// `service web stop` and for a call of `StopUnit` on the bus.
pub fn as_systemctl(command: &Command, catalogue: Catalogue) -> Option<Command> {
    let line = Line::new(command, catalogue);
    let usage = line.usage().filter(|usage| usage.program.key != "systemctl")?;
    usage.form.does.filter(|does| does.to.kind == TargetKind::Unit)?;
    let call = Call::of(&line, &usage).ok()?;
    let verb = [Word::literal("systemctl"), Word::literal(call.verb().as_str()), Word::literal("--")];
    let mut units = call.targets();
    // `busctl` takes a name that begins with a dash for a word: `-.slice`.
    units.extend(command.words.iter().skip(usage.rest).filter(|word| word.text.starts_with("-.")).cloned());
    let units = units.into_iter().map(|word| match word.known().map(targets::bus_text) {
        Some(name) => Word::literal(name),
        None => word,
    });
    Some(Command { words: verb.into_iter().chain(units).collect(), ..command.clone() })
}

/// The class of what the HTTP requests of a command change.
pub fn request_class(command: &Command, catalogue: Catalogue) -> Option<Class> {
    let line = Line::new(command, catalogue);
    let usage = line.usage()?;
    usage.form.does.filter(|does| does.to.kind == TargetKind::Requests)?;
    http_api::class(&Request::of(&Call::of(&line, &usage).ok()?))
}

/// Whether a command sends a request that nothing describes to an interface that is described.
pub fn is_undescribed_request(command: &Command, catalogue: Catalogue) -> bool {
    let line = Line::new(command, catalogue);
    let usage =
        line.usage().filter(|usage| usage.form.does.is_some_and(|does| does.to.kind == TargetKind::Requests));
    let call = usage.as_ref().and_then(|usage| Call::of(&line, usage).ok());
    call.is_some_and(|call| http_api::is_closed(&Request::of(&call)))
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
    if actions.len() == before {
        actions.extend(http_api::written(&line));
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
    } else if line.usage().is_none()
        && let Some(message) = message::undescribed(&line)
    {
        actions.push(message);
    } else if suspicion::is_open(&line) {
        actions.extend(suspicion::find_actions(command, catalogue));
        if actions.len() > before {
            complaints.push(Complaint::Runs(program.text.clone()));
        }
    }
}
