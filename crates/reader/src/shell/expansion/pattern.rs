//! Shell patterns: `*`, `?` and `[…]`.

/// True when the whole text matches the pattern.
///
/// Backtracks to the last `*` only, so the time is at most the product of the two lengths.
pub(crate) fn matches(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(&c) = text.get(t) {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => set(pattern.get(p..).unwrap_or_default(), c),
            Some('\\') => (pattern.get(p + 1) == Some(&c)).then_some(2),
            Some(literal) => (*literal == c).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(len), _) => {
                p += len;
                t += 1;
            }
            (None, Some((star_at, from))) => {
                p = star_at + 1;
                t = from + 1;
                star = Some((star_at, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|c| *c == '*')
}

/// The length in characters of the `[…]` at the start of `pattern`; `None` when it does not match `c`.
fn set(pattern: &[char], c: char) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = if negated { 2 } else { 1 };
    let mut at = first;
    let mut found = false;
    while let Some(&member) = pattern.get(at) {
        if member == ']' && at > first {
            return (found != negated).then_some(at + 1);
        }
        match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some('-'), Some(&to)) if to != ']' => {
                found |= (member..=to).contains(&c);
                at += 3;
            }
            _ => {
                found |= member == c;
                at += 1;
            }
        }
    }
    // Without a closing bracket, `[` is a literal.
    (c == '[').then_some(1)
}

/// A text as a pattern that matches it alone.
pub(super) fn escaped(text: &str) -> String {
    let is_special = |c: char| "*?[]\\()#%/".contains(c);
    text.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// The only text that a pattern matches; `None` when there may be others.
pub(super) fn literal(pattern: &str) -> Option<String> {
    let mut chars = pattern.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => chars.next()?,
            '*' | '?' | '[' | '(' => return None,
            c => c,
        });
    }
    Some(text)
}

/// True when the whole text matches the pattern.
pub fn glob(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?', '[', '\\']) {
        return pattern == text;
    }
    let start = pattern.split(['*', '?', '[', '\\']).next().unwrap_or_default();
    let end = pattern.rsplit(['*', '?', ']', '\\']).next().unwrap_or_default();
    if !text.starts_with(start) || !text.ends_with(end) {
        return false;
    }
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    matches(&pattern, &text)
}
