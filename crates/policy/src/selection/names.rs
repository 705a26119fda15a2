//! Names of secrets, in the paths and expressions with which programs pick values.

use crate::lists::{PLAIN_VALUES, SECRET_MENTIONS, SECRET_NAMES, UNNAMING_CALLS, VALUE_NAMES};
use opsctl_reader::shell::glob;

/// Whether a path or an expression picks a value with the name of a secret: `.db.password`, `//ApiKey/text()`.
pub fn picks_secret(text: &str) -> bool {
    let text = ["[\"", "['", "[\\\"", "[?(@.name=="]
        .iter()
        .fold(text.to_owned(), |text, open| text.replace(open, "."));
    let text = without_calls(&text);
    let is_apart = |c: char| c.is_whitespace() || "|,(){};+=!<>&`\"'\\".contains(c);
    let mut start = 0;
    let mut is_quoted = false;
    for (at, found) in text.match_indices(is_apart).chain(std::iter::once((text.len(), ""))) {
        let path = text.get(start..at).unwrap_or_default();
        let rest = text.get(at..).unwrap_or_default();
        let is_whole = path.len() == text.len();
        let is_path = path.contains(['.', '/', '@', '#', ':', '$']);
        if (is_whole || is_path) && is_last_name_secret(path) && !is_only_tested(rest) {
            return true;
        }
        // `select(.key == "password").value`, `//*[local-name()="ApiKey"]/text()`.
        is_quoted |=
            matches!(found, "\"" | "'" | "\\") && !path.contains(char::is_whitespace) && is_secret_name(path);
        if is_quoted && (text.contains("getpath") || path.rsplit(['.', '/']).next().is_some_and(is_value)) {
            return true;
        }
        start = at + found.len();
    }
    false
}

/// Whether a name, or the last name of a path, is not known as that of a value without secrets.
pub fn picks_doubtful(text: &str) -> bool {
    let mut names = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    let last = names.rfind(|name| !name.is_empty()).unwrap_or_default();
    let name = spread(last);
    is_secret_name(last) || !PLAIN_VALUES.iter().any(|one| glob(one, &name))
}

/// Whether a name is that of a secret.
fn is_secret_name(name: &str) -> bool {
    let name = spread(name.trim_end_matches(|c: char| c.is_ascii_digit()));
    SECRET_NAMES.iter().any(|one| glob(one, name.trim_matches('_')))
}

/// A name in small letters with `_` between its words: `smtpPass` as `smtp_pass`.
fn spread(name: &str) -> String {
    let mut before = ' ';
    let mut spread = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            spread.push('_');
        }
        spread.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
        before = c;
    }
    spread
}

fn is_value(name: &str) -> bool {
    VALUE_NAMES.contains(&name)
}

/// Whether the last name of a path is that of a secret; `.text()` and indexes do not count.
fn is_last_name_secret(path: &str) -> bool {
    let names = path.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    let mut names = names.filter(|name| !name.is_empty() && !name.chars().all(|c| c.is_ascii_digit())).rev();
    names.find(|name| !is_value(name)).is_some_and(is_secret_name)
}

/// Whether what follows a path tests the value, or sets it, and does not print it.
fn is_only_tested(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', ')', '|', '?']);
    ["length", "type", "!=", "==", "= ", "not", "test(", "startswith("]
        .iter()
        .any(|test| rest.starts_with(test))
}

/// The text without the arguments of functions that print no value: `del(.password)`, `select(.password != null)`.
fn without_calls(text: &str) -> String {
    let mut rest = text;
    let mut left = String::new();
    while let Some(open) = rest.find('(') {
        let (before, after) = rest.split_at(open + 1);
        left.push_str(before);
        rest = after;
        let name =
            before.trim_end_matches('(').rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next();
        if !name.is_some_and(|name| UNNAMING_CALLS.contains(&name)) {
            continue;
        }
        let mut depth = 1_usize;
        let end = rest.find(|c| {
            depth = match c {
                '(' => depth + 1,
                ')' => depth - 1,
                _ => depth,
            };
            depth == 0
        });
        let (inner, after) = rest.split_at(end.unwrap_or(rest.len()));
        // What it compares with remains: `select(.key == "password").value`.
        left.extend(inner.split('"').skip(1).step_by(2).map(|quoted| format!("\"{quoted}\"")));
        rest = after;
    }
    left + rest
}

/// Whether a text contains a part of the name of a secret, such as `passw`.
pub fn mentions_secret(text: &str) -> bool {
    let text: String = text.to_lowercase().replace(['_', '-'], "");
    SECRET_MENTIONS.iter().any(|one| glob(one, &text))
}
