//! Private-use characters that carry information inside script text from one phase to a later one.
//!
//! Between the phases a script is a plain string, which may be expanded, joined and parsed again (`eval`,
//! `bash -c`, `ssh host …`). Everything that has to survive this is encoded in the string:
//!
//! - [`OPEN`] index [`CLOSE`]: a stretch of unknown text, as an index into
//!   [`Unknowns`](super::text::Unknowns). Written by `text`, read by every phase after the grammar.
//! - name [`SELECT`]: the variable of a `select`, which the parser receives as a `for`. Written by
//!   `grammar/prepare`, read by `execution/loops`.
//! - [`DOCUMENT`] index [`DOCUMENT`]: a here-document that is stored outside the text. Written by
//!   `grammar/lift`, read by `execution/redirect`.
//! - `$(` [`READS`] or [`WRITES`]: a process substitution, which the parser does not support in every word. Written by
//!   `grammar/lift`, read by `expansion/expand`.
//! - `<` [`APART`] `<`: two `<` that are not an operator. Written by `grammar/lift`, removed by
//!   `grammar/prepare`, and by `expansion/expand` in here-documents.
//!
//! [`without_marks`] replaces characters of this range in the input before it is read.

use std::borrow::Cow;

/// Starts the index of an unknown stretch.
pub(crate) const OPEN: char = '\u{E000}';
/// Ends the index of an unknown stretch.
pub(crate) const CLOSE: char = '\u{E001}';
/// Follows the variable name of a `select`.
pub(crate) const SELECT: char = '\u{E002}';
/// Encloses the index of a here-document that is stored outside the text.
pub(crate) const DOCUMENT: char = '\u{E003}';
/// Separates two `<` that are not an operator.
pub(crate) const APART: char = '\u{E004}';

/// Follows the `$(` that stands for `<(`.
pub(crate) const READS: char = '\u{E005}';
/// Follows the `$(` that stands for `>(`.
pub(crate) const WRITES: char = '\u{E006}';

/// Replaces the characters that are reserved for marks with U+FFFD, and removes NUL, which no argument can
/// contain.
pub(crate) fn without_marks(text: &str) -> Cow<'_, str> {
    let reserved = |c: char| ('\u{E000}'..='\u{E00F}').contains(&c);
    if text.contains(|c| reserved(c) || c == '\0') {
        text.replace(reserved, "\u{FFFD}").replace('\0', "").into()
    } else {
        text.into()
    }
}
