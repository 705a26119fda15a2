//! Text in which some stretches are not known.
//!
//! While a script is evaluated, a stretch that cannot be known (an unset variable, the output of a
//! program) is a mark inside the text. Marks survive quoting, joining and parsing again, so that
//! `ssh host "docker restart $NAME"` still knows on the far side what it does not know.

use super::grammar::here::restore;
use super::marks::{APART, CLOSE, DOCUMENT, OPEN};

/// Where a word's text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// Written out in the command.
    #[default]
    Literal,
    /// From a variable assigned earlier in the same text.
    Assigned,
    /// From the list of a loop.
    Listed,
    /// From text that another command prints.
    Printed,
}

/// What a program that lists running things was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// Everything there is, by this command.
    Everything(String),
    /// The one thing with this name.
    Named(String),
}

/// Why a stretch of text is not known, and what is known of it nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unknown {
    /// As written in the command, e.g. `$NAME` or `$(docker ps -q)`.
    pub source: String,
    /// Set when the text is what an engine lists.
    pub listing: Option<Listing>,
    /// The texts that it can be, where branches of the script assign different ones.
    pub(crate) candidates: Vec<String>,
    /// What a reader finds in the file of this name, for process substitution.
    pub(crate) content: Option<String>,
    /// What the program that prints it reads, where that is known.
    pub(crate) made_from: Option<String>,
    /// True when it may be any number of words.
    pub(crate) many: bool,
}

/// One word of a command and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word; a stretch that is not known reads as it is written in the command.
    pub text: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The first stretch that is not known.
    pub unknown: Option<Unknown>,
    known_prefix: usize,
    known_suffix: usize,
}

impl Word {
    /// The whole word, when all of it is known.
    pub fn known(&self) -> Option<&str> {
        self.unknown.is_none().then_some(self.text.as_str())
    }

    /// The known text before the first stretch that is not known; the whole word when it is known.
    pub fn prefix(&self) -> &str {
        self.text.get(..self.known_prefix).unwrap_or(&self.text)
    }

    /// The known text after the last stretch that is not known; the whole word when it is known.
    pub fn suffix(&self) -> &str {
        self.text.get(self.text.len() - self.known_suffix.min(self.text.len())..).unwrap_or_default()
    }

    /// A word that is known and written out.
    pub fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        let known_prefix = text.len();
        Self { text, origin: Origin::Literal, unknown: None, known_prefix, known_suffix: known_prefix }
    }

    /// A word of which only is known how it is written.
    pub fn unknown(source: impl Into<String>) -> Self {
        let text = source.into();
        let unknown = Unknown { source: text.clone(), ..Unknown::default() };
        Self { text, origin: Origin::Literal, unknown: Some(unknown), known_prefix: 0, known_suffix: 0 }
    }

    /// The part of the word from byte `at` on, such as the value in `--name=value`.
    #[must_use]
    pub fn tail(&self, at: usize) -> Self {
        Self {
            text: self.text.get(at..).unwrap_or_default().to_owned(),
            origin: self.origin,
            unknown: self.unknown.clone(),
            known_prefix: self.known_prefix.saturating_sub(at),
            known_suffix: self.known_suffix.min(self.text.len().saturating_sub(at)),
        }
    }
}

/// A word during evaluation: text with marks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Field {
    pub text: String,
    pub origin: Origin,
}

impl Field {
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), origin: Origin::Literal }
    }
}

/// All stretches of one reading that are not known; marks are indexes into it.
#[derive(Debug, Default)]
pub(crate) struct Unknowns(Vec<Unknown>);

/// A piece of text between marks, or the index of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stretch<'a> {
    Known(&'a str),
    Mark(usize),
}

impl Unknowns {
    /// Adds a stretch and returns its mark.
    pub fn mark(&mut self, mut unknown: Unknown) -> String {
        if unknown.source.contains([DOCUMENT, APART]) {
            unknown.source = restore(&unknown.source, &[]);
        }
        let index = self.0.len();
        self.0.push(unknown);
        format!("{OPEN}{index}{CLOSE}")
    }

    /// A mark of which nothing more is known than how it was written.
    pub fn plain(&mut self, source: impl Into<String>) -> String {
        self.mark(Unknown { source: source.into(), ..Unknown::default() })
    }

    pub fn get(&self, index: usize) -> Option<&Unknown> {
        self.0.get(index)
    }

    /// The mark of a stretch that is known already.
    pub fn again(index: usize) -> String {
        format!("{OPEN}{index}{CLOSE}")
    }

    /// What the text is marked with, when one mark is all of it (blanks aside).
    pub fn only_mark(&self, text: &str) -> Option<&Unknown> {
        let mut found = None;
        for stretch in stretches(text) {
            match stretch {
                Stretch::Known(known) if known.trim().is_empty() => {}
                Stretch::Mark(index) if found.is_none() => found = self.get(index),
                _ => return None,
            }
        }
        found
    }

    /// The text for people: marks read as written in the command.
    pub fn show(&self, text: &str) -> String {
        if is_known(text) {
            return text.to_owned();
        }
        let mut shown = String::with_capacity(text.len());
        for stretch in stretches(text) {
            match stretch {
                Stretch::Known(known) => shown.push_str(known),
                Stretch::Mark(index) => shown.push_str(self.get(index).map_or("…", |u| &u.source)),
            }
        }
        shown
    }

    /// The finished word.
    pub fn word(&self, field: &Field) -> Word {
        let text = self.show(&field.text);
        let Some(at) = field.text.find(OPEN) else {
            let known_prefix = text.len();
            return Word {
                text,
                origin: field.origin,
                unknown: None,
                known_prefix,
                known_suffix: known_prefix,
            };
        };
        let unknown = stretches(&field.text)
            .find_map(|s| if let Stretch::Mark(index) = s { self.get(index).cloned() } else { None });
        let known_suffix = field.text.rfind(CLOSE).map_or(0, |end| field.text.len() - end - CLOSE.len_utf8());
        let unknown = Some(unknown.unwrap_or_default());
        Word { text, origin: field.origin, unknown, known_prefix: at, known_suffix }
    }
}

/// True when the text holds no mark.
pub(crate) fn is_known(text: &str) -> bool {
    !text.contains(OPEN)
}

/// True when nothing is known of the text up to its end or its first known part.
pub(crate) fn is_all_unknown(text: &str) -> bool {
    text.starts_with(OPEN)
}

/// Cuts text at its marks.
pub(crate) fn stretches(text: &str) -> impl Iterator<Item = Stretch<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        match rest.find(OPEN) {
            Some(0) => {
                let body = rest.get(OPEN.len_utf8()..).unwrap_or_default();
                let (index, after) = body.split_once(CLOSE).unwrap_or((body, ""));
                rest = after;
                Some(Stretch::Mark(index.parse().unwrap_or(usize::MAX)))
            }
            Some(at) => {
                let (known, after) = rest.split_at(at);
                rest = after;
                Some(Stretch::Known(known))
            }
            None => Some(Stretch::Known(std::mem::take(&mut rest))),
        }
    })
}

/// The words with blanks between, as `eval` and `ssh` join them.
pub(crate) fn join(fields: &[Field]) -> String {
    fields.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ")
}
