//! Results of expansions, and how they split into fields.

use crate::shell::text::{Field, Origin, is_known};

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

    /// The texts as one, separated by the first character of `IFS`; `None` for a blank.
    pub fn joined(self, separators: Option<&str>) -> String {
        let mut texts = self.texts;
        if texts.len() == 1 {
            return texts.pop().unwrap_or_default();
        }
        match separators.filter(|_| !self.list) {
            Some(separators) => {
                let first = separators.chars().next().filter(|first| is_known(&first.to_string()));
                texts.join(first.map(String::from).unwrap_or_default().as_str())
            }
            None => texts.join(" "),
        }
    }
}
