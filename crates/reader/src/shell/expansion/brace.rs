//! Brace expansion: `{a,b}` and `{1..3}`, bounded.

use crate::shell::grammar::ansi_c::ansi_c;
use crate::shell::grammar::word::skip_expansion;

/// Maximum number of words from one word.
const MOST_WORDS: usize = 1024;

/// Maximum size in bytes of all words from one word.
const MOST_BYTES: usize = 1024 * 1024;

/// A word expands to more than [`MOST_WORDS`] words or [`MOST_BYTES`] bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// The words that a word expands to, all of them as written.
pub(crate) fn expand(raw: &str) -> Result<Vec<String>, TooMany> {
    let mut done = Vec::new();
    // Words still to be expanded, last first, each with the byte up to which it is expanded.
    let mut left = vec![(raw.to_owned(), 0)];
    let mut bytes = 0;
    while let Some((word, settled)) = left.pop() {
        match first_brace(&word, settled) {
            None => done.push(word),
            Some(brace) => {
                let before = word.get(..brace.open).unwrap_or_default();
                let after = word.get(brace.close + 1..).unwrap_or_default();
                for member in brace.members.iter().rev() {
                    bytes += word.len();
                    left.push((format!("{before}{member}{after}"), before.len()));
                }
            }
        }
        if done.len() + left.len() > MOST_WORDS || bytes > MOST_BYTES {
            return Err(TooMany);
        }
    }
    Ok(done)
}

struct Brace {
    open: usize,
    close: usize,
    members: Vec<String>,
}

/// The first brace expression that starts at byte `from` or later.
fn first_brace(word: &str, from: usize) -> Option<Brace> {
    let mut at = from;
    let mut tried = 0;
    while let Some(byte) = word.as_bytes().get(at) {
        if *byte == b'{' {
            if let Some(brace) = brace_at(word, at) {
                return Some(brace);
            }
            tried += 1;
            // Each unclosed brace takes a search to the end of the word.
            if tried > 64 {
                return None;
            }
            at += 1;
        } else {
            at += skip_quoted(word, at);
        }
    }
    None
}

/// The length in bytes of the quoted text or expansion at `at`; 1 for any other byte.
fn skip_quoted(word: &str, at: usize) -> usize {
    let rest = word.get(at..).unwrap_or_default();
    match rest.as_bytes().first() {
        Some(b'\\') => 1 + rest.get(1..).and_then(|r| r.chars().next()).map_or(0, char::len_utf8),
        Some(b'\'') => rest.get(1..).and_then(|r| r.find('\'')).map_or(rest.len(), |end| end + 2),
        Some(b'"') => {
            let mut inside = 1;
            while let Some(byte) = rest.as_bytes().get(inside) {
                inside += match byte {
                    b'"' => return inside + 1,
                    b'\\' => 2,
                    b'$' | b'`' => skip_expansion(rest.get(inside..).unwrap_or_default()).max(1),
                    _ => 1,
                };
            }
            rest.len()
        }
        Some(b'$') if rest.starts_with("$'") => ansi_c(rest).1,
        Some(b'$' | b'`') => skip_expansion(rest).max(1),
        _ => 1,
    }
}

/// The brace expression that opens at `open`; `None` when the brace is literal text.
fn brace_at(word: &str, open: usize) -> Option<Brace> {
    let mut at = open + 1;
    let mut depth = 0_usize;
    let mut starts = vec![at];
    let mut ends = Vec::new();
    let close = loop {
        match word.as_bytes().get(at)? {
            b'{' => {
                depth += 1;
                at += 1;
            }
            b'}' if depth == 0 => break at,
            b'}' => {
                depth -= 1;
                at += 1;
            }
            b',' if depth == 0 => {
                ends.push(at);
                at += 1;
                starts.push(at);
            }
            _ => at += skip_quoted(word, at),
        }
    };
    ends.push(close);
    let members = if starts.len() > 1 {
        starts
            .iter()
            .zip(&ends)
            .map(|(&from, &to)| word.get(from..to).unwrap_or_default().to_owned())
            .collect()
    } else {
        sequence(word.get(open + 1..close)?)?
    };
    Some(Brace { open, close, members })
}

/// The members of `1..5`, `01..05`, `a..e` or `1..9..2`; at most [`MOST_WORDS`] + 1.
fn sequence(body: &str) -> Option<Vec<String>> {
    let mut parts = body.split("..");
    let (first, last, step) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let step = step.map_or(Some(1), |s| s.parse::<i64>().ok())?.unsigned_abs().max(1);
    let rounds = |from: i64, to: i64| {
        let count = (from.abs_diff(to) / step).saturating_add(1);
        let step = i64::try_from(step).unwrap_or(i64::MAX);
        (0..count.min(MOST_WORDS as u64 + 1)).map_while(move |round| {
            let offset = i64::try_from(round).ok()?.checked_mul(step)?;
            if from <= to { from.checked_add(offset) } else { from.checked_sub(offset) }
        })
    };
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let padded = |text: &str| {
            text.trim_start_matches('-').starts_with('0') && text.trim_start_matches('-').len() > 1
        };
        let width = if padded(first) || padded(last) { first.len().max(last.len()).min(32) } else { 0 };
        return Some(rounds(from, to).map(|n| format!("{n:0width$}")).collect());
    }
    let letter = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    let (from, to) = (letter(first)?, letter(last)?);
    let letters = rounds(i64::from(u32::from(from)), i64::from(u32::from(to)));
    Some(letters.filter_map(|n| u32::try_from(n).ok().and_then(char::from_u32)).map(String::from).collect())
}
