//! Arguments of Ansible: `a=b c='d e'`, JSON, or YAML in one line.

/// The pairs of `a=b c='d e'`.
pub fn pairs_of_words(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in text.chars().chain(std::iter::once(' ')) {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => {
                if let Some((name, value)) = word.split_once('=') {
                    pairs.push((name.to_owned(), value.to_owned()));
                }
                word.clear();
            }
            _ => word.push(c),
        }
    }
    pairs
}

/// The scalar entries of a flat map in JSON or YAML.
pub fn pairs_of_map(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut entry = String::new();
    let mut quote = None;
    for c in text.chars().chain(std::iter::once(',')) {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if matches!(c, ',' | '{' | '}' | '[' | ']' | '\n') => {
                if let Some((name, value)) = entry.split_once(':') {
                    pairs.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                entry.clear();
            }
            _ => entry.push(c),
        }
    }
    pairs
}

/// The pairs of a text in either form.
pub(super) fn pairs(text: &str) -> Vec<(String, String)> {
    let text = text.trim();
    if text.starts_with('{') || (text.contains(": ") && !text.contains('=')) {
        pairs_of_map(text)
    } else {
        pairs_of_words(text)
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
