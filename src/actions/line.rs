//! A command line as the families read it.

use std::sync::Arc;

use crate::model::action::{Action, ActionKind, Family, Target, Verb};
use crate::shell::options::{At, Item, Name, Scanner};
use crate::shell::{Command, Listing, Word};

/// A simple command with its words as plain text beside what is known of them.
pub(super) struct Line<'a> {
    pub command: &'a Command,
    texts: Vec<&'a str>,
}

/// Options and the words that are none, after the point where a family starts to read.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    pub options: Vec<(Name<'a>, Option<Word>)>,
    /// Indexes of the words.
    pub positionals: Vec<usize>,
}

impl Arguments<'_> {
    /// True when one of the options is given, `--x=false` aside.
    pub fn has(&self, written: &[&str]) -> bool {
        self.options.iter().any(|(name, value)| {
            name.is_any(written)
                && value.as_ref().is_none_or(|value| !matches!(value.text.as_str(), "false" | "none"))
        })
    }

    /// The value of an option, the last one given.
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

/// A subcommand that acts, its options that take a value, and those without which it does nothing.
pub(super) struct Subcommand {
    pub name: &'static str,
    pub verb: Verb,
    pub valued: &'static [&'static str],
    pub needs: &'static [&'static str],
}

/// What a word names.
pub(super) enum Named<'a> {
    /// This one thing.
    One(&'a str),
    /// Everything that this command lists.
    Everything(&'a str),
    /// It cannot be told.
    Unknown,
}

impl<'a> Line<'a> {
    pub fn new(command: &'a Command) -> Self {
        Self { command, texts: command.words.iter().map(|word| word.text.as_str()).collect() }
    }

    /// The program's name without its folder.
    pub fn program(&self) -> &'a str {
        let path = self.texts.first().copied().unwrap_or_default();
        path.rsplit('/').next().unwrap_or(path)
    }

    /// True for `/etc/init.d/NAME` and `/etc/rc.d/NAME`.
    pub fn is_init_script(&self) -> bool {
        self.texts.first().is_some_and(|path| path.contains("/init.d/") || path.contains("/rc.d/"))
    }

    pub fn word(&self, index: usize) -> Option<&'a Word> {
        self.command.words.get(index)
    }

    pub fn text(&self, index: usize) -> &'a str {
        self.texts.get(index).copied().unwrap_or_default()
    }

    fn value(&self, at: At) -> Option<Word> {
        self.word(at.index).map(|word| word.tail(at.offset))
    }

    /// Reads options up to the first word that is none, which is a subcommand; where it stands.
    /// Words that are not known at all are taken for options.
    pub fn subcommand(
        &'a self,
        from: usize,
        valued: &'a [&'a str],
        into: &mut Arguments<'a>,
    ) -> Option<usize> {
        let mut scanner = Scanner::new(&self.texts, from, valued);
        let mut unknown = None;
        let mut found = None;
        for item in &mut scanner {
            match item {
                Item::Option(name, at) => into.options.push((name, at.and_then(|at| self.value(at)))),
                Item::Positional(index)
                    if self
                        .word(index)
                        .is_some_and(|word| word.prefix().is_empty() && word.unknown.is_some()) =>
                {
                    unknown.get_or_insert(index);
                }
                Item::Positional(index) => {
                    found = Some(index);
                    break;
                }
                Item::Dashes(_) => {}
            }
        }
        found.or(unknown)
    }

    /// Reads everything from a word on.
    pub fn arguments(&'a self, from: usize, valued: &'a [&'a str], into: &mut Arguments<'a>) {
        for item in Scanner::new(&self.texts, from, valued) {
            match item {
                Item::Option(name, at) => into.options.push((name, at.and_then(|at| self.value(at)))),
                Item::Positional(index) => into.positionals.push(index),
                Item::Dashes(_) => {}
            }
        }
    }

    /// What the word at `index` names.
    pub fn named(&self, index: usize) -> Named<'a> {
        let Some(word) = self.word(index) else { return Named::Unknown };
        match &word.unknown {
            None => Named::One(&word.text),
            Some(unknown) => match &unknown.listing {
                Some(Listing::Everything(command)) => Named::Everything(command),
                Some(Listing::Named(name)) if word.prefix().is_empty() => Named::One(name),
                _ => Named::Unknown,
            },
        }
    }

    /// An action of this command, on the host where the command runs.
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
            host: self.command.host().map(str::to_owned),
            via: Arc::clone(&self.command.via).to_vec(),
            repeats: self.command.repeats,
            evidence,
            title: None,
        }
    }

    /// What is done to everything at once: nobody may.
    pub fn forbidden(&self, verb: Verb, family: Family, words: &str, what: &str) -> Action {
        self.action(ActionKind::Forbidden, verb, family, Target::Unknown, format!("{words} {what}"))
    }
}
