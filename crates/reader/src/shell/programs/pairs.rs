//! Arguments of Ansible: `a=b c='d e'`, JSON, or YAML in one line.

/// The pairs with this sign between name and value, in the parts of a text that end outside of quotes.
fn split(text: &str, ends: impl Fn(char) -> bool, sign: char) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut part = String::new();
    let mut quote = None;
    for c in text.chars().map(Some).chain([None]) {
        match (quote, c) {
            (Some(open), Some(c)) if c == open => quote = None,
            (None, Some(c @ ('"' | '\''))) => quote = Some(c),
            (None, c) if c.is_none_or(&ends) => {
                let pair = part.split_once(sign);
                pairs.extend(pair.map(|(name, value)| (name.to_owned(), value.to_owned())));
                part.clear();
            }
            (_, c) => part.extend(c),
        }
    }
    pairs
}

/// The pairs of a text in either form.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let text = text.trim();
    if text.starts_with('{') || (text.contains(": ") && !text.contains('=')) {
        let entries = split(text, |c| matches!(c, ',' | '{' | '}' | '[' | ']' | '\n'), ':').into_iter();
        entries.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
    } else {
        split(text, char::is_whitespace, '=')
    }
}

/// The items of the list that belongs to a key: `"argv": ["a", "b"]`, `argv=a,b`.
pub(super) fn list(text: &str, key: &str) -> Option<Vec<String>> {
    let (_, rest) = text.split_once(key)?;
    let rest = rest.trim_start_matches(['"', '\'']).trim_start();
    let rest = rest.strip_prefix([':', '='])?.trim_start().trim_start_matches(['"', '\'']);
    let items = match rest.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => rest.split(|c: char| c.is_whitespace() || c == '}').next().unwrap_or(rest),
    };
    let own = |item: &str| item.trim().trim_matches(['"', '\'']).to_owned();
    Some(items.split(',').map(own).filter(|item| !item.is_empty()).collect())
}
