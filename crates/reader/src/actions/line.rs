//! Command lines, as the modules of actions use them.

use std::sync::Arc;

use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{At, Item, Name, Scanner};
use crate::catalogue::program::Options;
use crate::catalogue::{Catalogue, base_name};
use crate::shell::{Command, Listing, Word};
use crate::terms::action::{Action, ActionKind, Family, Target, Verb};
use crate::terms::reference::Reference;

/// A simple command: its words as plain text, and what the reader knows of them.
pub(super) struct Line<'a> {
    pub command: &'a Command,
    pub catalogue: Catalogue,
    texts: Vec<&'a str>,
}

/// The options, and the other words, of a part of a command line.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    pub options: Vec<(Name<'a>, Option<Word>)>,
    /// Indexes of the words.
    pub positionals: Vec<usize>,
}

impl Arguments<'_> {
    /// The first of these options that is given, except as `--x=false` or `--x=none`.
    pub fn first_of(&self, written: &[&'static str]) -> Option<&'static str> {
        self.options.iter().find_map(|(name, value)| {
            let off = |value: &Word| matches!(value.text.as_str(), "false" | "none");
            let is_on = !value.as_ref().is_some_and(off);
            written.iter().copied().find(|one| is_on && name.is(one))
        })
    }

    /// Whether one of the options is given, except as `--x=false` or `--x=none`.
    pub fn has(&self, written: &[&'static str]) -> bool {
        self.first_of(written).is_some()
    }

    /// Whether one of the options is certainly given and not revoked by a later `--x=false` or `--x=none`.
    pub fn has_surely(&self, written: &[&'static str]) -> bool {
        let off = |value: &Word| value.known().is_none_or(|known| OFF.contains(&known));
        written.iter().any(|one| {
            let last = self.options.iter().rev().find(|(name, _)| name.is(one));
            last.is_some_and(|(_, value)| !value.as_ref().is_some_and(off))
        })
    }

    /// The last given value of an option.
    pub fn value(&self, written: &[&str]) -> Option<&Word> {
        self.options
            .iter()
            .rev()
            .filter(|(name, _)| name.is_any(written))
            .find_map(|(_, value)| value.as_ref())
    }

    /// The values of an option that may be given more than once.
    pub fn values(&self, written: &[&str]) -> impl Iterator<Item = &Word> {
        self.options.iter().filter(|(name, _)| name.is_any(written)).filter_map(|(_, value)| value.as_ref())
    }
}

/// Values that turn an option off.
const OFF: [&str; 8] = ["false", "False", "FALSE", "none", "0", "f", "F", "no"];

/// The target that a word names.
pub(super) enum Named<'a> {
    /// One target.
    One(&'a str),
    /// The targets whose names contain a text.
    Matching(&'a str),
    /// All targets that a command lists.
    Everything(&'a str),
    /// It cannot be determined.
    Unknown,
}

impl<'a> Line<'a> {
    pub fn new(command: &'a Command, catalogue: Catalogue) -> Self {
        Self { command, catalogue, texts: command.texts() }
    }

    /// The program's name without its folder.
    pub fn program(&self) -> &'a str {
        self.texts.first().map_or("", |path| base_name(path))
    }

    pub fn texts(&self) -> &[&'a str] {
        &self.texts
    }

    pub fn word(&self, index: usize) -> Option<&'a Word> {
        self.command.words.get(index)
    }

    pub fn text(&self, index: usize) -> &'a str {
        self.texts.get(index).copied().unwrap_or_default()
    }

    /// The form of its program that the line uses; unknown words count as options.
    pub fn usage(&self) -> Option<Usage> {
        let unknown =
            |index| self.word(index).is_some_and(|word| word.prefix().is_empty() && word.unknown.is_some());
        self.catalogue.usage(&self.texts, &unknown)
    }

    fn value(&self, at: At) -> Option<Word> {
        self.word(at.index).map(|word| word.tail(at.offset))
    }

    /// Parses the options and words from one word up to another.
    pub fn arguments(&'a self, from: usize, upto: usize, value: Options) -> Arguments<'a> {
        let mut found = Arguments::default();
        for item in Scanner::new(self.texts.get(..upto).unwrap_or(&self.texts), from, value.0) {
            match item {
                Item::Option(name, at) => found.options.push((name, at.and_then(|at| self.value(at)))),
                Item::Positional(index) => found.positionals.push(index),
                Item::Dashes(_) => {}
            }
        }
        found
    }

    /// An action of this command, on the host of the command.
    pub fn action(
        &self,
        kind: ActionKind,
        verb: Verb,
        family: Family,
        target: Target,
        evidence: String,
    ) -> Action {
        Action {
            kind,
            verb,
            family,
            target,
            reference: Reference::default(),
            within: None,
            host: self.command.host().map(str::to_owned),
            via: Arc::clone(&self.command.via).to_vec(),
            repeats: self.command.repeats,
            evidence,
            title: None,
        }
    }
}

/// What a word names.
pub(super) fn named(word: &Word) -> Named<'_> {
    match &word.unknown {
        None => Named::One(&word.text),
        Some(unknown) => match &unknown.listing {
            Some(Listing::Everything(command)) => Named::Everything(command),
            Some(Listing::Named(name)) if word.prefix().is_empty() => Named::One(name),
            Some(Listing::Matching(part)) if word.prefix().is_empty() => Named::Matching(part),
            _ => Named::Unknown,
        },
    }
}
