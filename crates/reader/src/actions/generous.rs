//! The generous reading of text that cannot be parsed: words that could be actions count as actions. It adds actions,
//! each with a complaint, and never removes one.

use crate::shell::{Command, Suspicion, Unread, Word};
use crate::terms::action::{Action, Target};

use super::line::Line;
use super::targets;
use crate::catalogue::Catalogue;
use crate::catalogue::program::{Guess, Program};

/// The maximum number of words of a suspected command that are read.
const MOST_WORDS: usize = 24;
/// The maximum number of actions that are added for one text.
const MOST_ACTIONS: usize = 64;

/// The minimum length of a program's name, in characters, to search for it in the names of variables.
const SHORTEST_HINT: usize = 4;

/// Whether a word can be a name; otherwise, it is a fragment of the text.
fn is_plain(target: &Target) -> bool {
    let name = match target {
        Target::Container(name)
        | Target::ComposeService(name)
        | Target::ComposeProject(name)
        | Target::Unit(name)
        | Target::Release(name) => name,
        Target::Workload(workload) => &workload.name,
        Target::Guest(guest) => &guest.name,
        _ => return true,
    };
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(inside)
}

/// Searches a text that could not be parsed for words that could be actions.
pub(super) fn find_actions(unread: &Unread, catalogue: Catalogue, actions: &mut Vec<Action>) {
    let before = actions.len();
    suspect(unread, catalogue, actions);
    for action in actions.iter_mut().skip(before) {
        // The working directory of the text is not necessarily that of the word's command.
        if !is_plain(&action.target) || matches!(action.target, Target::ComposeProject(_)) {
            action.target = Target::Unknown;
        }
    }
    if !unread.maker {
        return;
    }
    // The words of a program that generates a script contain the action, but usually not its target.
    let suspected = actions.split_off(before);
    for mut action in suspected {
        let same = |other: &Action| {
            (other.kind, other.verb, other.family) == (action.kind, action.verb, action.family)
        };
        if actions.get(before..).unwrap_or_default().iter().any(same) {
            continue;
        }
        if action.target != Target::Nothing {
            action.target = Target::Unknown;
        }
        actions.push(action);
    }
}

fn suspect(unread: &Unread, catalogue: Catalogue, actions: &mut Vec<Action>) {
    let before = actions.len();
    unread.suspect(
        |word| acts(catalogue, word),
        |mut command| {
            let found = actions.len();
            targets::find_actions(&Line::new(&command, catalogue), actions);
            if actions.len() == found {
                // Its target may be inserted later.
                command.words.push(Word::unknown("$…"));
                targets::find_actions(&Line::new(&command, catalogue), actions);
            }
            if actions.len() - before >= MOST_ACTIONS {
                actions.truncate(before + MOST_ACTIONS);
                Suspicion::Enough
            } else if actions.len() > found {
                Suspicion::Confirmed
            } else {
                Suspicion::Dropped
            }
        },
    );
}

/// Whether this is the name of a program that carries out an action in some form.
pub(super) fn acts(catalogue: Catalogue, word: &str) -> bool {
    catalogue.find(word).is_some_and(|program| program.acts)
}

/// The actions of a command with an unknown program, from the rest of its words.
pub(super) fn dynamic_program(command: &Command, catalogue: Catalogue, actions: &mut Vec<Action>) {
    let Some(program) = command.words.first() else { return };
    let before = actions.len();
    let mut tried = |words: Vec<Word>| {
        let guess = Command { words, ..command.clone() };
        targets::find_actions(&Line::new(&guess, catalogue), actions);
        actions.len() > before
    };
    // `$SUDO docker restart x`.
    let words = command.words.iter().enumerate().take(MOST_WORDS).skip(1);
    for (at, _) in words.filter(|(_, word)| acts(catalogue, &word.text)) {
        if tried(command.words.get(at..).unwrap_or_default().to_vec()) {
            return;
        }
    }
    let rest = command.words.get(1..).unwrap_or_default();
    // At least the operation must be known.
    if rest.iter().find(|word| !word.text.starts_with('-')).is_none_or(|word| word.known().is_none()) {
        return;
    }
    for guess in guesses(catalogue, &program.text.to_ascii_lowercase()) {
        let name = guess.names.first().copied().unwrap_or_default();
        let words = std::iter::once(Word::literal(name)).chain(rest.iter().cloned()).collect();
        if tried(words) {
            return;
        }
    }
}

/// The programs that a word may name: the one whose name it contains, otherwise those that are always tried.
fn guesses(catalogue: Catalogue, word: &str) -> Vec<&'static Program> {
    // `$RESTART_SVC` may be `restart-svc`.
    let word = word.replace('_', "-");
    let named = catalogue.acting().filter(|program| program.guess != Guess::Never).filter_map(|program| {
        let names = program.names.iter().chain(program.hints.iter());
        let held =
            names.filter(|name| name.len() >= SHORTEST_HINT && word.contains(&name.to_ascii_lowercase()));
        held.map(|name| name.len()).max().map(|length| (length, program))
    });
    match named.max_by_key(|(length, _)| *length) {
        Some((_, program)) => vec![program],
        None => catalogue.acting().filter(|program| program.guess == Guess::Always).collect(),
    }
}
