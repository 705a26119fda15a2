//! Regular expressions that select lines, or their parts, by harmless names.

use std::borrow::Cow;

use crate::lists::{HARMLESS_ENDINGS, HARMLESS_NAMES, SECRET_PARTS};

/// The shortest run of letters that names what it selects.
const SHORTEST_NAME: usize = 3;
/// The shortest name that needs no `:` or `=` after it: a shorter one may be a part of another one.
const SHORTEST_WORD: usize = 5;

/// Whether a regular expression selects lines or their parts by a name that is no secret's: `image: \K.*`, or only numbers.
pub fn names_harmless(expression: &str) -> bool {
    let repeated = [")*", ")?", "){", "\\)*", "\\?", "(?<!", "(?!"];
    let is_one = |one: &str| is_harmless(one, false);
    !repeated.iter().any(|one| expression.contains(one)) && spread(expression).split('|').all(is_one)
}

/// Whether a regular expression selects lines by names that are all known as those of values without secrets.
pub fn names_known(expression: &str) -> bool {
    names_harmless(expression) && spread(expression).split('|').all(|one| is_harmless(one, true))
}

/// `^(TZ|PUID)=` as `^TZ=|^PUID=`.
fn spread(expression: &str) -> Cow<'_, str> {
    let group = || {
        let (before, rest) = expression.split_once('(')?;
        let (inner, after) = rest.split_once(')')?;
        let is_one = !before.contains('|') && !inner.contains('(') && !after.contains(['(', '|']);
        is_one.then_some((before.trim_end_matches('\\'), inner.trim_end_matches('\\'), after))
    };
    let Some((before, inner, after)) = group() else { return Cow::Borrowed(expression) };
    let alternatives: Vec<String> =
        inner.split('|').map(|one| format!("{before}{}{after}", one.trim_end_matches('\\'))).collect();
    Cow::Owned(alternatives.join("|"))
}

/// Whether a name is known as that of a value without secrets.
pub fn is_harmless_name(name: &str) -> bool {
    HARMLESS_NAMES.contains(&name.to_lowercase().replace(['_', '-', ' '], "").as_str())
}

/// Whether the last part of a name says that its value is no secret, and no other part that it is one: `UNBOUND_IMAGE_TAG`.
fn ends_harmlessly(name: &str) -> bool {
    let name = name.to_lowercase();
    let Some((first, last)) = name.rsplit_once('_') else { return false };
    let first = first.replace(['_', '-'], "");
    HARMLESS_ENDINGS.contains(&last) && !SECRET_PARTS.iter().any(|part| first.contains(part))
}

/// Whether one alternative names what is harmless; `all` of its names are known.
fn is_harmless(expression: &str, all: bool) -> bool {
    if is_numeric(expression) {
        return true;
    }
    let plain =
        ["(?i)", "(?<=", "(?:", "(?="].iter().fold(expression.to_owned(), |text, one| text.replace(one, "("));
    let mut rest = plain.as_str();
    let mut earlier = "";
    let mut named = false;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '[' || c == '\\') {
        let (before, begins) = rest.split_at(at);
        if begins.starts_with('\\') {
            rest = begins.get(2..).unwrap_or_default();
            continue;
        }
        if begins.starts_with('[') {
            let end = begins.get(2..).and_then(|inner| inner.find(']')).map_or(begins.len(), |end| end + 3);
            rest = begins.get(end..).unwrap_or_default();
            continue;
        }
        let end = begins
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(begins.len());
        let (run, after) = begins.split_at(end);
        rest = after;
        // `Exit Code` is one name.
        let is_joined = before == " " && is_harmless_name(&format!("{earlier} {run}"));
        earlier = run;
        let name = run.to_lowercase().replace(['_', '-'], "");
        let is_element = before.ends_with('<') && after.starts_with('>');
        let is_key = is_element || after.trim_start_matches(['"', '\'', ' ', ')']).starts_with([':', '=']);
        let is_known = is_joined || is_harmless_name(run) || is_key && ends_harmlessly(run);
        if all && !is_known {
            return false;
        }
        if name.len() < SHORTEST_NAME {
            // `^IP:`
            named |= is_known && is_key && before.ends_with(['^', '"', '<', '(']);
            continue;
        }
        if !is_known && SECRET_PARTS.iter().any(|part| name.contains(part) || part.contains(&name)) {
            return false;
        }
        let is_whole = is_joined || before.ends_with('"') && after.starts_with('"');
        named |= is_key || is_known && (is_whole || name.len() >= SHORTEST_WORD);
    }
    named
}

/// Whether an expression matches only numbers, as addresses and versions have them.
fn is_numeric(expression: &str) -> bool {
    let mut inside = false;
    let plain = expression.replace("\\.", "").replace("\\d", "0").replace("\\b", "");
    let is_number = plain.chars().all(|c| {
        inside = (inside || c == '[') && c != ']';
        c.is_ascii_digit() || "[]{}(),-+?:/".contains(c) || inside && c == '.'
    });
    is_number && plain.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_secrets_make_an_expression_harmless() {
        for (harmless, expression) in [
            (true, "\"Image\":"),
            (true, "\"Image\""),
            (true, "image: \\K.*"),
            (true, "^(TZ|PUID|PGID)="),
            (true, "Exit Code"),
            (true, "^IP:"),
            (true, "<Port>\\K[0-9]+"),
            (false, "\"Password\":"),
            (false, "Exit Code|Password"),
            (false, "name pass"),
            (false, "IP"),
            (false, "port"),
        ] {
            assert_eq!(names_harmless(expression), harmless, "{expression}");
        }
        for (known, expression) in [
            (true, "^(TZ|PUID|PGID)="),
            (true, "image:"),
            (true, "^(LAN_IP|DOMAIN|IMAGE_TAG)="),
            (false, "LAN_IP"),
            (false, "^AUTH_TAG="),
            (false, "FOO="),
            (false, "--file=/tmp/v"),
        ] {
            assert_eq!(names_known(expression), known, "{expression}");
        }
    }
}
