//! Variables and functions of make.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::languages::names::manifests as names;
use crate::languages::text::closing;

/// Maximum number of references to variables that are expanded.
const MOST_REFERENCES: usize = 10_000;
/// Maximum nesting of variables in variables.
const DEEPEST: usize = 8;
/// Maximum length in bytes of an expanded line.
pub(super) const LONGEST: usize = 16 * 1024;

/// The variables of a makefile.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// Texts that are expanded where they are used, by name.
    pub values: BTreeMap<String, String>,
    /// True where a function of make may run or write something.
    pub runs_more: Cell<bool>,
    /// The number of references that were expanded.
    references: Cell<usize>,
}

impl Variables {
    pub fn plain_text(&self, text: &str) -> String {
        self.expand(text, &|_| String::new(), 0)
    }

    /// Expands the variables of make; what make computes becomes a variable of the shell that is not set.
    pub fn expand(&self, text: &str, own: &dyn Fn(char) -> String, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(rest.get(..at).unwrap_or_default());
            let after = rest.get(at + 1..).unwrap_or_default();
            let first = after.chars().next().unwrap_or('$');
            if matches!(first, '(' | '{') {
                let end = matching(after, first, closing(first));
                let body = after.get(1..end).unwrap_or_default();
                out.push_str(&self.reference(body, own, depth));
                rest = after.get(end + 1..).unwrap_or_default();
            } else {
                match first {
                    '$' => out.push('$'),
                    '@' | '<' | '^' | '+' | '?' | '*' => out.push_str(&own(first)),
                    name => out.push_str(&self.reference(&name.to_string(), own, depth)),
                }
                rest = after.get(first.len_utf8()..).unwrap_or_default();
            }
            if out.len() > LONGEST {
                return out;
            }
        }
        out.push_str(rest);
        out
    }

    fn reference(&self, body: &str, own: &dyn Fn(char) -> String, depth: usize) -> String {
        let unknown = |name: &str| format!("${{{name}}}");
        self.references.set(self.references.get() + 1);
        if depth >= DEEPEST || self.references.get() > MOST_REFERENCES {
            return unknown("MAKE_NESTED");
        }
        if let Some(script) = body.strip_prefix("shell ") {
            return format!("$({})", self.expand(script, own, depth + 1));
        }
        if let [name, 'D' | 'F'] = body.chars().collect::<Vec<_>>().as_slice()
            && "@<^*?+".contains(*name)
        {
            return own(*name);
        }
        let function = body.split([' ', '\t']).next().unwrap_or_default();
        let is_harmless = names::MAKE_FUNCTIONS.has(function) && !names::MAKE_STATEMENTS.are_in(body);
        if function.len() < body.len() && !is_harmless {
            self.runs_more.set(true);
        }
        let is_name =
            |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        match (body, self.values.get(body)) {
            (_, Some(value)) => self.expand(value, own, depth + 1),
            ("MAKE", None) => "make".to_owned(),
            ("CURDIR", None) => "$PWD".to_owned(),
            ("SHELL", None) => "/bin/sh".to_owned(),
            ("@" | "<" | "^" | "*" | "?" | "+", None) => body.chars().map(own).collect(),
            // A variable of the environment is one of make.
            (name, None) if is_name(name) && !name.contains(['-', '.']) => unknown(name),
            _ => unknown("MAKE_EXPRESSION"),
        }
    }
}

/// The index of the bracket that closes the one at the start of `text`; its end without one.
fn matching(text: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    text.len()
}
