//! Compares what ran with the reading. Written independently of the reader: the words are already expanded, so that a small
//! table decides what acts.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use opsctl_policy::effects::{Scratch, strongest};
use opsctl_policy::files::guarded::Locations;
use opsctl_policy::model::records::event::ToolCall;
use opsctl_policy::model::rights::header::PolicyHeader;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_policy::screen::{Screen, Screened};
use opsctl_reader::shell::disk::Disk;
use opsctl_reader::shell::{self, Construct, INHERITED, Node, Word};
use opsctl_reader::terms::action::{ActionKind, Target};
use opsctl_reader::terms::effect::Effect;

use crate::action_summary::ActionSummary;
use crate::map_disk::MapDisk;
use crate::world::Call;

/// The service of actions on the compose project of the working directory.
const PROJECT: &str = "project";

/// Names that are verbs, too. Behind an unknown word, `restart` is the verb: `docker $OPTIONS restart web`.
const VERBS: [&str; 5] = ["restart", "stop", "start", "down", "ps"];

/// What the guard knows of a command.
pub struct Reading {
    pub screened: Screened,
    pub effect: Effect,
    /// True where every part of the text was read.
    pub is_complete: bool,
}

impl Reading {
    pub fn of(command: &str, here: &Path, files: &BTreeMap<String, String>) -> Self {
        let tool = ToolCall { command: Some(command.to_owned()), ..ToolCall::default() };
        let disk = || Some(MapDisk::of(files, &[]) as Rc<dyn Disk>);
        let screen = Screen {
            header: &PolicyHeader::default(),
            tier: Some(Tier::Observe),
            mode: None,
            dry_run: false,
            machine: &UnknownMachine,
            disk: &disk,
            locations: &Locations::default,
            // The working directory is below /tmp, but its scripts are not the session's own.
            scratch: &|| Scratch(vec!["/dev/shm/**".to_owned()]),
        };
        let screened = screen.call(&tool, Some(here), true);
        let mut is_complete = screened.reading.complaints.is_empty();
        screened.reading.script.visit(|node| is_complete &= !matches!(node, Node::Unread(_)));
        let effect = strongest(&screened.effects);
        Self { screened, effect, is_complete }
    }

    /// Whether it is read as one that acts.
    pub fn acts(&self) -> bool {
        !self.screened.reading.actions.is_empty() || self.effect == Effect::Acts
    }

    /// Whether tier 1 allows it.
    pub fn is_allowed(&self) -> bool {
        // An action is denied where its budget is looked up, after the screen.
        self.screened.objections.is_empty() && self.screened.reading.actions.is_empty()
    }

    /// The tree, complaints and actions, for a message.
    pub fn shown(&self) -> String {
        let reading = &self.screened.reading;
        let mut lines = reading.script.lines();
        lines.extend(reading.complaints.iter().map(|complaint| format!("complaint: {complaint}")));
        lines.extend(reading.actions.iter().map(|action| format!("action: {}", ActionSummary::of(action))));
        lines.push(format!("effect: {}", self.effect.as_str()));
        lines.join("\n")
    }
}

/// A way in which a reading is less than what ran.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// It acted, and tier 1 allows it.
    Allowed,
    /// It acted more often on a service than the reading counts.
    Fewer,
    /// It acted more often on a service than the reading counts, but a complaint is shown.
    FewerWithComplaint,
    /// A call is not in the reading, which has no complaint.
    Missing,
}

impl Failure {
    /// Whether the guard would do something wrong.
    pub fn is_unsound(&self) -> bool {
        matches!(self, Self::Allowed | Self::Fewer)
    }

    /// Whether the reading is less than what ran, without a complaint.
    pub fn is_failure(&self) -> bool {
        *self != Self::FewerWithComplaint
    }
}

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Does {
    Nothing,
    /// It changes something that has no budget.
    Changes,
    /// Restarts these services.
    Restarts(Vec<String>),
}

fn does(call: &Call) -> Does {
    let words: Vec<&str> = call.iter().map(String::as_str).collect();
    let names = |names: &[&str]| {
        let is_plain =
            names.iter().all(|name| !name.is_empty() && !name.starts_with('-') && !name.contains('/'));
        if names.is_empty() || !is_plain {
            return Does::Nothing;
        }
        Does::Restarts(names.iter().map(|name| (*name).to_owned()).collect())
    };
    match words.as_slice() {
        ["docker", "restart" | "stop" | "start" | "kill" | "pause", rest @ ..]
        | ["systemctl", "restart" | "stop" | "start", rest @ ..] => names(rest),
        ["docker", "compose", "down" | "up" | "restart" | "stop", rest @ ..] => {
            let rest: Vec<&str> =
                rest.iter().copied().filter(|word| !["-v", "-d", "-t"].contains(word)).collect();
            if rest.is_empty() { names(&[PROJECT]) } else { names(&rest) }
        }
        ["docker", "system", "prune", "-af", ..] | ["reboot"] => Does::Changes,
        ["rm", "-rf", name] | ["kubectl", "delete", "pod", name]
            if !name.is_empty() && !name.starts_with('-') =>
        {
            Does::Changes
        }
        _ => Does::Nothing,
    }
}

/// Whether one of the calls acts.
pub fn acts(calls: &[Call]) -> bool {
    calls.iter().any(|call| does(call) != Does::Nothing)
}

/// How the reading is less than this run; the worst first.
pub fn failures(reading: &Reading, calls: &[Call]) -> Vec<Failure> {
    let mut found = Vec::new();
    if acts(calls) && (reading.is_allowed() || reading.effect == Effect::Reads) {
        found.push(Failure::Allowed);
    }
    if counts_fewer(reading, calls) {
        let failure = if reading.is_complete { Failure::Fewer } else { Failure::FewerWithComplaint };
        found.push(failure);
    }
    if reading.is_complete && !unmatched(reading, calls).is_empty() {
        found.push(Failure::Missing);
    }
    found
}

fn counts_fewer(reading: &Reading, calls: &[Call]) -> bool {
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    let mut inherited = Vec::new();
    add_inherited(&reading.screened.reading.script.nodes, false, &mut inherited);
    // With a value of the environment it counts as what the script itself asks for.
    let counts = |call: &&Call| !inherited.iter().any(|command| is_call(&command.words, call));
    for call in calls.iter().filter(counts) {
        if let Does::Restarts(names) = does(call) {
            for name in names.into_iter().filter(|name| !VERBS.contains(&name.as_str())) {
                *ran.entry(name).or_default() += 1;
            }
        }
    }
    let (mut counted, mut unresolved): (BTreeMap<String, usize>, usize) = Default::default();
    for action in &reading.screened.reading.actions {
        let weight = if action.repeats { usize::MAX / 1024 } else { 1 };
        match ActionSummary::of(action).service {
            _ if action.kind == ActionKind::Forbidden => return false,
            _ if action.kind != ActionKind::Restart => {}
            // How many services a word of unknown words names is not known, and it has no budget that it could exceed.
            None => unresolved += usize::MAX / 1024,
            // The log does not state the folder of a project.
            Some(_) if matches!(action.target, Target::ComposeProject(_)) => {
                *counted.entry(PROJECT.to_owned()).or_default() += weight;
            }
            Some(name) => *counted.entry(name).or_default() += weight,
        }
    }
    let missing: usize = ran
        .iter()
        .map(|(name, count)| count.saturating_sub(counted.get(name).copied().unwrap_or_default()))
        .sum();
    missing > unresolved
}

/// Adds the commands that are read with a value which only the environment gives.
fn add_inherited<'a>(nodes: &'a [Node], is_inside: bool, found: &mut Vec<&'a shell::Command>) {
    for node in nodes {
        match node {
            Node::Command(command) if is_inside => found.push(command),
            Node::Group(construct, children) => {
                let is_inherited = matches!(construct, Construct::Branch(INHERITED));
                add_inherited(children, is_inside || is_inherited, found);
            }
            _ => {}
        }
    }
}

/// The calls that no command of the reading is, where each command without `repeats` is one call.
pub fn unmatched<'a>(reading: &Reading, calls: &'a [Call]) -> Vec<&'a Call> {
    /// More calls than this are not compared.
    const MOST: usize = 300;
    let mut commands: Vec<&shell::Command> = Vec::new();
    reading.screened.reading.script.visit(|node| match node {
        Node::Command(command) | Node::Group(Construct::Through(command), _) => commands.push(command),
        _ => {}
    });
    let mut taken: Vec<Option<usize>> = vec![None; commands.len()];
    let mut missing = Vec::new();
    let calls = calls.get(..MOST).unwrap_or(calls);
    let fits: Vec<Vec<usize>> = calls
        .iter()
        .map(|call| (0..commands.len()).filter(|at| is_call(&commands[*at].words, call)).collect())
        .collect();
    for (index, call) in calls.iter().enumerate() {
        if fits[index].iter().any(|at| commands[*at].repeats) {
            continue;
        }
        if !place(index, &fits, &mut taken, &mut vec![false; commands.len()]) {
            missing.push(call);
        }
    }
    missing
}

/// Gives a call a command of its own, if need be by moving other calls.
fn place(call: usize, fits: &[Vec<usize>], taken: &mut [Option<usize>], tried: &mut [bool]) -> bool {
    for &at in &fits[call] {
        if std::mem::replace(&mut tried[at], true) {
            continue;
        }
        if taken[at].is_none_or(|other| place(other, fits, taken, tried)) {
            taken[at] = Some(call);
            return true;
        }
    }
    false
}

/// Whether words of the reading may be those of a call.
fn is_call(words: &[Word], call: &[String]) -> bool {
    let Some((program, rest)) = words.split_first() else { return call.is_empty() };
    match program.known() {
        Some(name) => {
            let is_program = call.first().is_some_and(|called| name.rsplit('/').next() == Some(called));
            is_program && may_be(rest, &call[1..])
        }
        None => may_be(words, call),
    }
}

/// An unknown word may be any number of words that begin and end as it does.
fn may_be(words: &[Word], call: &[String]) -> bool {
    let Some((word, rest)) = words.split_first() else { return call.is_empty() };
    if let Some(known) = word.known() {
        return call.split_first().is_some_and(|(first, call)| first == known && may_be(rest, call));
    }
    if word.prefix().is_empty() && word.suffix().is_empty() && may_be(rest, call) {
        return true;
    }
    // Bash trims line breaks at the end of what a substitution prints, here those before an unknown part that is empty.
    let begins =
        |first: &str| first.starts_with(word.prefix()) || first == word.prefix().trim_end_matches('\n');
    (1..=call.len()).any(|count| {
        begins(&call[0]) && call[count - 1].ends_with(word.suffix()) && may_be(rest, &call[count..])
    })
}
