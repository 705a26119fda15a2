//! Results of expansions, and how they split into fields.

use crate::shell::text::{Field, Origin, Unknowns, is_known};

/// Builds the fields of one word.
pub(crate) struct Splitter {
    pub fields: Vec<Field>,
    pub current: Option<String>,
    pub origin: Origin,
    /// The value of `IFS`; `None` for blanks.
    pub separators: Option<String>,
}

impl Splitter {
    pub fn push(&mut self, text: &str) {
        self.current.get_or_insert_default().push_str(text);
    }

    pub fn finish_field(&mut self) {
        if let Some(text) = self.current.take() {
            self.fields.push(Field { text, origin: self.origin });
        }
    }

    /// Adds the result of an unquoted expansion, which is split at the separators.
    pub fn push_split(&mut self, text: &str) {
        let separators = self.separators.clone();
        let separates = |c: char| separators.as_ref().map_or(c.is_whitespace(), |own| own.contains(c));
        if text.starts_with(separates) {
            self.finish_field();
        }
        let mut first = true;
        for part in text.split(separates).filter(|part| !part.is_empty()) {
            if !first {
                self.finish_field();
            }
            first = false;
            self.push(part);
        }
        if text.ends_with(separates) {
            self.finish_field();
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
