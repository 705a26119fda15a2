//! Text with unknown stretches.
//!
//! A stretch that cannot be determined without running the script (an unset variable, the output of a
//! program) is replaced by a mark. Marks survive quoting, joining and repeated parsing: in
//! `ssh host "docker restart $NAME"`, the script on the host still contains the mark of `$NAME`.

mod unknown;
mod word;

use super::marks::{CLOSE, OPEN};
use super::on_disk::GLOB;
pub use unknown::Unknown;
pub(crate) use unknown::{Filter, Stretch, Unknowns};
pub use word::Word;

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
