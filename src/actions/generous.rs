//! The reading of last resort: what cannot be parsed may still be suspected. It raises actions, each
//! beside a complaint, and never clears one.

use std::sync::Arc;

use crate::model::action::{Action, Target};
use crate::shell::{Command, Unread, Word};

use super::line::Line;

/// Words of a suspected command that are looked at.
const MOST_WORDS: usize = 24;
/// Actions raised from one text; more would say nothing new.
const MOST_ACTIONS: usize = 64;

/// Programs that are tried for a name that is not known, with words that betray them in it.
const GUESSES: &[(&str, &str)] = &[
    ("compose", "docker-compose"),
    ("docker", "docker"),
    ("podman", "podman"),
    ("nerdctl", "nerdctl"),
    ("systemctl", "systemctl"),
    ("kubectl", "kubectl"),
    ("helm", "helm"),
    ("ansible", "ansible-playbook"),
    ("apprise", "apprise"),
    ("sendmail", "sendmail"),
    ("msmtp", "msmtp"),
    ("mutt", "mutt"),
    ("mail", "mail"),
];
/// Programs that are tried when the name betrays nothing.
const BLIND_GUESSES: &[&str] = &["docker", "systemctl", "kubectl", "helm", "gh"];

/// True for what can be a name; anything else is a scrap of the text.
fn is_plain(target: &Target) -> bool {
    let (Target::Container(name)
    | Target::ComposeService(name)
    | Target::ComposeProject(name)
    | Target::Unit(name)
    | Target::Workload(name)
    | Target::Release(name)) = target
    else {
        return true;
    };
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(inside)
}

/// Looks for words that would act at any place of a text that could not be read.
pub(super) fn find_actions(unread: &Unread, actions: &mut Vec<Action>) {
    let before = actions.len();
    suspect(unread, actions);
    for action in actions.iter_mut().skip(before) {
        // The folder where the text starts says little of where one of its words runs.
        if !is_plain(&action.target) || matches!(action.target, Target::ComposeProject(_)) {
            action.target = Target::Unknown;
        }
    }
    if !unread.maker {
        return;
    }
    // The words of a program that makes a script say what is done, but hardly to what.
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

fn suspect(unread: &Unread, actions: &mut Vec<Action>) {
    let before = actions.len();
    let ends_command = |c: char| matches!(c, ';' | '|' | '&' | '\n' | '(' | ')' | '`');
    for part in unread.text.split(ends_command) {
        if part.trim_start().starts_with('#') {
            continue;
        }
        let between = |c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '{' | '}' | '<' | '>' | '\\')
        };
        let words: Vec<&str> = part.split(between).filter(|word| !word.is_empty()).collect();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if !is_program(word) {
                at += 1;
                continue;
            }
            let upto = (at + MOST_WORDS).min(words.len());
            let command = Command {
                words: words
                    .get(at..upto)
                    .unwrap_or_default()
                    .iter()
                    .map(|word| guessed_word(word))
                    .collect(),
                hosts: Arc::clone(&unread.hosts),
                via: Arc::clone(&unread.via),
                cwd: unread.cwd.clone(),
                repeats: unread.repeats,
                ..Command::default()
            };
            let found = actions.len();
            super::family(&Line::new(&command), actions);
            if actions.len() == found {
                // What it acts on may be put in later.
                let mut command = command.clone();
                command.words.push(Word::unknown("$…"));
                super::family(&Line::new(&command), actions);
            }
            if actions.len() - before >= MOST_ACTIONS {
                actions.truncate(before + MOST_ACTIONS);
                return;
            }
            // A suspected command ends where the part ends; without one the next word may start it.
            at = if actions.len() > found { upto } else { at + 1 };
        }
    }
}

/// A word of text that could not be read: a dollar sign means that it is not known.
fn guessed_word(text: &str) -> Word {
    if text.contains('$') { Word::unknown(text) } else { Word::literal(text) }
}

/// True for names that some family knows.
fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    matches!(
        name,
        "docker"
            | "podman"
            | "nerdctl"
            | "docker-compose"
            | "podman-compose"
            | "ansible-playbook"
            | "helm"
            | "systemctl"
            | "service"
            | "rc-service"
            | "kubectl"
            | "oc"
            | "gh"
            | "tea"
            | "glab"
            | "apprise"
            | "mailx"
            | "s-nail"
            | "mutt"
            | "neomutt"
            | "sendmail"
            | "msmtp"
            | "swaks"
    )
}

/// A command whose program is not known: the rest of its words may tell.
pub(super) fn dynamic_program(command: &Command, actions: &mut Vec<Action>) {
    let Some(program) = command.words.first() else { return };
    let before = actions.len();
    let mut tried = |words: Vec<Word>| {
        let guess = Command { words, ..command.clone() };
        super::family(&Line::new(&guess), actions);
        actions.len() > before
    };
    // `$SUDO docker restart x`.
    let second = command.words.iter().take(MOST_WORDS).skip(1).position(|word| is_program(&word.text));
    if let Some(at) = second
        && tried(command.words.get(at + 1..).unwrap_or_default().to_vec())
    {
        return;
    }
    let rest = command.words.get(1..).unwrap_or_default();
    // What is done must be told, at least.
    if rest.iter().find(|word| !word.text.starts_with('-')).is_none_or(|word| word.known().is_none()) {
        return;
    }
    let name = program.text.to_ascii_lowercase();
    let betrayed = GUESSES.iter().find(|(part, _)| name.contains(part)).map(|(_, program)| *program);
    let guesses: &[&str] = betrayed.as_ref().map_or(BLIND_GUESSES, std::slice::from_ref);
    for guess in guesses {
        let words = std::iter::once(Word::literal(*guess)).chain(rest.iter().cloned()).collect();
        if tried(words) {
            return;
        }
    }
}
