//! Results of expansions, and how they split into fields.

use crate::shell::on_disk::GLOB;
use crate::shell::text::{Field, Origin, Stretch, Unknowns, begins_as_pattern, is_known, stretches};

/// Builds the fields of one word.
#[derive(Default)]
pub(crate) struct Splitter {
    pub fields: Vec<Field>,
    pub current: Option<String>,
    pub origin: Origin,
    /// The value of `IFS`; `None` for blanks.
    pub separators: Option<String>,
    /// True behind a blank that ended a field: a separator that is no blank belongs to it.
    pub after_blank: bool,
    /// True where the current field has text without quotes.
    pub is_open: bool,
    /// True where the current field begins with an unquoted pattern.
    pub is_pattern: bool,
}

impl Splitter {
    pub fn push(&mut self, text: &str) {
        self.current.get_or_insert_default().push_str(text);
        self.after_blank = false;
    }

    pub fn finish_field(&mut self) {
        if let Some(text) = self.current.take() {
            let is_pattern = std::mem::take(&mut self.is_pattern);
            let is_quoted = !std::mem::take(&mut self.is_open);
            self.fields.push(Field { text, origin: self.origin, is_pattern, is_quoted });
        }
    }

    /// Adds text without quotes, in which a pattern stands for names of files.
    pub fn push_unquoted(&mut self, text: &str) {
        self.is_open = true;
        if text.contains(GLOB) || text.contains('(') {
            let before = stretches(self.current.as_deref().unwrap_or_default());
            let known =
                before.filter_map(|one| if let Stretch::Known(known) = one { Some(known) } else { None });
            self.is_pattern |= begins_as_pattern(&known.chain([text]).collect::<String>());
        }
        self.push(text);
    }

    /// Adds the result of an unquoted expansion, which is split at the separators: blanks end a field, and each other
    /// separator ends one that may be empty.
    pub fn push_split(&mut self, text: &str) {
        const BLANKS: &str = " \t\n";
        let separators = self.separators.clone();
        let separators = separators.as_deref().unwrap_or(BLANKS);
        let mut rest = text;
        while let Some(at) = rest.find(|c| separators.contains(c)) {
            let (part, behind) = rest.split_at(at);
            if !part.is_empty() {
                self.push_unquoted(part);
            }
            let mut chars = behind.chars();
            if chars.next().is_some_and(|separator| BLANKS.contains(separator)) {
                self.after_blank |= self.current.is_some();
            } else if !std::mem::take(&mut self.after_blank) {
                self.current.get_or_insert_default();
            }
            self.finish_field();
            rest = chars.as_str();
        }
        if !rest.is_empty() {
            self.push_unquoted(rest);
        }
    }

    pub fn came_from(&mut self, origin: Origin) {
        self.origin = self.origin.max(origin);
    }
}

/// The result of an expansion.
#[derive(Debug)]
pub(crate) struct Expansion {
    /// Several for `$@` and arrays, otherwise one.
    pub texts: Vec<String>,
    /// True when each text is a separate word even inside quotes (`"$@"`).
    pub list: bool,
    pub origin: Origin,
}

impl Expansion {
    pub fn text(text: String, origin: Origin) -> Self {
        Self { texts: vec![text], list: false, origin }
    }

    /// The texts as one, separated by the first character of `IFS`; `None` for a blank. Beside a text that may be no word,
    /// there may be no separator.
    pub fn joined(self, separators: Option<&str>, unknowns: &Unknowns) -> String {
        let apart = match separators.filter(|_| !self.list) {
            Some(separators) => separators.chars().next().map(String::from).filter(|first| is_known(first)),
            None => Some(" ".to_owned()),
        };
        let apart = apart.unwrap_or_default();
        let may_vanish = |text: &String| unknowns.only_mark(text).is_some() && !unknowns.is_one_word(text);
        let mut joined = String::new();
        let mut last: Option<&String> = None;
        for text in &self.texts {
            if last.is_some_and(|last| !may_vanish(last) && !may_vanish(text)) {
                joined += &apart;
            }
            joined += text;
            last = Some(text);
        }
        joined
    }
}
