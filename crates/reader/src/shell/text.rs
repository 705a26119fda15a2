//! Text with unknown stretches.
//!
//! A stretch that cannot be determined without running the script (an unset variable, the output of a
//! program) is replaced by a mark. Marks survive quoting, joining and repeated parsing: in
//! `ssh host "docker restart $NAME"`, the script on the host still contains the mark of `$NAME`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::grammar::here::restore;
use super::marks::{APART, CLOSE, DOCUMENT, OPEN, READS, WRITES};
use super::on_disk::Search;

/// Where a word's text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Origin {
    /// Written in the command itself.
    #[default]
    Literal,
    /// From a variable assigned earlier in the same text.
    Assigned,
    /// From the list of a loop.
    Listed,
    /// From the output of another command, an operator such as `${x%.*}`, or a builtin such as `read`: the shell that runs it may
    /// find another text.
    Computed,
}

/// The end of a listing of units that have failed.
pub const FAILED: &str = " --failed";

/// What a program lists, such as `docker ps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// Everything; holds the command.
    Everything(String),
    /// One container, service or unit; holds its name.
    Named(String),
    /// Those whose names contain this text.
    Matching(String),
}

/// A stretch of unknown text and what can be determined about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
pub struct Unknown {
    /// As written in the command, e.g. `$NAME` or `$(docker ps -q)`.
    pub source: String,
    /// Set when the text is the output of a listing program.
    pub listing: Option<Listing>,
    /// The possible texts, when branches of the script assign different ones.
    pub(crate) candidates: Vec<String>,
    /// For a process substitution: the content of the file that the text names.
    pub(crate) content: Option<String>,
    /// The input of the program that prints the text, when that is known.
    pub(crate) made_from: Option<String>,
    /// True when the text may be any number of words.
    pub(crate) many: bool,
    /// True for a text that only the environment gives.
    pub(crate) is_inherited: bool,
    /// True for one of the candidates between quotes, which is not split.
    pub(crate) is_one_word: bool,
    /// For one word between quotes: the mark without them.
    pub(crate) without_quotes: Option<usize>,
    /// The absolute path of the file on this machine that holds the text.
    pub(crate) on_disk: Option<String>,
    /// The search on this machine that lists the files which the text names.
    pub(crate) found: Option<Search>,
    /// The text, with marks of files on disk.
    pub(crate) contents: Option<String>,
    /// The filter that prints the text.
    pub(crate) filter: Option<Arc<Filter>>,
    /// True when the text may be any number of lines.
    pub(crate) repeats: bool,
    /// True for a decimal number.
    pub(crate) is_number: bool,
}

/// A filter whose input is known when what it prints is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Its words without files.
    pub words: Vec<String>,
    /// Its input, with marks of files on disk.
    pub input: String,
    /// True where it has changed the file that it read.
    pub is_edit: bool,
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word; unknown stretches appear as they are written in the command.
    pub text: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The first unknown stretch.
    pub unknown: Option<Arc<Unknown>>,
    known_prefix: usize,
    known_suffix: usize,
}

impl Word {
    /// The whole word; `None` when a stretch of it is unknown.
    pub fn known(&self) -> Option<&str> {
        self.unknown.is_none().then_some(self.text.as_str())
    }

    /// The text before the first unknown stretch; the whole word when all of it is known.
    pub fn prefix(&self) -> &str {
        self.text.get(..self.known_prefix).unwrap_or(&self.text)
    }

    /// The text after the last unknown stretch; the whole word when all of it is known.
    pub fn suffix(&self) -> &str {
        self.text.get(self.text.len() - self.known_suffix.min(self.text.len())..).unwrap_or_default()
    }

    /// A known word that is written in the command itself.
    pub fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        let known_prefix = text.len();
        Self { text, origin: Origin::Literal, unknown: None, known_prefix, known_suffix: known_prefix }
    }

    /// A wholly unknown word that is written as `source`.
    pub fn unknown(source: impl Into<String>) -> Self {
        let text = source.into();
        let unknown = Unknown { source: text.clone(), ..Unknown::default() };
        Self {
            text,
            origin: Origin::Literal,
            unknown: Some(Arc::new(unknown)),
            known_prefix: 0,
            known_suffix: 0,
        }
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

/// A word during expansion: text with marks.
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

/// The unknown stretches of one reading. A mark is an index into them.
#[derive(Debug, Default)]
pub(crate) struct Unknowns {
    all: Vec<Arc<Unknown>>,
    /// Those of which only the source is known, so that the same one is the same text.
    by_source: BTreeMap<(String, bool, bool), usize>,
}

/// A piece of text between marks, or the index of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stretch<'a> {
    Known(&'a str),
    Mark(usize),
}

impl Unknowns {
    /// Adds an unknown stretch and returns its mark.
    pub fn mark(&mut self, mut unknown: Unknown) -> String {
        if unknown.source.contains([DOCUMENT, APART, READS, WRITES]) {
            unknown.source = restore(&unknown.source, &[]);
        }
        let index = self.all.len();
        self.all.push(Arc::new(unknown));
        format!("{OPEN}{index}{CLOSE}")
    }

    /// Adds an unknown stretch that is written as `source` and returns its mark.
    pub fn plain(&mut self, source: impl Into<String>) -> String {
        self.named(source.into(), false, false)
    }

    /// Adds an unknown stretch of any number of words that is written as `source` and returns its mark.
    pub fn many(&mut self, source: impl Into<String>) -> String {
        self.named(source.into(), true, false)
    }

    /// Adds an unknown number that is written as `source` and returns its mark.
    pub fn number(&mut self, source: impl Into<String>) -> String {
        self.named(source.into(), false, true)
    }

    fn named(&mut self, source: String, many: bool, is_number: bool) -> String {
        let key = (source, many, is_number);
        if let Some(index) = self.by_source.get(&key) {
            return Self::mark_of(*index);
        }
        self.by_source.insert(key.clone(), self.all.len());
        self.mark(Unknown { source: key.0, many, is_number, ..Unknown::default() })
    }

    pub fn get(&self, index: usize) -> Option<&Unknown> {
        self.all.get(index).map(Arc::as_ref)
    }

    /// The mark of the stretch at `index`.
    pub fn mark_of(index: usize) -> String {
        format!("{OPEN}{index}{CLOSE}")
    }

    /// The first unknown stretch of which the possible texts are known.
    pub fn first_choice(&self, text: &str) -> Option<usize> {
        stretches(text).find_map(|stretch| match stretch {
            Stretch::Mark(index) => {
                self.get(index).filter(|unknown| !unknown.candidates.is_empty()).map(|_| index)
            }
            Stretch::Known(_) => None,
        })
    }

    /// Whether a text has an unknown stretch that may be any number of words.
    pub fn may_be_several(&self, text: &str) -> bool {
        stretches(text).any(|stretch| {
            matches!(stretch, Stretch::Mark(index) if self.get(index).is_some_and(|unknown| unknown.many))
        })
    }

    /// Whether a text is certainly one word.
    pub fn is_one_word(&self, text: &str) -> bool {
        let is_one = |unknown: &Unknown| unknown.is_number || unknown.is_one_word;
        stretches(text).all(|stretch| match stretch {
            Stretch::Mark(index) => self.get(index).is_some_and(is_one),
            Stretch::Known(_) => true,
        })
    }

    /// The unknown stretch that makes up the whole text, apart from blanks.
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

    /// A mark of any number of words, as one word between quotes; `None` for any other text.
    pub fn as_one_word(&mut self, text: &str) -> Option<String> {
        let found = self.only_mark(text).filter(|found| found.many || !found.candidates.is_empty())?;
        let unknown = Unknown { many: false, is_one_word: true, ..found.clone() };
        let mut marks = stretches(text)
            .filter_map(|stretch| if let Stretch::Mark(index) = stretch { Some(index) } else { None });
        let without_quotes = marks.next();
        (!found.is_one_word).then(|| self.mark(Unknown { without_quotes, ..unknown }))
    }

    /// The text with the marks that it has without quotes, so that a path is the same with and without them.
    pub fn without_quotes(&self, text: &str) -> String {
        let plain = |stretch| match stretch {
            Stretch::Known(known) => known.to_owned(),
            Stretch::Mark(index) => {
                Self::mark_of(self.get(index).and_then(|unknown| unknown.without_quotes).unwrap_or(index))
            }
        };
        stretches(text).map(plain).collect()
    }

    /// The text with each mark replaced by what its program makes it from, where that is known.
    pub fn sources(&self, text: &str) -> String {
        self.sources_below(text, 0)
    }

    fn sources_below(&self, text: &str, depth: usize) -> String {
        const DEEPEST: usize = 16;
        if is_known(text) || depth >= DEEPEST {
            return text.to_owned();
        }
        let source = |stretch| match stretch {
            Stretch::Known(known) => known.to_owned(),
            Stretch::Mark(index) => {
                let made_from = self.get(index).and_then(|unknown| unknown.made_from.as_deref());
                made_from.map_or_else(|| Self::mark_of(index), |text| self.sources_below(text, depth + 1))
            }
        };
        stretches(text).map(source).collect()
    }

    /// The text with each mark replaced by how the stretch is written in the command.
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

    /// Converts an expanded field into a word of a command.
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
            .find_map(|s| if let Stretch::Mark(index) = s { self.all.get(index).cloned() } else { None });
        let known_suffix = field.text.rfind(CLOSE).map_or(0, |end| field.text.len() - end - CLOSE.len_utf8());
        let unknown = Some(unknown.unwrap_or_default());
        Word { text, origin: field.origin, unknown, known_prefix: at, known_suffix }
    }
}

/// True for the name of a variable.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// True when the text contains no mark of an unknown stretch.
pub(crate) fn is_known(text: &str) -> bool {
    !text.contains(OPEN)
}

/// True when the text starts with an unknown stretch.
pub(crate) fn is_all_unknown(text: &str) -> bool {
    text.starts_with(OPEN)
}

/// Splits text at its marks.
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

/// The words separated by single blanks, as `eval` and `ssh` join them.
pub(crate) fn join(fields: &[Field]) -> String {
    fields.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ")
}
