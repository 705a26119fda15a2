//! Delimiters and bodies of here-documents.

use crate::shell::marks::{APART, DOCUMENT};

/// A here-document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HereDocument {
    pub body: String,
    /// False when the delimiter is quoted.
    pub expands: bool,
}

/// A here-document whose body has not been reached.
pub(crate) struct Pending {
    pub number: usize,
    pub delimiter: String,
    /// Leading tabs are dropped.
    pub tabs: bool,
}

/// The delimiter's text, its length as written, and whether any of it is quoted.
pub(crate) fn delimiter(word: &str) -> (String, usize, bool) {
    let mut text = String::new();
    let mut quoted = false;
    let mut quote = None;
    let mut chars = word.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => return (text, at, quoted),
            _ if Some(c) == quote => quote = None,
            '\'' | '"' if quote.is_none() => {
                quote = Some(c);
                quoted = true;
            }
            '\\' if quote != Some('\'') => {
                quoted = true;
                text.extend(chars.next().map(|(_, c)| c));
            }
            _ if quote.is_none()
                && (c.is_whitespace() || matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')')) =>
            {
                return (text, at, quoted);
            }
            _ => text.push(c),
        }
    }
    (text, word.len(), quoted)
}

/// The body up to its closing line, and the length of both.
pub(crate) fn body(text: &str, pending: &Pending, nested: bool) -> (String, usize) {
    let mut body = String::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = if pending.tabs { line.trim_start_matches('\t') } else { line };
        let content = bare.strip_suffix('\n').unwrap_or(bare);
        if content == pending.delimiter {
            return (body, at + line.len());
        }
        // `EOF)` closes both, as some people write it.
        if nested
            && content
                .strip_prefix(pending.delimiter.as_str())
                .is_some_and(|rest| rest.trim_start().starts_with(')'))
        {
            return (body, at + (line.len() - bare.len()) + pending.delimiter.len());
        }
        body.push_str(bare);
        at += line.len();
    }
    // The end of the text ends it, with a warning from the shell.
    if !body.is_empty() && !body.ends_with('\n') {
        body.push('\n');
    }
    (body, text.len())
}

/// The number in the word of a here-string that stands for a here-document.
pub(crate) fn number(word: &str) -> Option<usize> {
    word.strip_prefix(DOCUMENT)?.split(DOCUMENT).next()?.parse().ok()
}

/// The text as it was, more or less, for a reading that looks for words.
pub(crate) fn restore(text: &str, documents: &[HereDocument]) -> String {
    let mut restored = String::with_capacity(text.len());
    for (at, part) in text.split(DOCUMENT).enumerate() {
        match part.parse::<usize>() {
            Ok(number) if at % 2 == 1 => {
                restored.push('\n');
                restored.push_str(documents.get(number).map_or("", |document| document.body.as_str()));
                restored.push('\n');
            }
            _ => restored.push_str(part),
        }
    }
    restored.replace(APART, "")
}
