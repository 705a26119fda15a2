//! Text with unknown stretches.
//!
//! A stretch that cannot be determined without running the script (an unset variable, the output of a
//! program) is replaced by a mark. Marks survive quoting, joining and repeated parsing: in
//! `ssh host "docker restart $NAME"`, the script on the host still contains the mark of `$NAME`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::grammar::here::restore;
use super::marks::{APART, CLOSE, DOCUMENT, OPEN, READS, WRITES};
use super::on_disk::{GLOB, Search};

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
    /// True where the text is empty if there is no such file.
    pub(crate) may_be_missing: bool,
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
    /// True where the text that it is made from may be all of it.
    pub(crate) is_doubtful: bool,
    /// True for a text that may be any, such as that of a file, of a server or of code.
    pub(crate) is_foreign: bool,
    /// True for a text that may be any until the files of this machine are read that it is made from.
    pub(crate) is_any: bool,
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
    /// The word without the output of commands, where it has some.
    written: Option<Arc<str>>,
    /// Where its unknown stretches stand.
    gaps: Option<Arc<[Gap]>>,
    /// True for an unquoted pattern that may match any name of a file, such as `*`.
    is_pattern: bool,
}

/// An unknown stretch of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Gap {
    /// The number of bytes from its start to the end of the word, and from its end.
    before_end: (usize, usize),
    unknown: Arc<Unknown>,
}

impl Unknown {
    /// Whether it is a number.
    pub const fn is_number(&self) -> bool {
        self.is_number
    }

    /// Whether it may be any text even where all files that it is made from are kept from agents.
    pub const fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Whether it may be any text, such as that of a file, of a server, of code or of several commands; false for numbers, for
    /// variables of the environment, and for what programs print that print numbers and names of a fixed form.
    pub fn may_be_any(&self) -> bool {
        let is_written =
            self.source.starts_with(['$', '~', '{', '<', '>', '/']) || self.source.contains(GLOB);
        self.is_any || !self.is_number && !is_written
    }

    /// Whether it is the name of a file that a pattern matches.
    pub fn is_name_of_file(&self) -> bool {
        begins_as_pattern(&self.source)
    }
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

    /// A wholly unknown word that is written as `source`.
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

/// A word during expansion: text with marks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Field {
    pub text: String,
    pub origin: Origin,
    /// True for an unquoted pattern that may match any name of a file.
    pub is_pattern: bool,
    /// True where all of it is quoted, so that it stands for itself.
    pub is_quoted: bool,
}

impl Field {
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A word as it is written, without quotes.
    pub fn unquoted(text: &str) -> Self {
        Self { is_pattern: begins_as_pattern(text), ..Self::literal(text) }
    }

    pub fn computed(text: String) -> Self {
        Self { text, origin: Origin::Computed, ..Self::default() }
    }
}

/// The unknown stretches of one reading. A mark is an index into them.
#[derive(Debug, Default)]
pub(crate) struct Unknowns {
    all: Vec<Arc<Unknown>>,
    /// Those of which only the source is known, so that the same one is the same text.
    by_source: BTreeMap<(String, [bool; 3]), usize>,
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

/// Whether an unquoted text is a pattern that may match a name of any beginning, or an option: `*`, `?x`, `[!a]*`, `-*`.
pub(crate) fn begins_as_pattern(text: &str) -> bool {
    let before = text.find(GLOB).and_then(|at| text.get(..at));
    let is_bracket = text.starts_with('[') && !text.contains(']');
    let is_either = ["@(", "+(", "!("].iter().any(|either| text.starts_with(either));
    is_either
        || !is_bracket
            && before
                .is_some_and(|before| before.is_empty() || before.starts_with('-') && !before.contains('='))
}

/// True for the name of a variable.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(is_part)
}

/// True for a character of the name of a variable.
const fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
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
