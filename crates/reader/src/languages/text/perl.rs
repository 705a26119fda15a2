//! Variables in texts and patterns of Perl, and the code that some of them run.

use super::delimiters::delimited;
use crate::languages::names::Names;

/// What begins code in a pattern of Perl.
const BLOCKS: Names = Names(&["(?{", "(??"]);
/// Verbs of a pattern of Perl, which steer the search and run nothing.
const VERBS: Names = Names(&["(*SKIP)", "(*F)", "(*FAIL)", "(*ACCEPT)", "(*PRUNE)", "(*COMMIT)", "(*THEN)"]);
/// The longest subscript in bytes that is read.
const LONGEST: usize = 512;
/// The maximum nesting of subscripts.
const DEEPEST: usize = 4;

/// A text or a pattern of Perl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text, in which `$|` and `$)` are variables.
    Text,
    /// A pattern, in which they are ends.
    Pattern,
}

/// A variable that a text begins with.
pub(super) struct Variable {
    /// Its length in bytes, with its subscripts.
    pub len: usize,
    /// Whether it runs no code.
    is_plain: bool,
}

/// The length of a name with its packages.
fn name_len(text: &str) -> usize {
    let mut len = 0;
    loop {
        let rest = text.get(len..).unwrap_or_default();
        let word = rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let after = rest.get(word..).unwrap_or_default();
        let is_name = |c: char| c.is_alphabetic() || c == '_';
        // `$name'other` is a name in a package, as `$name::other` is.
        let separator = if after.starts_with("::") {
            2
        } else {
            usize::from(
                len + word > 0 && after.strip_prefix('\'').is_some_and(|after| after.starts_with(is_name)),
            )
        };
        len += word + separator;
        if separator == 0 {
            return len;
        }
    }
}

/// The beginning of a text, in which the end of a subscript is searched.
fn start(text: &str) -> &str {
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Whether a text is a name without packages.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The variable that a text begins with.
pub(super) fn variable(text: &str, kind: Kind) -> Option<Variable> {
    variable_within(text, kind, 0)
}

fn variable_within(text: &str, kind: Kind, depth: usize) -> Option<Variable> {
    let sign = text.chars().next().filter(|sign| matches!(sign, '$' | '@'))?;
    let after = text.get(1..)?;
    let next = after.chars().next()?;
    if next == '{' {
        let Some((inner, _)) = delimited(start(after)) else {
            return Some(Variable { len: text.len(), is_plain: false });
        };
        let is_plain = sign == '$' && is_word(inner);
        return Some(subscripted(text, inner.len() + 3, is_plain, depth));
    }
    let len = name_len(after);
    if len > 0 {
        return Some(subscripted(text, len + 1, true, depth));
    }
    let behind = after.get(next.len_utf8()..).unwrap_or_default();
    // `$$x`, `@$x`: a name that is computed.
    if next == '$' && (sign == '@' || behind.starts_with(|c: char| c.is_alphanumeric() || "_{$:".contains(c)))
    {
        let inner = variable_within(after, kind, depth).map_or(1, |inner| inner.len);
        return Some(Variable { len: inner + 1, is_plain: false });
    }
    let is_name = match (sign, kind) {
        ('@', Kind::Text) => matches!(next, '-' | '+' | ':' | '\''),
        ('@', Kind::Pattern) => next == ':',
        (_, Kind::Pattern) if matches!(next, '(' | ')' | '|') => false,
        _ => next.is_ascii_punctuation(),
    };
    is_name.then(|| subscripted(text, 1 + next.len_utf8(), true, depth))
}

/// A variable of this length with the subscripts behind it.
fn subscripted(text: &str, len: usize, is_plain: bool, depth: usize) -> Variable {
    let mut found = Variable { len, is_plain };
    loop {
        let rest = text.get(found.len..).unwrap_or_default();
        let (arrow, element) = rest.strip_prefix("->").map_or((0, rest), |element| (2, element));
        // `->@*`, `->$#*`.
        if arrow > 0 && element.starts_with(['@', '$', '%', '&']) {
            return Variable { len: found.len + arrow + 1, is_plain: false };
        }
        if !element.starts_with(['[', '{']) {
            return found;
        }
        let Some((inner, _)) = delimited(start(element)) else {
            return Variable { len: text.len(), is_plain: false };
        };
        found.is_plain &= is_plain_subscript(inner, element.starts_with('{'), depth);
        found.len += arrow + inner.len() + 2;
    }
}

/// Whether what stands in a subscript runs no code: numbers, quoted words, variables, and a word that is a key.
fn is_plain_subscript(inner: &str, is_key: bool, depth: usize) -> bool {
    let inner = inner.trim();
    if depth >= DEEPEST {
        return false;
    }
    if is_key && is_word(inner.strip_prefix('-').unwrap_or(inner)) {
        return true;
    }
    let is_whole = variable_within(inner, Kind::Text, depth + 1);
    if is_whole.is_some_and(|found| found.is_plain && found.len == inner.len()) {
        return true;
    }
    inner.split([',', '+', '-']).all(|one| {
        let one = one.trim();
        let quoted = one.strip_prefix('\'').and_then(|one| one.strip_suffix('\''));
        let is_quoted = quoted.is_some_and(|quoted| !quoted.contains(['\'', '\\']));
        let name = one.strip_prefix("$#").filter(|name| is_word(name));
        let is_variable = || {
            variable_within(one, Kind::Text, depth + 1)
                .is_some_and(|found| found.is_plain && found.len == one.len())
        };
        one.chars().all(|c| c.is_ascii_digit() || c == '.') || is_quoted || name.is_some() || is_variable()
    })
}

/// The code that a text or a pattern of Perl runs, as written.
pub fn code_in(text: &str, kind: Kind) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '$', '@', '(']) {
        let here = rest.get(at..).unwrap_or_default();
        let mut chars = here.chars();
        let first = chars.next();
        let len = match first {
            Some('\\') => 1 + chars.next().map_or(0, char::len_utf8),
            Some('(') if BLOCKS.begin(here) => {
                found.push(here);
                return found;
            }
            Some('(') => 1,
            _ => match variable(here, kind) {
                Some(variable) => {
                    if !variable.is_plain {
                        found.extend(here.get(..variable.len));
                    }
                    variable.len
                }
                None => 1,
            },
        };
        rest = here.get(len..).unwrap_or_default();
    }
    if text.contains("(*")
        && VERBS.iter().fold(text.to_owned(), |text, verb| text.replace(verb, "")).contains("(*")
    {
        found.push(text);
    }
    found
}
