//! The parts of texts that are not known, by the marks that stand for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::field::Field;
use super::stretch::{Stretch, is_known, is_name, is_part, stretches};
use super::unknown::Unknown;
use super::word::{Gap, Word};
use crate::shell::grammar::here::restore;
use crate::shell::marks::{APART, CLOSE, DOCUMENT, OPEN, READS, WRITES};

/// The unknown stretches of one reading. A mark is an index into them.
#[derive(Debug, Default)]
pub(crate) struct Unknowns {
    all: Vec<Arc<Unknown>>,
    /// Those of which only the source is known, so that the same one is the same text.
    by_source: BTreeMap<(String, [bool; 3]), usize>,
}

impl Unknowns {
    /// Adds an unknown stretch and returns its mark.
    pub fn mark(&mut self, mut unknown: Unknown) -> String {
        if unknown.source.contains([DOCUMENT, APART, READS, WRITES]) {
            unknown.source = restore(&unknown.source, &[]);
        }
        unknown.is_any |= unknown.is_foreign
            || unknown.on_disk.is_some()
            || unknown.contents.is_some()
            || unknown.candidates.iter().any(|text| self.are_any(text));
        let index = self.all.len();
        self.all.push(Arc::new(unknown));
        format!("{OPEN}{index}{CLOSE}")
    }

    /// Adds an unknown stretch that is written as `source` and returns its mark.
    pub fn plain(&mut self, source: impl Into<String>) -> String {
        self.named(source.into(), [false; 3])
    }

    /// Adds an unknown stretch of any number of words that is written as `source` and returns its mark.
    pub fn many(&mut self, source: impl Into<String>) -> String {
        self.named(source.into(), [true, false, false])
    }

    /// Adds an unknown number that is written as `source` and returns its mark.
    pub fn number(&mut self, source: impl Into<String>) -> String {
        self.named(source.into(), [false, true, false])
    }

    /// The mark of a stretch that is made from a text, as what runs it needs to know.
    pub fn made_from(&mut self, mark: String, text: &str) -> String {
        let is_foreign = self.are_foreign(text);
        let made_from = Some(self.sources(text)).filter(|text| text.contains('['));
        match self.only_mark(&mark).cloned() {
            Some(unknown) if is_foreign && made_from.is_none() && unknown.on_disk.is_none() => {
                self.named(unknown.source, [unknown.many, false, true])
            }
            Some(unknown) if is_foreign || made_from.is_some() => {
                self.mark(Unknown { made_from, is_foreign, ..unknown })
            }
            _ => mark,
        }
    }

    /// Adds an unknown stretch of any number of words that may be any text, and returns its mark.
    pub fn foreign(&mut self, source: String) -> String {
        self.named(source, [true, false, true])
    }

    /// What the doubtful parts of a text are made from.
    pub fn doubtful_in(&self, text: &str) -> Vec<String> {
        let marks = stretches(text).filter_map(|stretch| match stretch {
            Stretch::Mark(index) => self.get(index),
            Stretch::Known(_) => None,
        });
        marks.filter(|unknown| unknown.is_doubtful).filter_map(|unknown| unknown.made_from.clone()).collect()
    }

    /// Whether a part of a text may be any text.
    pub fn are_foreign(&self, text: &str) -> bool {
        stretches(text).any(|stretch| {
            matches!(stretch, Stretch::Mark(index) if self.get(index).is_some_and(|unknown| unknown.is_foreign))
        })
    }

    /// Whether a part of a text may be any text, also one of a file that is read when it is run.
    pub fn are_any(&self, text: &str) -> bool {
        stretches(text).any(|stretch| {
            matches!(stretch, Stretch::Mark(index) if self.get(index).is_some_and(Unknown::may_be_any))
        })
    }

    fn named(&mut self, source: String, [many, is_number, is_foreign]: [bool; 3]) -> String {
        let key = (source, [many, is_number, is_foreign]);
        if let Some(index) = self.by_source.get(&key) {
            return Self::mark_of(*index);
        }
        self.by_source.insert(key.clone(), self.all.len());
        self.mark(Unknown { source: key.0, many, is_number, is_foreign, ..Unknown::default() })
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
        self.show_with(text, &mut |_, _, _| {})
    }

    /// Shows a text; `gap` gets the start and the end of each unknown stretch in it, and its index.
    fn show_with(&self, text: &str, gap: &mut dyn FnMut(usize, usize, usize)) -> String {
        if is_known(text) {
            return text.to_owned();
        }
        let mut shown = String::with_capacity(text.len());
        let mut all = stretches(text).peekable();
        while let Some(stretch) = all.next() {
            let start = shown.len();
            let source = match stretch {
                Stretch::Known(known) => known,
                Stretch::Mark(index) => self.get(index).map_or("…", |u| &u.source),
            };
            let continues_name =
                |next: &Stretch<'_>| matches!(next, Stretch::Known(known) if known.starts_with(is_part));
            match source.strip_prefix('$').filter(|name| is_name(name)) {
                Some(name)
                    if matches!(stretch, Stretch::Mark(_)) && all.peek().is_some_and(continues_name) =>
                {
                    shown.extend(["${", name, "}"]);
                }
                _ => shown.push_str(source),
            }
            if let Stretch::Mark(index) = stretch {
                gap(start, shown.len(), index);
            }
        }
        shown
    }

    /// Converts an expanded field into a word of a command.
    pub fn word(&self, field: &Field) -> Word {
        let mut gaps = vec![];
        let text = self.show_with(&field.text, &mut |start, end, index| gaps.push((start, end, index)));
        let Some(at) = field.text.find(OPEN) else {
            let known_prefix = text.len();
            return Word {
                text,
                origin: field.origin,
                unknown: None,
                known_prefix,
                known_suffix: known_prefix,
                written: None,
                gaps: None,
                is_pattern: field.is_pattern,
            };
        };
        let unknown = stretches(&field.text)
            .find_map(|s| if let Stretch::Mark(index) = s { self.all.get(index).cloned() } else { None });
        let known_suffix = field.text.rfind(CLOSE).map_or(0, |end| field.text.len() - end - CLOSE.len_utf8());
        let unknown = Some(unknown.unwrap_or_default());
        let written = self.without_output(&field.text);
        let length = text.len();
        let lost = || Arc::new(Unknown { is_foreign: true, ..Unknown::default() });
        let gaps = gaps.into_iter().map(|(start, end, index)| Gap {
            before_end: (length - start, length - end),
            unknown: self.all.get(index).map_or_else(lost, Arc::clone),
        });
        let gaps = Some(gaps.collect());
        let is_pattern = field.is_pattern;
        Word {
            text,
            origin: field.origin,
            unknown,
            known_prefix: at,
            known_suffix,
            written,
            gaps,
            is_pattern,
        }
    }

    /// The text without marks of what commands print; `None` where it has none.
    fn without_output(&self, text: &str) -> Option<Arc<str>> {
        let is_output = |index: usize| {
            self.get(index).is_some_and(|u| u.source.starts_with("$(") && !u.source.starts_with("$(<"))
        };
        let has_output = |stretch| matches!(stretch, Stretch::Mark(index) if is_output(index));
        if !stretches(text).any(has_output) {
            return None;
        }
        let shown = |stretch| match stretch {
            Stretch::Known(known) => known,
            Stretch::Mark(index) if is_output(index) => "",
            Stretch::Mark(index) => self.get(index).map_or("…", |u| &u.source),
        };
        Some(stretches(text).map(shown).collect::<String>().into())
    }
}
