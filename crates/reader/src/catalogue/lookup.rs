//! Finds the form of a program that a command line uses.

use super::options::{Item, Scanner};
use super::program::{Form, HostWords, Options, Program, VerbForm};
use super::{Catalogue, base_name};
use crate::shell::glob;

/// The maximum number of words of a verb, plus a `*` before it.
pub const LONGEST_VERB: usize = 6;

/// A command line, parsed up to the end of its verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The program: compose for `docker compose up`.
    pub program: &'static Program,
    /// The form of the program.
    pub form: &'static Form,
    /// The outer program and the index at which its options end: docker for `docker compose up`.
    pub before: Option<(&'static Program, usize)>,
    /// Index of the word after the program, or after the verb that selects it.
    pub start: usize,
    /// Indexes of the words of the verb, including `compose`.
    pub verb: Vec<usize>,
    /// Indexes of the words that `*` in the verb matches.
    pub starred: Vec<usize>,
    /// Index of the word after the verb.
    pub rest: usize,
}

impl Usage {
    /// The options after the verb that take a value.
    pub fn value(&self) -> Options {
        self.form.valued
    }

    /// The host that options before the verb, or before the first word, name, as written; the last one wins.
    pub fn host<'t>(&self, texts: &[&'t str]) -> Option<&'t str> {
        let outer = self.before.map(|(program, end)| (program, 1, end));
        let has_verb = self.rest > self.start;
        let end = if has_verb { self.rest } else { texts.len() };
        let mut host = None;
        for (program, from, end) in outer.into_iter().chain([(self.program, self.start, end)]) {
            let words = texts.get(..end).unwrap_or_default();
            for item in Scanner::new(words, from, program.value.as_deref().unwrap_or_default()) {
                match item {
                    Item::Option(name, Some(at)) if name.is_any(&program.host) => {
                        host = texts.get(at.index).and_then(|word| word.get(at.offset..));
                    }
                    Item::Positional(_) if !has_verb => break,
                    _ => {}
                }
            }
        }
        let is_plain = |word: &&&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "._-,".contains(c));
        let first = || self.starred.first().and_then(|index| texts.get(*index)).filter(is_plain).copied();
        host.or_else(|| first().filter(|_| self.program.host_words == Some(HostWords::First)))
    }

    /// The program and the verb as they are written: `docker compose exec`.
    pub fn written(&self, texts: &[&str]) -> String {
        let verb = self.verb.iter().filter_map(|index| texts.get(*index).copied());
        std::iter::once(named(texts)).chain(verb).collect::<Vec<_>>().join(" ")
    }

    /// Whether one of these options is given.
    pub fn has(&self, texts: &[&str], options: &[&str]) -> bool {
        if options.is_empty() {
            return false;
        }
        let value = self.value();
        let from = if self.is_mixed() { self.start } else { self.rest };
        let mut items = Scanner::new(texts, from, &value).with_flags(options);
        items.any(|item| matches!(item, Item::Option(name, _) if name.is_any(options)))
    }

    /// A command that only reads, to suggest instead of this one.
    pub fn instead(&self, texts: &[&str]) -> Option<&'static str> {
        let value = self.program.value.unwrap_or_default();
        let words: Vec<&str> =
            Scanner::new(texts, self.start, &value).plain_words().take(LONGEST_VERB).collect();
        let begins =
            |verb: &str| verb.split(' ').zip(&words).filter(|(wanted, word)| wanted == *word).count();
        let is = |verb: &str| verb == "*" || begins(verb) == verb.split(' ').count();
        let found = self.program.instead.iter().filter(|(verb, _)| is(verb));
        found.max_by_key(|(verb, _)| if *verb == "*" { 0 } else { verb.len() }).map(|(_, command)| *command)
    }

    /// The program and its verb for a sentence. A verb that is not listed is the first word, if it is plain.
    pub fn named(&self, texts: &[&str]) -> String {
        let written = self.written(texts);
        if self.rest > self.start || self.program.verbs.is_empty() {
            return written;
        }
        let value = self.program.value.unwrap_or_default();
        let first = Scanner::new(texts, self.start, &value).plain_words().next();
        let is_plain =
            |word: &&str| word.len() <= 20 && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        match first.filter(is_plain) {
            Some(verb) => format!("{written} {verb}"),
            None => written,
        }
    }

    /// Whether a verb of the program begins with these words, and has further ones.
    pub fn continues(&self, words: &[&str]) -> bool {
        let begins = |path: &[&str]| {
            path.len() > words.len()
                && path.iter().zip(words).all(|(wanted, word)| *wanted == "*" || glob(wanted, word))
        };
        match words.first() {
            None => !self.program.verbs.is_empty(),
            Some(first) => self.program.ways(first).any(|(_, path)| begins(path)),
        }
    }

    /// Whether options before the verb count as if they stood after it.
    pub fn is_mixed(&self) -> bool {
        self.form.value.is_none()
    }
}

impl Catalogue {
    /// Parses a command line up to the end of its verb; `None` for a program that is not in the catalogue.
    ///
    /// `unknown` is true for a word of which nothing is known. Before a verb it counts as an option; without one, as the first
    /// verb that acts.
    pub fn usage(self, texts: &[&str], unknown: &dyn Fn(usize) -> bool) -> Option<Usage> {
        let mut program = self.find(texts.first()?)?;
        let mut start = 1;
        let mut before = None;
        let mut verb = vec![];
        loop {
            let mut usage =
                Usage { program, form: &program.form, before, start, verb, starred: vec![], rest: start };
            if program.verbs.is_empty() {
                return Some(usage);
            }
            select(&mut usage, texts, unknown);
            let Some(next) = usage.form.then.and_then(|key| self.find(key)) else { return Some(usage) };
            before = Some((program, usage.rest));
            start = usage.rest;
            verb = usage.verb;
            program = next;
        }
    }
}

/// Finds the longest verb at the beginning of the command line.
fn select(usage: &mut Usage, texts: &[&str], unknown: &dyn Fn(usize) -> bool) {
    let program = usage.program;
    let flags = program.form.effect.and_then(|terms| terms.flags).unwrap_or_default();
    let mut scanner =
        Scanner::new(texts, usage.start, program.value.as_deref().unwrap_or_default()).with_flags(&flags);
    let mut words: Vec<(usize, usize)> = Vec::with_capacity(LONGEST_VERB);
    let mut hidden = None;
    while words.len() < LONGEST_VERB {
        match scanner.next() {
            Some(Item::Positional(index)) if words.is_empty() && unknown(index) => {
                hidden = hidden.or(Some((index, scanner.position())));
            }
            Some(Item::Positional(index)) => words.push((index, scanner.position())),
            // `--service=restart` is the verb of some programs.
            Some(Item::Option(_, Some(at)))
                if texts.get(at.index).is_some_and(|text| {
                    text.contains('=') && program.ways(text).any(|(_, path)| **path == [*text])
                }) =>
            {
                words.push((at.index, scanner.position()));
            }
            Some(_) => {}
            None => break,
        }
    }
    let fits = |path: &[&str]| {
        path.len() <= words.len()
            && path.iter().zip(&words).all(|(wanted, (index, _))| {
                texts
                    .get(*index)
                    .is_some_and(|text| *wanted == "*" || wanted == text || is_glob(wanted, text))
            })
    };
    let first = words.first().and_then(|(index, _)| texts.get(*index)).copied().unwrap_or_default();
    let mut found: Option<(&VerbForm, &[&str])> = None;
    for (verb, path) in program.ways(first).filter(|(_, path)| fits(path)) {
        // Of two that fit equally well, one that names the last word is more exact: `* list` and `projects *`.
        let is_exact = |path: &[&str]| path.last().is_some_and(|last| *last != "*");
        let is_better = |longest: &[&str]| {
            path.len() > longest.len() || path.len() == longest.len() && is_exact(path) && !is_exact(longest)
        };
        if found.is_none_or(|(_, longest)| is_better(longest)) {
            found = Some((verb, path));
        }
    }
    // What stands for any word tells nothing of one that is unknown, or that a glob may find.
    let is_hidden = hidden.is_some() || first.contains(['*', '?', '[']);
    if let Some((verb, path)) = found.filter(|(_, path)| !is_hidden || *path != ["*"]) {
        usage.form = &verb.form;
        for (wanted, (index, after)) in path.iter().zip(&words) {
            usage.rest = *after;
            let is_object = wanted.contains('*') && *path != ["*"];
            if is_object { usage.starred.push(*index) } else { usage.verb.push(*index) }
        }
    } else if let Some((index, after)) = hidden
        && let Some(verb) = program.verbs.iter().find(|verb| verb.form.does.is_some())
    {
        usage.form = &verb.form;
        usage.verb.push(index);
        usage.rest = after;
    }
}

fn is_glob(wanted: &str, text: &str) -> bool {
    wanted.contains('*') && glob(wanted, text)
}

/// The words of a command, with the name of its program without a folder.
pub fn named<'a>(texts: &[&'a str]) -> &'a str {
    texts.first().map_or("", |word| base_name(word))
}
