//! Words during expansion, and where their texts come from.

use super::stretch::begins_as_pattern;

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

/// The words separated by single blanks, as `eval` and `ssh` join them.
pub(crate) fn join(fields: &[Field]) -> String {
    fields.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ")
}
