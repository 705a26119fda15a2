//! The private-use characters with which texts are marked while they are read.
//!
//! A text passes through several phases as a plain string: it is lifted, cut into tokens, expanded, joined
//! and perhaps parsed again (`eval`, `bash -c`, `ssh host …`). What one phase has to tell a later one
//! travels inside the text, as characters that no script needs:
//!
//! | character | written by | read by | meaning |
//! |---|---|---|---|
//! | [`OPEN`] … [`CLOSE`] | [`Unknowns::mark`](super::text::Unknowns::mark) | expansion and all after it | between them stands the index of a stretch that is not known |
//! | [`SELECT`] | `grammar/prepare` | `execution/loops` | ends the variable of a `select`, which the grammar is given as a `for` |
//! | [`DOCUMENT`] … [`DOCUMENT`] | `grammar/lift` | `execution/redirect` | between them stands the number of a here-document that was lifted out |
//! | [`APART`] | `grammar/lift` | `grammar/prepare` | keeps two `<` apart that are no operator; dropped from words once they are tokens |
//!
//! Input cannot bring characters of its own from this range: [`without_marks`] replaces them before
//! anything is read.

use std::borrow::Cow;

/// Opens a stretch that is not known.
pub(crate) const OPEN: char = '\u{E000}';
/// Closes a stretch that is not known.
pub(crate) const CLOSE: char = '\u{E001}';
/// Ends the variable's name in a `select`.
pub(crate) const SELECT: char = '\u{E002}';
/// Stands before and after the number of a here-document that was lifted out.
pub(crate) const DOCUMENT: char = '\u{E003}';
/// Keeps two `<` apart that are no operator.
pub(crate) const APART: char = '\u{E004}';

/// The text without characters that could be taken for marks, and without NUL, which no argument can hold.
pub(crate) fn without_marks(text: &str) -> Cow<'_, str> {
    let reserved = |c: char| ('\u{E000}'..='\u{E00F}').contains(&c);
    if text.contains(|c| reserved(c) || c == '\0') {
        text.replace(reserved, "\u{FFFD}").replace('\0', "").into()
    } else {
        text.into()
    }
}
