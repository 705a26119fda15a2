//! Unpaired surrogate escapes: JavaScript strings may hold one, Rust strings cannot, and a command must not go
//! unread because of it.

use serde::de::DeserializeOwned;

/// Parses JSON; if that fails, once more with every unpaired surrogate replaced.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match replace_unpaired(text) {
        Some(text) => serde_json::from_str(&text).map_err(|_| error),
        None => Err(error),
    })
}

/// The text with every unpaired `\uD800`–`\uDFFF` escape replaced by `\uFFFD`; `None` if there is none.
fn replace_unpaired(text: &str) -> Option<String> {
    let unit = |at: usize| -> Option<u32> {
        let escape = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(escape, 16).ok()
    };
    let mut replaced = String::with_capacity(text.len());
    let mut at = 0;
    let mut found = false;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                found = true;
                replaced.push_str("\\uFFFD");
                at += 6;
                continue;
            }
            // A backslash takes the next character with it, so that `\\uD800` stays the text it is.
            _ if rest.starts_with('\\') => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        replaced.push_str(rest.get(..length)?);
        at += length;
    }
    found.then_some(replaced)
}
