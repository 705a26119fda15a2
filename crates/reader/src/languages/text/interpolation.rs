//! The values that texts in code interpolate.

use super::delimiters::delimited;
use super::escapes::{Escape, Escapes};
use super::part::Part;
use super::perl::{Kind, variable};

/// The longest element in bytes that a text of PHP takes of a variable.
const LONGEST: usize = 512;

/// How a text interpolates values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// Not at all.
    Nothing,
    /// `%s` and `{}`, for a formatter.
    Formats,
    /// `{name}`.
    Braces,
    /// `${name}`.
    Dollar,
    /// `$name`, `${name}`, `@name`, and elements and slices of them.
    Perl,
    /// `$name`, `$name[0]`, `$name->field`, `${name}`, `{$name…}`.
    Php,
    /// `#{…}`, `#$name`, `#@name`.
    Ruby,
}

/// The pieces of a text, and whether all its escapes are known.
pub(super) struct Scanned {
    pub parts: Vec<Part>,
    pub is_exact: bool,
}

impl Interpolation {
    /// The known and unknown pieces of a text without escapes.
    pub fn parts(self, text: &str) -> Vec<Part> {
        self.scan(text, Escapes::None).parts
    }

    /// The known and unknown pieces of a text: what is escaped interpolates nothing.
    pub(super) fn scan(self, text: &str, escapes: Escapes) -> Scanned {
        let mut parts = Vec::new();
        let mut known = String::new();
        let mut is_exact = true;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let after = rest.get(c.len_utf8()..).unwrap_or_default();
            let next = after.chars().next();
            let behind = after.get(next.map_or(0, char::len_utf8)..).unwrap_or_default();
            if let Some(escape) = Some(c).filter(|c| *c == '\\').and_then(|_| escapes.resolve(next)) {
                rest = behind;
                match escape {
                    Escape::Char(c) => known.push(c),
                    Escape::Nothing => {}
                    // A text of Python has no escape for a brace.
                    Escape::Both if self == Self::Braces && next == Some('{') => {
                        known.push('\\');
                        rest = after;
                    }
                    Escape::Both => known.extend([c].into_iter().chain(next)),
                    Escape::Unclear => {
                        is_exact = false;
                        known.extend(next);
                    }
                }
            } else if self == Self::Braces && matches!(c, '{' | '}') && next == Some(c) {
                known.push(c);
                rest = behind;
            } else if let Some((len, source)) = self.value(c, rest) {
                if !known.is_empty() {
                    parts.push(Part::Known(std::mem::take(&mut known)));
                }
                parts.push(Part::Unknown(source));
                rest = rest.get(len..).unwrap_or_default();
            } else {
                known.push(c);
                rest = after;
            }
        }
        if !known.is_empty() || parts.is_empty() {
            parts.push(Part::Known(known));
        }
        Scanned { parts, is_exact }
    }

    /// The length and the source of the value that a text begins with.
    fn value(self, first: char, text: &str) -> Option<(usize, String)> {
        if !matches!(first, '%' | '{' | '#' | '$' | '@') {
            return None;
        }
        let len = match self {
            Self::Nothing => None,
            Self::Formats => {
                ["%s", "%d", "{}"].iter().find(|open| text.starts_with(**open)).map(|open| open.len())
            }
            Self::Braces => braced(text, 0),
            Self::Dollar => braced(text, 1).filter(|_| first == '$'),
            Self::Perl => variable(text, Kind::Text).map(|variable| variable.len),
            Self::Ruby => value_of_ruby(text),
            Self::Php => return value_of_php(text),
        }?;
        Some((len, text.get(..len)?.to_owned()))
    }
}

/// The length of a text up to the brace that closes the one at an index; all of it where none does.
fn braced(text: &str, at: usize) -> Option<usize> {
    let body = text.get(at..)?.strip_prefix('{')?;
    let mut depth = 1_usize;
    let end = body.char_indices().find_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    });
    Some(end.map_or(text.len(), |end| at + end + 2))
}

/// The length of the name that a text begins with, if one does.
fn named(text: &str) -> Option<usize> {
    let len = text.len() - text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    (len > 0 && !text.starts_with(|c: char| c.is_ascii_digit())).then_some(len)
}

/// The length of `#{…}`, `#$name`, `#@name` or `#@@name` at the beginning of a text.
fn value_of_ruby(text: &str) -> Option<usize> {
    let after = text.strip_prefix('#')?;
    if let Some(name) = after.strip_prefix('@') {
        let class = name.strip_prefix('@').unwrap_or(name);
        return Some(1 + after.len() - class.len() + named(class)?);
    }
    let Some(name) = after.strip_prefix('$') else { return braced(text, 1) };
    let special =
        || name.chars().next().filter(|c| c.is_ascii_digit() || "~*$?!@/\\;,.=:<>\"&`'+-".contains(*c));
    named(name).or_else(|| special().map(char::len_utf8)).map(|len| len + 2)
}

/// The length and the source of the variable of PHP at the beginning of a text. A word in the brackets behind it is a key.
fn value_of_php(text: &str) -> Option<(usize, String)> {
    if text.starts_with("{$") {
        let len = braced(text, 0)?;
        return Some((len, text.get(..len)?.to_owned()));
    }
    if text.starts_with("${") {
        let len = braced(text, 1)?;
        return Some((len, text.get(..len)?.to_owned()));
    }
    let name = 1 + named(text.strip_prefix('$')?)?;
    let source = text.get(..name)?.to_owned();
    let rest = text.get(name..)?;
    if let Some(field) = rest.strip_prefix("->").or_else(|| rest.strip_prefix("?->")).and_then(named) {
        let len = text.len() - rest.len() + rest.find('>')? + 1 + field;
        return Some((len, text.get(..len)?.to_owned()));
    }
    let end = rest.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST).unwrap_or(rest.len());
    let element = rest.get(..end).filter(|rest| rest.starts_with('[')).and_then(delimited);
    let Some((key, _)) = element else { return Some((name, source)) };
    let quoted = if named(key) == Some(key.len()) { format!("'{key}'") } else { key.to_owned() };
    Some((name + key.len() + 2, format!("{source}[{quoted}]")))
}
