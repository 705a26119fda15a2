//! Words of a command, with the parts that are not known.

use std::sync::Arc;

use super::field::Origin;
use super::stretch::begins_as_pattern;
use super::unknown::Unknown;

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word; unknown stretches appear as they are written in the command.
    pub text: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The first unknown stretch.
    pub unknown: Option<Arc<Unknown>>,
    pub(super) known_prefix: usize,
    pub(super) known_suffix: usize,
    /// The word without the output of commands, where it has some.
    pub(super) written: Option<Arc<str>>,
    /// Where its unknown stretches stand.
    pub(super) gaps: Option<Arc<[Gap]>>,
    /// True for an unquoted pattern that may match any name of a file, such as `*`.
    pub(super) is_pattern: bool,
}

/// An unknown stretch of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap {
    /// The number of bytes from its start to the end of the word, and from its end.
    pub(super) before_end: (usize, usize),
    pub(super) unknown: Arc<Unknown>,
}

impl Word {
    /// Whether its first unknown stretch may be any number of words.
    pub fn may_be_several(&self) -> bool {
        self.unknown.as_ref().is_some_and(|unknown| unknown.many)
    }

    /// Whether it stands for names of files that may begin with any character.
    pub const fn is_pattern(&self) -> bool {
        self.is_pattern
    }

    /// The unknown stretches with which it may begin: those before all known text.
    pub fn beginnings(&self) -> impl Iterator<Item = &Unknown> {
        let mut done = 0;
        let gaps = self.gaps.as_deref().unwrap_or_default().iter();
        let first = gaps.take_while(move |gap| {
            let (start, end) = gap.before_end;
            let is_next = self.text.len().checked_sub(start) == Some(done);
            done = self.text.len().saturating_sub(end);
            is_next
        });
        first.map(|gap| gap.unknown.as_ref())
    }

    /// The whole word; `None` when a stretch of it is unknown.
    pub fn known(&self) -> Option<&str> {
        self.unknown.is_none().then_some(self.text.as_str())
    }

    /// The word with a digit for each unknown number; `None` when another stretch of it is unknown.
    pub fn counted(&self) -> Option<String> {
        self.filled(|_| None)
    }

    /// The word with a digit for each unknown number, and for each other unknown stretch the text that `fill` has for what is
    /// written there; `None` when it has none for one of them, or one may be any text.
    pub fn filled(&self, fill: impl Fn(&str) -> Option<&'static str>) -> Option<String> {
        if let Some(known) = self.known() {
            return Some(known.to_owned());
        }
        let mut filled = String::new();
        let mut done = 0;
        for Gap { before_end: (start, end), unknown } in self.gaps.as_deref()? {
            let (start, end) = (self.text.len().checked_sub(*start)?, self.text.len().checked_sub(*end)?);
            filled.push_str(self.text.get(done..start)?);
            let source = self.text.get(start..end).filter(|_| !unknown.is_foreign);
            filled.push_str(if unknown.is_number { "1" } else { fill(source?)? });
            done = end;
        }
        filled.push_str(self.text.get(done..)?);
        Some(filled)
    }

    /// The text before the first unknown stretch; the whole word when all of it is known.
    pub fn prefix(&self) -> &str {
        self.text.get(..self.known_prefix).unwrap_or(&self.text)
    }

    /// The text after the last unknown stretch; the whole word when all of it is known.
    pub fn suffix(&self) -> &str {
        self.text.get(self.text.len() - self.known_suffix.min(self.text.len())..).unwrap_or_default()
    }

    /// The text without the output of commands: `$NAME` of `$(date): $NAME`. These commands are judged where they run.
    pub fn without_output(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.text)
    }

    /// A known word that is written in the command itself.
    pub fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        let known_prefix = text.len();
        let known_suffix = known_prefix;
        Self {
            text,
            origin: Origin::Literal,
            unknown: None,
            known_prefix,
            known_suffix,
            written: None,
            gaps: None,
            is_pattern: false,
        }
    }

    /// A word of which nothing is known, written as `source`.
    pub fn unknown(source: impl Into<String>) -> Self {
        let text = source.into();
        let unknown = Arc::new(Unknown { source: text.clone(), ..Unknown::default() });
        let gap = Gap { before_end: (text.len(), 0), unknown: Arc::clone(&unknown) };
        Self {
            text,
            origin: Origin::Literal,
            unknown: Some(unknown),
            known_prefix: 0,
            known_suffix: 0,
            written: None,
            gaps: Some(Arc::new([gap])),
            is_pattern: false,
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
            written: None,
            gaps: self.gaps.clone(),
            is_pattern: begins_as_pattern(self.text.get(at..).unwrap_or_default()) && self.is_pattern,
        }
    }
}
