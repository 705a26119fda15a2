//! The known and unknown stretches of a text.

use crate::shell::marks::{CLOSE, OPEN};
use crate::shell::on_disk::GLOB;

/// A piece of text between marks, or the index of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stretch<'a> {
    Known(&'a str),
    Mark(usize),
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
pub(super) const fn is_part(c: char) -> bool {
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
