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
    // Without a closing bracket, `[` is a literal.
    let Some((len, negated, members)) = members(pattern) else { return (c == '[').then_some(1) };
    let found = members.iter().any(|member| match member {
        Member::Range(from, to) => (*from..=*to).contains(&c),
        Member::Class(name) => is_of_class(name, c),
    });
    (found != negated).then_some(len)
}

/// What a character of a `[…]` may be.
enum Member {
    /// One of these characters.
    Range(char, char),
    /// `[:lower:]`.
    Class(String),
}

/// The length in characters of the `[…]` at the start of `pattern`, whether it is negated, and its members; `None` without its end.
fn members(pattern: &[char]) -> Option<(usize, bool, Vec<Member>)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = if negated { 2 } else { 1 };
    let mut at = first;
    let mut members = Vec::new();
    loop {
        let member = *pattern.get(at)?;
        if member == ']' && at > first {
            return Some((at + 1, negated, members));
        }
        // `[:lower:]`, `[=e=]`, `[.-.]`.
        if let (true, Some(&kind @ (':' | '=' | '.'))) = (member == '[', pattern.get(at + 1)) {
            let inner = pattern.get(at + 2..)?;
            if let Some(end) = inner.windows(2).position(|pair| *pair == [kind, ']']) {
                let name: String = inner.get(..end)?.iter().collect();
                let mut chars = name.chars();
                members.push(match (kind, chars.next(), chars.next()) {
                    ('=' | '.', Some(c), None) => Member::Range(c, c),
                    _ => Member::Class(name),
                });
                at += end + 4;
                continue;
            }
        }
        let (from, next) = character(pattern, at)?;
        match pattern.get(next + 1) {
            Some(after) if pattern.get(next) == Some(&'-') && *after != ']' => {
                let (to, end) = character(pattern, next + 1)?;
                members.push(Member::Range(from, to));
                at = end;
            }
            _ => {
                members.push(Member::Range(from, from));
                at = next;
            }
        }
    }
}

/// The character at a place of a `[…]`, where a backslash may stand before it, and the place after it.
fn character(pattern: &[char], at: usize) -> Option<(char, usize)> {
    match *pattern.get(at)? {
        '\\' => Some((*pattern.get(at + 1)?, at + 2)),
        c => Some((c, at + 1)),
    }
}

/// Whether a character belongs to a class. One that is not known may have any: a guard asks what may match.
fn is_of_class(class: &str, c: char) -> bool {
    match class {
        "alnum" => c.is_alphanumeric(),
        "alpha" => c.is_alphabetic(),
        "ascii" => c.is_ascii(),
        "blank" => c == ' ' || c == '\t',
        "cntrl" => c.is_control(),
        "digit" => c.is_ascii_digit(),
        "graph" => !c.is_whitespace() && !c.is_control(),
        "lower" => c.is_lowercase(),
        "print" => !c.is_control(),
        "punct" => c.is_ascii_punctuation() || !c.is_ascii() && !c.is_alphanumeric(),
        "space" => c.is_whitespace(),
        "upper" => c.is_uppercase(),
        "word" => c.is_alphanumeric() || c == '_',
        "xdigit" => c.is_ascii_hexdigit(),
        _ => true,
    }
}

/// The length in bytes of the `[…]` at the start of a pattern, if there is one.
pub fn set_len(pattern: &str) -> Option<usize> {
    let chars: Vec<char> = pattern.strip_prefix('[').map(|_| pattern.chars().collect())?;
    let (len, ..) = members(&chars)?;
    Some(chars.iter().take(len).map(|c| c.len_utf8()).sum())
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
