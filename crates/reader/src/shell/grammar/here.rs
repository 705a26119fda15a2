//! Here-documents: delimiters, bodies, and the marks that replace them in the text.

use crate::shell::marks::{APART, DOCUMENT, READS, WRITES};

/// A here-document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HereDocument {
    pub body: String,
    /// True when the body is expanded; false when its delimiter is quoted.
    pub expands: bool,
}

/// A here-document whose body follows the current line.
pub(crate) struct Pending {
    pub number: usize,
    pub delimiter: String,
    /// True for `<<-`: leading tabs are removed.
    pub tabs: bool,
    /// The number of substitutions around it.
    pub depth: usize,
}

/// The delimiter at the start of `word`, its length in bytes as written, and whether it is quoted.
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

/// The body at the start of `text`, and the length in bytes of the body and its closing line.
pub(crate) fn body(text: &str, pending: &Pending, nested: bool) -> (String, usize) {
    let mut body = String::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = if pending.tabs { line.trim_start_matches('\t') } else { line };
        let content = bare.strip_suffix('\n').unwrap_or(bare);
        if content == pending.delimiter {
            return (body, at + line.len());
        }
        // `EOF)` ends the document and the substitution around it.
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
    // Without a closing line, bash warns and takes the rest of the text.
    if !body.is_empty() && !body.ends_with('\n') {
        body.push('\n');
    }
    (body, text.len())
}

/// The index of the here-document that the word of a here-string replaces.
pub(crate) fn number(word: &str) -> Option<usize> {
    word.strip_prefix(DOCUMENT)?.split(DOCUMENT).next()?.parse().ok()
}

/// The text with here-documents put back in place of their marks, for searches of unread text.
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
    restored.replace(APART, "").replace(&format!("$({READS}"), "<(").replace(&format!("$({WRITES}"), ">(")
}
