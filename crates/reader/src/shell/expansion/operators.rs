//! Operators behind a name in `${…}`: what they make of its value.

use super::arithmetic::Outcome;
use super::pattern;
use super::splitter::Expansion;
use crate::shell::evaluator::Evaluator;
use crate::shell::grammar::ansi_c::ansi_c;
use crate::shell::grammar::word::{skip_expansion, skip_quotes};
use crate::shell::state::{Shell, Value};
use crate::shell::text::{Origin, Stretch, Unknown, is_known, is_name, stretches};

/// Maximum length in bytes of values and patterns for `#`, `%` and `/`, which take quadratic time.
const LONGEST_TRIMMED: usize = 4096;

/// What is between the braces: a variable, an element of it, and the operator with its operands.
pub(super) struct Reference<'a> {
    pub(super) name: &'a str,
    pub(super) index: Option<&'a str>,
    pub(super) operator: &'a str,
}

/// The value of a reference before an operator is applied.
pub(super) enum Referenced {
    /// The script does not set it; the environment may.
    Missing,
    Unset,
    Texts(Expansion),
}

/// Whether bash knows an operator behind a name.
pub(super) fn is_operator(operator: &str) -> bool {
    match operator.strip_prefix('@') {
        Some(change) => matches!(change, "U" | "u" | "L" | "Q" | "E" | "P" | "A" | "K" | "k" | "a"),
        None => {
            operator.is_empty() || operator.starts_with([':', '-', '=', '?', '+', '#', '%', '/', '^', ','])
        }
    }
}

/// Whether what a reference finds counts as unset; with `colon`, the empty text does. `None` where that is not certain.
fn is_unset(found: &Referenced, colon: bool) -> Option<bool> {
    match found {
        Referenced::Unset => Some(true),
        Referenced::Texts(Expansion { texts, .. }) if texts.is_empty() => Some(true),
        Referenced::Texts(_) if !colon => Some(false),
        // The environment may set it, and what is computed may be another text.
        Referenced::Missing | Referenced::Texts(Expansion { origin: Origin::Computed, .. }) => None,
        Referenced::Texts(Expansion { texts, .. }) => {
            let has_known =
                texts.iter().flat_map(|text| stretches(text)).any(|s| matches!(s, Stretch::Known(_)));
            if texts.iter().all(String::is_empty) { Some(true) } else { has_known.then_some(false) }
        }
    }
}

/// An expansion that is one of these texts.
pub(super) fn one_of(evaluator: &mut Evaluator, body: &str, texts: Vec<String>) -> Expansion {
    let source = evaluator.unknowns.show(&format!("${{{body}}}"));
    Expansion::text(evaluator.one_of(texts, &source), Origin::Assigned)
}

/// Applies the operator of a reference; `None` when the result is unknown.
pub(super) fn apply(
    evaluator: &mut Evaluator,
    shell: &mut Shell,
    reference: &Reference<'_>,
    found: Referenced,
) -> Option<Expansion> {
    let operator = reference.operator;
    let body = &format!("{}{operator}", reference.name);
    if operator.is_empty() {
        return match found {
            Referenced::Missing => None,
            Referenced::Unset if reference.index == Some("@") => {
                Some(Expansion { texts: vec![], list: true, origin: Origin::Assigned })
            }
            Referenced::Unset => Some(Expansion::text(String::new(), Origin::Assigned)),
            Referenced::Texts(found) => Some(found),
        };
    }
    let (colon, rest) = operator.strip_prefix(':').map_or((false, operator), |rest| (true, rest));
    let kind = rest.chars().next();
    if let Some(kind @ ('-' | '=' | '?' | '+')) = kind {
        let word = rest.get(1..).unwrap_or_default();
        let unset = is_unset(&found, colon);
        if kind == '+' && unset == Some(true) {
            return Some(Expansion::text(String::new(), Origin::Assigned));
        }
        if kind != '+' && unset == Some(false) {
            return if let Referenced::Texts(found) = found { Some(found) } else { None };
        }
        let before = evaluator.substitutions;
        let mut text = evaluator.text(shell, word);
        // In double quotes, single quotes are text.
        if word.contains('\'') {
            evaluator.run_rest(shell, word, before);
        }
        // Quotes in the word make a word of what is empty, and keep blanks together.
        // Between quotes, single quotes and other escapes are text.
        let is_doubtful = word.contains('"') && (text.is_empty() || text.contains(' '));
        if is_doubtful || word.contains(['\'', '\\']) {
            text = evaluator.unknowns.many(word);
        }
        if kind == '?' {
            return None;
        }
        let other = match found {
            _ if unset.is_some() => None,
            _ if kind == '+' => Some(String::new()),
            Referenced::Texts(found) => Some(found.joined(None, &evaluator.unknowns)),
            _ => {
                let source = format!("${}", reference.name);
                let own = Unknown { source, many: true, is_inherited: true, ..Unknown::default() };
                Some(evaluator.unknowns.mark(own))
            }
        };
        let expansion = match other {
            Some(other) => one_of(evaluator, body, vec![text, other]),
            None => Expansion::text(text, Origin::Assigned),
        };
        if kind == '=' && !is_name(reference.name) {
            evaluator.may_fail(shell);
        } else if kind == '=' {
            let value = expansion.texts.first().cloned().unwrap_or_default();
            evaluator.settled(shell, |this, shell| this.set_text(shell, reference.name, value));
        }
        return Some(expansion);
    }
    let Referenced::Texts(found) = found else {
        // An offset is evaluated also where there is nothing to cut.
        if colon {
            cut(evaluator, shell, rest);
        }
        // A prompt that the environment may set runs what it holds.
        if operator == "@P" {
            evaluator.unread(shell, &format!("${{{body}}}"));
        }
        return None;
    };
    // Plain patterns and numbers are followed with certainty.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "#%/^,:*._-@ ".contains(c);
    let is_certain = operator.chars().all(is_plain)
        && !operator.starts_with('@')
        && !found.list
        && found.texts.len() == 1
        && !shell.matches_loosely;
    evaluator.is_computed |= !is_certain;
    if colon {
        let first = i64::from(matches!(reference.name, "@" | "*"));
        let is_list = found.list || reference.name == "*" || reference.index == Some("*");
        return slice(evaluator, shell, (reference.name, rest, is_list), (found, first));
    }
    let Expansion { texts, list, origin } = found;
    if operator == "@P" && !texts.iter().all(|text| is_known(text)) {
        for text in texts {
            evaluator.prompt(shell, &text);
        }
        return None;
    }
    // An assignment. The environment may have exported the variable.
    if let ("@A", [text]) = (operator, texts.as_slice()) {
        let assignment = format!("{}='{}'", reference.name, text.replace('\'', "'\\''"));
        let declaration = format!("declare -x {assignment}");
        return is_known(text).then(|| one_of(evaluator, body, vec![assignment, declaration]));
    }
    let mut changed = Vec::with_capacity(texts.len());
    for text in texts {
        if !is_known(&text) || text.len() > LONGEST_TRIMMED {
            return None;
        }
        changed.push(change(evaluator, shell, operator, &text)?);
    }
    Some(Expansion { texts: changed, list, origin })
}

/// The text that an operator makes of a known one; `None` when it is unknown.
fn change(evaluator: &mut Evaluator, shell: &mut Shell, operator: &str, text: &str) -> Option<String> {
    // What a character is and which case it has, the locale says.
    let is_certain = text.is_ascii() || operator.starts_with(['/', '@']);
    if let Some(sign) = ["##", "%%", "#", "%"].into_iter().find(|sign| operator.starts_with(*sign)) {
        let pattern = evaluator.pattern(shell, operator.get(sign.len()..)?);
        return trimmed(text, sign, &pattern).filter(|_| is_certain);
    }
    match operator {
        "@Q" | "@K" | "@k" => return Some(format!("'{}'", text.replace('\'', "'\\''"))),
        "@E" => return Some(ansi_c(&format!("$'{}'", text.replace('\'', "\\'"))).0),
        // A prompt: its substitutions run.
        "@P" => return Some(evaluator.prompt(shell, text)),
        "^^" | "@U" if text.is_ascii() => return Some(text.to_uppercase()),
        ",," | "@L" if text.is_ascii() => return Some(text.to_lowercase()),
        "^" | "@u" if text.is_ascii() => return Some(first_letter(text, char::to_ascii_uppercase)),
        "," if text.is_ascii() => return Some(first_letter(text, char::to_ascii_lowercase)),
        _ => {}
    }
    replaced(evaluator, shell, text, operator.strip_prefix('/')?)
}

/// What is left of a text without its beginning or its end.
fn trimmed(text: &str, sign: &str, pattern: &str) -> Option<String> {
    // Sets depend on the locale, and other patterns are not followed.
    if !is_known(pattern) || pattern.len() > LONGEST_TRIMMED || pattern.contains(['[', '(']) {
        return None;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let chars: Vec<char> = text.chars().collect();
    let is_front = sign.starts_with('#');
    let fits = |at: &usize| {
        let (front, end) = chars.split_at(*at);
        pattern::matches(&pattern, if is_front { front } else { end })
    };
    let mut places = 0..=chars.len();
    // `##` and `%` begin at the end of the text.
    let cut = if matches!(sign, "##" | "%") { places.rfind(fits) } else { places.find(fits) };
    let rest =
        cut.map_or(chars.as_slice(), |at| if is_front { chars.split_at(at).1 } else { chars.split_at(at).0 });
    Some(rest.iter().collect())
}

/// A text with what matches a pattern replaced. `operands` is `PATTERN/REPLACEMENT`, with another `/` in front for all matches.
fn replaced(evaluator: &mut Evaluator, shell: &mut Shell, text: &str, operands: &str) -> Option<String> {
    let all = operands.strip_prefix('/');
    let operands = all.unwrap_or(operands);
    let (pattern, replacement) = halves(operands);
    let pattern = evaluator.pattern(shell, pattern);
    let replacement = evaluator.text(shell, replacement);
    // A slash at the beginning of a pattern says that all are meant; `&` in a replacement is what matched.
    let is_followed = is_known(&pattern) && !shell.matches_loosely && !pattern.starts_with('/');
    if !is_followed || replacement.contains(['&', '\\']) {
        return None;
    }
    let anchor = pattern.chars().next().filter(|c| matches!(c, '#' | '%') && all.is_none());
    let literal = pattern::literal(pattern.get(anchor.map_or(0, char::len_utf8)..)?)?;
    let without = match anchor {
        Some('#') => text.strip_prefix(&literal).map(|rest| format!("{replacement}{rest}")),
        Some(_) => text.strip_suffix(&literal).map(|rest| format!("{rest}{replacement}")),
        None if literal.is_empty() => return None,
        None if all.is_some() => Some(text.replace(&literal, &replacement)),
        None => Some(text.replacen(&literal, &replacement, 1)),
    };
    Some(without.unwrap_or_else(|| text.to_owned()))
}

/// What stands before and behind the first slash that is neither quoted nor in an expansion.
fn halves(operands: &str) -> (&str, &str) {
    let mut at = 0;
    while let Some(rest) = operands.get(at..).filter(|rest| !rest.is_empty()) {
        at += match rest.chars().next() {
            Some('/') => return (operands.get(..at).unwrap_or_default(), rest.get(1..).unwrap_or_default()),
            Some('\\') => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            Some('$' | '`') => skip_expansion(rest),
            Some('\'' | '"') => skip_quotes(rest),
            c => c.map_or(1, char::len_utf8),
        };
    }
    (operands, "")
}

fn first_letter(text: &str, change: impl Fn(&char) -> char) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| change(&c)).into_iter().chain(chars).collect()
}

/// The offset of `${NAME:offset:length}`, and its length if there is one; `None` where they are not known.
fn cut(evaluator: &mut Evaluator, shell: &mut Shell, numbers: &str) -> Option<(i64, Option<usize>)> {
    let numbers = evaluator.text(shell, numbers);
    evaluator.run_subscripts(shell, &numbers);
    let before = shell.clone();
    let mut found = numbers.splitn(2, ':').map(|number| evaluator.calculate(shell, number));
    let (offset, length) = (found.next()?, found.next());
    // A length below 0 counts from the end, which may be before the offset.
    let is_short = |length: Outcome| length.may_fail || length.value.is_none_or(|length| length < 0);
    if offset.may_fail || length.is_some_and(is_short) {
        evaluator.may_fail(&before);
    }
    let length = match length {
        Some(length) => Some(usize::try_from(length.value?).ok()?),
        None => None,
    };
    Some((offset.value?, length))
}

/// The result of `${NAME:offset:length}`; `None` when it is unknown. `first` is the index of the first element, 0 or 1.
fn slice(
    evaluator: &mut Evaluator,
    shell: &mut Shell,
    (name, rest, is_list): (&str, &str, bool),
    (Expansion { texts, list, origin }, first): (Expansion, i64),
) -> Option<Expansion> {
    let (offset, length) = cut(evaluator, shell, rest)?;
    let start = |len: usize| {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        // An offset before the beginning gives nothing.
        usize::try_from(if offset < 0 { len + offset } else { (offset - first).max(0) }).unwrap_or(usize::MAX)
    };
    if is_list {
        // Offsets are keys, which may have gaps.
        let has_gaps = shell.get(name).is_some_and(|variable| match &variable.value {
            Value::Array(items) => items.iter().enumerate().any(|(at, (key, _))| *key != at.to_string()),
            _ => false,
        });
        // Nor is it known where the elements stand behind one that may be none or several.
        if has_gaps || texts.iter().any(|text| evaluator.unknowns.may_be_several(text)) {
            return None;
        }
        let start = start(texts.len());
        let texts = texts.into_iter().skip(start).take(length.unwrap_or(usize::MAX)).collect();
        return Some(Expansion { texts, list, origin });
    }
    // What a character is, the locale says.
    let text = texts.first().filter(|text| is_known(text) && text.is_ascii())?;
    let start = start(text.chars().count());
    let text = text.chars().skip(start).take(length.unwrap_or(usize::MAX)).collect();
    Some(Expansion::text(text, origin))
}
