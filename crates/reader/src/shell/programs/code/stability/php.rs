//! Variables of PHP whose values may change in ways that are not followed.

use std::collections::BTreeSet;

use super::changes::Scan;
use crate::languages::lexer::Token;
use crate::languages::names::php;

/// Whether any variable may change, and the names of those that may.
pub(super) fn unstable(scan: &Scan<'_>) -> (bool, BTreeSet<String>) {
    let mut names = BTreeSet::new();
    let mut add = |from: usize, to: usize| {
        let own = (from..to).filter(|at| scan.is(at.wrapping_sub(1), '$')).filter_map(|at| scan.name(at));
        names.extend(own.map(str::to_owned));
    };
    let mut is_any = false;
    for at in 0..scan.tokens.len() {
        is_any |= refers(scan, at) || scan.is(at, '$') && (scan.is(at + 1, '$') || scan.is(at + 1, '{'));
        let name = scan.name(at).unwrap_or_default();
        is_any |= php::REACHING.has(name);
        let close = |open: usize| scan.pair(open).unwrap_or(open);
        if php::CHANGING.has(name) && scan.is(at + 1, '(') {
            add(at + 1, close(at + 1));
        } else if php::STARTING.has(name) && scan.is(at + 1, '(') {
            // What it prints, and the exit code.
            let comma = (at + 2..close(at + 1))
                .find(|at| scan.is(*at, ',') && scan.around(*at) == scan.around(at + 1));
            if let Some(comma) = comma {
                add(comma, close(at + 1));
            }
        } else if matches!(name, "static" | "global") && scan.is(at + 1, '$') {
            // A function that changes it is called at any time.
            let (from, to) = scan.block(at);
            let end = scan.statement_end(at);
            let is_changed = |own: &str| {
                (from..to).any(|at| {
                    scan.name(at) == Some(own) && scan.is(at.wrapping_sub(1), '$') && scan.is_change(at)
                })
            };
            for at in at..end {
                if name == "static" || scan.name(at).is_some_and(is_changed) {
                    add(at, at + 1);
                }
            }
        }
        // `[$a, $b] = …`, `list($a, $b) = …`, `foreach (… as [$a, $b])`.
        let is_list = scan.is(at, '[') && !ends_value(scan, at.wrapping_sub(1))
            || scan.name(at.wrapping_sub(1)) == Some("list") && scan.is(at, '(');
        let is_element = scan.name(at.wrapping_sub(1)) == Some("as");
        if is_list && (is_element || scan.assigns(close(at) + 1)) {
            add(at, close(at));
        }
    }
    (is_any, names)
}

/// Whether a value ends at an index.
fn ends_value(scan: &Scan<'_>, at: usize) -> bool {
    match scan.tokens.get(at) {
        Some(Token::Name(_)) => scan.is(at.wrapping_sub(1), '$') || scan.is(at.wrapping_sub(1), '>'),
        Some(Token::Symbol(symbol)) => matches!(symbol, ')' | ']' | '}'),
        Some(Token::Text(_) | Token::Value) => true,
        _ => false,
    }
}

/// Whether a reference to a variable is made at an index: `&$x`, where no `&` calculates.
fn refers(scan: &Scan<'_>, at: usize) -> bool {
    scan.is(at, '&')
        && (scan.is(at + 1, '$') || scan.is(at + 1, '.'))
        && !ends_value(scan, at.wrapping_sub(1))
}
