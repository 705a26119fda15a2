//! Regular expressions of POSIX programs, in the syntax of the library.

use regex_lite::{Regex, RegexBuilder};

/// Maximum size of a compiled expression.
const LARGEST: usize = 64 * 1024;

/// The syntax of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `\(…\)` is a group: grep and sed.
    Basic,
    /// `(…)` is a group: `grep -E`, `sed -E`.
    Extended,
    /// `grep -P`.
    Perl,
    /// `grep -F`.
    Fixed,
}

/// Compiles an expression; `None` where its meaning is not certain.
pub(super) fn compile(pattern: &str, syntax: Syntax, ignores_case: bool) -> Option<Regex> {
    let text = match syntax {
        Syntax::Fixed => regex_lite::escape(pattern),
        Syntax::Perl => pattern.to_owned(),
        Syntax::Basic | Syntax::Extended => translated(pattern, syntax == Syntax::Extended)?,
    };
    RegexBuilder::new(&text).case_insensitive(ignores_case).size_limit(LARGEST).build().ok()
}

/// The expression in the syntax of the library. References to groups in a pattern have no counterpart.
fn translated(pattern: &str, extended: bool) -> Option<String> {
    let mut out = String::new();
    let mut rest = pattern;
    // At the beginning of an expression or a group, `*` is literal and `^` an anchor.
    let mut is_start = true;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..)?;
        let (operator, c) = match c {
            '\\' => {
                let escaped = rest.chars().next()?;
                rest = rest.get(escaped.len_utf8()..)?;
                match escaped {
                    '(' | ')' | '{' | '}' | '|' | '+' | '?' if !extended => (true, escaped),
                    'n' | 't' | 'w' | 'W' | 's' | 'S' | 'b' | 'B' => {
                        out.extend(['\\', escaped]);
                        is_start = false;
                        continue;
                    }
                    '<' | '>' => {
                        out.push_str("\\b");
                        continue;
                    }
                    _ if escaped.is_ascii_alphanumeric() => return None,
                    _ => (false, escaped),
                }
            }
            '(' | ')' | '{' | '}' | '|' | '+' | '?' => (extended, c),
            '*' => (!is_start, c),
            '.' => (true, c),
            '^' => (is_start || extended, c),
            '$' => (extended || rest.is_empty() || rest.starts_with("\\)") || rest.starts_with("\\|"), c),
            '[' => {
                let (set, after) = bracket(rest)?;
                out.push_str(&set);
                rest = after;
                is_start = false;
                continue;
            }
            _ => (false, c),
        };
        if operator {
            out.push(c);
        } else {
            out.push_str(&regex_lite::escape(c.encode_utf8(&mut [0; 4])));
        }
        is_start = operator && matches!(c, '(' | '|' | '^');
    }
    Some(out)
}

/// A bracket expression whose `[` is gone, and what follows it. Backslashes in it are literal.
fn bracket(text: &str) -> Option<(String, &str)> {
    let mut set = String::from("[");
    let mut rest = text;
    if let Some(after) = rest.strip_prefix('^') {
        set.push('^');
        rest = after;
    }
    let mut is_first = true;
    loop {
        let c = rest.chars().next()?;
        if let Some((class, after)) = rest.strip_prefix("[:").and_then(|body| body.split_once(":]")) {
            set.push_str(&format!("[:{class}:]"));
            rest = after;
        } else {
            rest = rest.get(c.len_utf8()..)?;
            match c {
                ']' if !is_first => {
                    set.push(']');
                    return Some((set, rest));
                }
                // At an end, a minus is literal.
                '-' if is_first || rest.starts_with(']') => set.push_str("\\-"),
                '[' | ']' | '\\' | '&' | '~' | '^' => set.extend(['\\', c]),
                _ => set.push(c),
            }
        }
        is_first = false;
    }
}
