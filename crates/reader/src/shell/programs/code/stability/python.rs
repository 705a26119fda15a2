//! Variables of Python whose values may change in ways that are not followed.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::Scan;
use crate::languages::lexer::Token;
use crate::languages::names::evaluation as words;

/// Whether any variable may change, and the names of those that may.
pub(super) fn unstable(scan: &Scan<'_>) -> (bool, BTreeSet<String>) {
    let mut names = BTreeSet::new();
    let mut all = false;
    let bound = bound(scan);
    for at in 0..scan.tokens.len() {
        match scan.name(at) {
            // `case [x]:` binds what it names.
            Some("case") if begins_line(scan, at) && !scan.assigns(at + 1) => {
                names.extend(names_until_colon(scan, at + 1).map(str::to_owned));
            }
            Some("lambda") => names.extend(closed_over(scan, at, &bound).map(str::to_owned)),
            // `insert = x.insert`, `x.__setitem__(0, "y")`.
            Some(name) if scan.is(at.wrapping_sub(1), '.') => {
                let is_value = words::CHANGING_LISTS.has(name) && !scan.is(at + 1, '(');
                if is_value || name.starts_with("__set") || name.starts_with("__i") && name != "__init__" {
                    let owner = scan.name(at.wrapping_sub(2));
                    all |= owner.is_none() || scan.is(at.wrapping_sub(3), '.');
                    names.extend(owner.map(str::to_owned));
                }
            }
            _ => {}
        }
    }
    (all, names)
}

/// Whether a statement begins at an index.
fn begins_line(scan: &Scan<'_>, at: usize) -> bool {
    at == 0 || matches!(scan.tokens.get(at - 1), Some(Token::Line | Token::Symbol(':' | ';')))
}

/// The names from an index up to the colon behind them.
fn names_until_colon<'a>(scan: &Scan<'a>, from: usize) -> impl Iterator<Item = &'a str> {
    let around = scan.around(from.wrapping_sub(1));
    let len = scan.tokens.len();
    let end = (from..len).find(|at| scan.is(*at, ':') && scan.around(*at) == around).unwrap_or(len);
    (from..end).filter_map(|at| scan.name(at)).collect::<Vec<_>>().into_iter()
}

/// How often the code binds each name; loops bind theirs any number of times.
fn bound<'a>(scan: &Scan<'a>) -> BTreeMap<&'a str, usize> {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let mut at = 0;
    while at < scan.tokens.len() {
        let Some(name) = scan.name(at) else {
            at += 1;
            continue;
        };
        let is_keyword = scan.around(at).is_some_and(|open| scan.is(open, '('));
        if name == "for" {
            while let Some(token) = scan.tokens.get(at + 1).filter(|token| token.name() != Some("in")) {
                at += 1;
                if let Some(name) = token.name() {
                    *found.entry(name).or_default() += 2;
                }
            }
        } else if scan.changes_before(at + 1) && !(is_keyword && scan.assigns(at + 1))
            || scan.is(at + 1, ':') && scan.is(at + 2, '=')
            || scan.name(at.wrapping_sub(1)) == Some("as")
        {
            *found.entry(name).or_default() += 1;
        }
        at += 1;
    }
    found
}

/// The names in the body of a `lambda` that are not its own, and that the code binds more than once.
fn closed_over<'a>(
    scan: &Scan<'a>,
    at: usize,
    bound: &BTreeMap<&'a str, usize>,
) -> impl Iterator<Item = &'a str> {
    let own: Vec<&str> = names_until_colon(scan, at + 1).collect();
    let around = scan.around(at);
    let len = scan.tokens.len();
    let colon = (at..len).find(|at| scan.is(*at, ':') && scan.around(*at) == around).unwrap_or(len);
    let limit = around.and_then(|open| scan.pair(open)).unwrap_or(len);
    let ends = |at: &usize| {
        scan.around(*at) == around
            && matches!(scan.tokens.get(*at), Some(Token::Symbol(',' | ';') | Token::Line))
    };
    let end = (colon..limit).find(ends).unwrap_or(limit);
    let names = (colon..end).filter_map(|at| scan.name(at)).filter(|name| !own.contains(name));
    let often = names.filter(|name| bound.get(name).is_some_and(|count| *count > 1));
    often.collect::<Vec<_>>().into_iter()
}
