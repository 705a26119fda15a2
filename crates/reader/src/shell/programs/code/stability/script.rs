//! Variables of JavaScript whose values may change in ways that are not followed.

use std::collections::BTreeSet;

use super::changes::Scan;
use crate::languages::lexer::Token;

/// Whether any variable may change, and the names of those that may.
pub(super) fn unstable(scan: &Scan<'_>) -> (bool, BTreeSet<String>) {
    let mut names = BTreeSet::new();
    let mut declared: Vec<(&str, (usize, usize))> = Vec::new();
    for at in 0..scan.tokens.len() {
        let is_pattern = scan.is(at, '[') || scan.is(at, '{');
        let before = at.wrapping_sub(1);
        let begins_here = matches!(scan.name(before), Some("let" | "const" | "var"));
        // `[x] = …`, `({x} = …)`.
        if is_pattern
            && !begins_here
            && begins(scan, before)
            && scan.pair(at).is_some_and(|close| scan.assigns(close + 1))
        {
            let inside = at..scan.pair(at).unwrap_or(at);
            names.extend(inside.filter_map(|at| scan.name(at)).map(str::to_owned));
        }
        if !begins_here {
            continue;
        }
        // `for (let x of …) { … }`.
        let head = scan.around(at).filter(|open| scan.is(*open, '(')).and_then(|open| scan.pair(open));
        let body = head
            .and_then(|close| scan.pair(close + 1))
            .filter(|_| head.is_some_and(|close| scan.is(close + 1, '{')));
        let range = match (head, body) {
            (Some(_), Some(end)) => (at, end),
            (Some(close), None) => (at, scan.statement_end(close + 1)),
            (None, _) => scan.block(at),
        };
        let end = if is_pattern { scan.pair(at).unwrap_or(at) } else { at + 1 };
        declared.extend((at..end).filter_map(|at| scan.name(at)).map(|name| (name, range)));
    }
    declared.sort_unstable();
    for pair in declared.windows(2) {
        if let [(name, one), (other, two)] = pair
            && name == other
            && one != two
        {
            let holds =
                |outer: &(usize, usize), inner: &(usize, usize)| outer.0 <= inner.0 && inner.1 <= outer.1;
            let is_nested = declared.iter().filter(|(own, _)| own == name).take(64).any(|(_, range)| {
                range != one && (holds(range, one) || holds(one, range))
                    || range != two && (holds(range, two) || holds(two, range))
            });
            if is_nested {
                names.insert((*name).to_owned());
            }
        }
    }
    (false, names)
}

/// Whether an expression begins behind an index.
fn begins(scan: &Scan<'_>, before: usize) -> bool {
    match scan.tokens.get(before) {
        None | Some(Token::Line) => true,
        Some(Token::Symbol(symbol)) => "(,;{}=".contains(*symbol),
        _ => false,
    }
}
