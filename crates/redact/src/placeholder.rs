//! Values that stand for a secret and are none: references, masks, and words such as `none`.

use super::built_in::PLACEHOLDERS;

/// The replacement for a secret.
pub const GONE: &str = "[redacted]";

/// Whether what a pattern captured is a secret: not empty, not redacted already, and no placeholder. `after` is what follows.
pub fn is_secret(text: &str, after: &str, mixed: bool) -> bool {
    !text.is_empty() && text != GONE && (!mixed || is_mixed(text.as_bytes())) && !is_placeholder(text, after)
}

/// Whether a text has capital letters, small letters and digits.
pub fn is_mixed(text: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| text.iter().any(is);
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

fn is_placeholder(text: &str, after: &str) -> bool {
    let text = text.trim().trim_end_matches([',', ';']).trim_matches(['"', '\'']);
    let bare = text.trim_matches(['<', '>', '(', ')', '[', ']', '*', ' ']);
    is_reference(text)
        || text.starts_with("${") && after.starts_with('}') && is_reference(&format!("{text}}}"))
        || PLACEHOLDERS.words.iter().any(|word| bare.eq_ignore_ascii_case(word))
        || PLACEHOLDERS.beginnings.iter().any(|beginning| text.starts_with(beginning))
        || text.bytes().all(|byte| b"*.-#".contains(&byte))
        || text.bytes().all(|byte| b" ,:;{}[]()=".contains(&byte))
        || text.chars().all(|part| matches!(part, '•' | '…' | '●'))
        || is_path(text)
        || is_version(text)
        || is_code(text, after)
}

/// Whether a text is a path into a usual folder, also after a name: `token:/etc/app/token`.
fn is_path(text: &str) -> bool {
    let text = text.rsplit(':').next().unwrap_or(text);
    PLACEHOLDERS.folders.iter().any(|folder| text.starts_with(folder))
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
}

/// Whether a text is a version of a package, such as `^9.0.2`.
fn is_version(text: &str) -> bool {
    let number = text.trim_start_matches(['^', '~', '<', '>', '=', 'v', ' ']);
    number.contains('.')
        && number.starts_with(|part: char| part.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Whether a text is code that computes a value: a call such as `getpass.getpass(…)`, an entry such as `line[2:]`, a place
/// such as `var.db_password`, or a name such as `password`.
fn is_code(text: &str, after: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphabetic() || b"_.:".contains(&byte);
    let name = text.split(['(', '[']).next().unwrap_or_default();
    if name.is_empty() || !name.bytes().all(is_of_name) {
        return false;
    }
    if name.len() < text.len() {
        let is_index = text.ends_with(['(', '[']) && after.starts_with(['"', '\'']);
        return is_index || text.ends_with([')', ']']);
    }
    after.starts_with('(')
        || PLACEHOLDERS.places.iter().any(|place| text.starts_with(place))
        || PLACEHOLDERS.names.contains(&text)
}

/// Whether a text is only a reference to a variable: one in capital letters, such as `$TOKEN`, `"${TOKEN}"` and
/// `Bearer $TOKEN`, or one in braces, such as `${db_password}`.
fn is_reference(text: &str) -> bool {
    let word =
        text.rsplit_once(' ').filter(|(scheme, _)| scheme.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let word = word.map_or(text, |(_, word)| word);
    let Some(name) = word.strip_prefix('$') else { return false };
    let in_braces = name.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
    let is_name = |byte: u8| match byte {
        b'A'..=b'Z' | b'0'..=b'9' | b'_' => true,
        b'a'..=b'z' | b'.' | b'-' => in_braces.is_some(),
        _ => false,
    };
    let name = in_braces.unwrap_or(name);
    !name.is_empty() && name.bytes().all(is_name)
}
