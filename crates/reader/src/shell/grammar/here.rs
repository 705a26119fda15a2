//! Here-documents: delimiters, bodies, and the marks that replace them in the text.

use std::borrow::Cow;

use super::error::SyntaxError;
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

/// The delimiter at the start of `word`, its length in bytes as written, and whether it is quoted. One that bash might read in
/// another way is an error.
pub(crate) fn delimiter(word: &str) -> Result<(String, usize, bool), SyntaxError> {
    let mut text = String::new();
    let mut quoted = false;
    let mut quote = None;
    let mut chars = word.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => return Ok((text, at, quoted)),
            _ if Some(c) == quote => quote = None,
            '\'' | '"' if quote.is_none() => {
                quote = Some(c);
                quoted = true;
            }
            '\\' if quote != Some('\'') => {
                quoted = true;
                text.extend(chars.next().map(|(_, c)| c));
            }
            _ if quote.is_none() && matches!(c, ' ' | '\t' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => {
                return Ok((text, at, quoted));
            }
            '$' | '`' if quote != Some('\'') => return Err(SyntaxError::InvolvedDelimiter),
            ' '..='~' => text.push(c),
            _ => return Err(SyntaxError::InvolvedDelimiter),
        }
    }
    Ok((text, word.len(), quoted))
}

/// The first line of a text without its line break, and its length with it. Where the text expands, bash joins lines that end with
/// a backslash.
fn line(text: &str, joins: bool) -> (Cow<'_, str>, usize) {
    let mut joined = String::new();
    let mut at = 0;
    for part in text.split_inclusive('\n') {
        at += part.len();
        let content = part.strip_suffix('\n').unwrap_or(part);
        let backslashes = content.len() - content.trim_end_matches('\\').len();
        let continues = joins && backslashes % 2 == 1 && part.ends_with('\n');
        if !continues && joined.is_empty() && at == part.len() {
            return (Cow::Borrowed(content), at);
        }
        joined.push_str(if continues {
            content.get(..content.len() - 1).unwrap_or_default()
        } else {
            content
        });
        if !continues {
            break;
        }
    }
    (Cow::Owned(joined), at)
}

/// The body at the start of `text`, and the length in bytes of the body and its closing line.
pub(crate) fn body(text: &str, pending: &Pending, nested: bool, expands: bool) -> (String, usize) {
    let mut body = String::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (whole, len) = line(rest, expands);
        let content = if pending.tabs { whole.trim_start_matches('\t') } else { &whole };
        if content == pending.delimiter {
            return (body, at + len);
        }
        // `EOF)` ends the document and the substitution around it.
        let behind = content.strip_prefix(pending.delimiter.as_str()).filter(|_| nested);
        if let Some(behind) = behind.filter(|behind| behind.trim_start().starts_with(')')) {
            let broken = usize::from(rest.get(..len).is_some_and(|line| line.ends_with('\n')));
            return (body, at + len - broken - behind.len());
        }
        body.push_str(content);
        body.push('\n');
        at += len;
    }
    // Without a closing line, bash warns and takes the rest of the text.
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
