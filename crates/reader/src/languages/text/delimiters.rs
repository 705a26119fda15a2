//! Ends of texts in code.

/// What precedes the first `end` without a backslash before it, and what follows it.
pub fn split_at_end<'a>(text: &'a str, end: &str) -> Option<(&'a str, &'a str)> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if text.get(at..)?.starts_with(end) {
            return Some((text.get(..at)?, text.get(at + end.len()..)?));
        }
        if c == '\\' {
            chars.next();
        }
    }
    None
}

/// The delimiter that closes a text which this one opens: `)` for `(`.
pub fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    }
}

/// The body of a text that begins with a freely chosen delimiter, such as those of `q(…)` and `%x{…}`, and what follows its
/// end. Delimiters that open and close differently nest.
pub fn delimited(text: &str) -> Option<(&str, &str)> {
    let open = text.chars().next()?;
    let close = closing(open);
    let body = text.get(open.len_utf8()..)?;
    let mut depth = 0_usize;
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            _ if c == close && depth == 0 => return Some((body.get(..at)?, body.get(at + c.len_utf8()..)?)),
            _ if c == close => depth -= 1,
            _ if c == open => depth += 1,
            _ => {}
        }
    }
    None
}
