//! Variables of Perl whose values may change in ways that are not followed.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::{Mention, Scan};
use crate::languages::lexer::{Places, Token};
use crate::languages::names::perl;

/// A declaration of a variable.
struct Declaration {
    at: usize,
    /// The range of tokens in which it holds.
    range: (usize, usize),
}

/// Whether any variable may change, and the names of those that may.
pub(super) fn unstable(scan: &Scan<'_>) -> (bool, BTreeSet<String>) {
    let mentions = scan.mentions();
    let bodies = bodies(scan);
    let mut names = BTreeSet::new();
    declared(scan, &mentions, &bodies, &mut names);
    references(scan, &mut names);
    let aliases = looped(scan, &mentions, &mut names);
    (aliases || computes_names(scan, &mentions), names)
}

/// The ranges of the bodies of functions.
fn bodies(scan: &Scan<'_>) -> Vec<(usize, usize)> {
    let named = (0..scan.tokens.len()).filter(|at| scan.name(*at) == Some("sub"));
    let bodies = named.filter_map(|at| {
        let after = at + 1 + usize::from(scan.name(at + 1).is_some());
        let after = if scan.is(after, '(') { scan.pair(after)? + 1 } else { after };
        Some((after, scan.pair(after).filter(|_| scan.is(after, '{'))?))
    });
    bodies.collect()
}

/// The declarations of variables, by name. Those of loops hold in the loop only, behind which the evaluator forgets them.
fn declarations(scan: &Scan<'_>, names: &mut BTreeSet<String>) -> BTreeMap<String, Vec<Declaration>> {
    let mut found: BTreeMap<String, Vec<Declaration>> = BTreeMap::new();
    for at in 0..scan.tokens.len() {
        let Some(word @ ("my" | "our" | "local" | "state")) = scan.name(at) else { continue };
        if scan.is_sign(at.wrapping_sub(1))
            || matches!(scan.name(at.wrapping_sub(1)), Some("for" | "foreach"))
        {
            continue;
        }
        let end = match scan.pair(at + 1).filter(|_| scan.is(at + 1, '(')) {
            Some(close) => close,
            None => at + 3,
        };
        // `while (my $line = …) { … }`.
        let head =
            scan.all_around(at).take_while(|open| !scan.is(*open, '{')).filter_map(|open| scan.pair(open));
        let head = head.filter(|close| scan.is(*close + 1, '{')).last();
        let block = head.and_then(|close| scan.pair(close + 1)).map(|end| (at, end));
        for at in at..end {
            if let Some(name) = scan.name(at).filter(|_| scan.is_sign(at.wrapping_sub(1))) {
                if word == "state" {
                    names.insert(name.to_owned());
                }
                let range = block.unwrap_or_else(|| scan.block(at));
                found.entry(name.to_owned()).or_default().push(Declaration { at, range });
            }
        }
    }
    found
}

/// Adds variables that share their name with others, and those that a function changes which does not declare them.
fn declared(scan: &Scan<'_>, mentions: &[Mention], bodies: &[(usize, usize)], names: &mut BTreeSet<String>) {
    let declarations = declarations(scan, names);
    let none = Vec::new();
    for Mention { name, at, is_change } in mentions {
        if names.contains(name) || name == "_" {
            continue;
        }
        let all = declarations.get(name).unwrap_or(&none);
        let holds = |one: &&Declaration| one.at <= *at && one.range.0 <= *at && *at <= one.range.1;
        let own = all.iter().filter(holds).max_by_key(|one| (one.range.0, one.at));
        let from = own.map_or(0, |own| own.at);
        let is_captured = bodies.iter().any(|(open, close)| {
            (*open..*close).contains(at) && (own.is_none() || !(*open..*close).contains(&from))
        });
        let is_hidden = all.iter().any(|one| {
            own.is_none_or(|own| {
                one.at != own.at
                    && own.range.0 <= one.range.0
                    && one.range.1 <= own.range.1
                    && one.range != own.range
            })
        });
        let elsewhere = || mentions.iter().any(|other| other.name == *name && other.at != *at);
        if is_hidden || is_captured && (all.len() > 1 || *is_change && elsewhere()) {
            names.insert(name.clone());
        }
    }
}

/// Adds variables to which a reference is made: `\$x`, `\(@x)`.
fn references(scan: &Scan<'_>, names: &mut BTreeSet<String>) {
    for at in (0..scan.tokens.len()).filter(|at| scan.is(*at, '\\')) {
        let from = at + 1 + usize::from(matches!(scan.name(at + 1), Some("my" | "our" | "local" | "state")));
        let end = if scan.is(from, '(') { scan.pair(from).unwrap_or(from) } else { from + 2 };
        names.extend(
            (from..end)
                .filter(|at| scan.is_sign(at.wrapping_sub(1)))
                .filter_map(|at| scan.name(at))
                .map(str::to_owned),
        );
    }
}

/// Adds variables that a loop, `map` or `grep` goes over and changes. Whether arguments of functions are changed in that way.
fn looped(scan: &Scan<'_>, mentions: &[Mention], names: &mut BTreeSet<String>) -> bool {
    let mut aliases = mentions.iter().any(|one| one.name == "_" && one.is_change && scan.is(one.at + 1, '['));
    for at in 0..scan.tokens.len() {
        let Some(word) =
            scan.name(at).filter(|word| perl::LOOPING.has(word) && !scan.is_sign(at.wrapping_sub(1)))
        else {
            continue;
        };
        let (variable, body, head) = ranges(scan, at, word);
        let changes = (body.0..body.1).any(|at| {
            let is_bare = |at: usize| !(scan.is_sign(at + 1) || scan.is(at + 1, '(') && scan.is_sign(at + 2));
            variable == "_"
                && (scan.substitutes(at) && !scan.is(at.wrapping_sub(1), '~')
                    || scan.name(at).is_some_and(|name| perl::CHANGING.has(name)) && is_bare(at))
        }) || mentions
            .iter()
            .any(|one| one.is_change && one.name == variable && (body.0..body.1).contains(&one.at));
        if !changes {
            continue;
        }
        let over = mentions.iter().filter(|one| (head.0..head.1).contains(&one.at));
        for one in over {
            aliases |= one.name == "_";
            names.insert(one.name.clone());
        }
    }
    aliases
}

type Range = (usize, usize);

/// The variable of a loop, the range of its body, and that of the list that it goes over.
fn ranges<'a>(scan: &Scan<'a>, at: usize, word: &str) -> (&'a str, Range, Range) {
    let end = scan.statement_end(at);
    if !matches!(word, "for" | "foreach") {
        let open = if scan.is(at + 1, '(') { at + 2 } else { at + 1 };
        let close = scan.pair(open).filter(|_| scan.is(open, '{'));
        return close.map_or(("_", (at, end), (at, end)), |close| ("_", (open, close), (close, end)));
    }
    let from = at + 1 + usize::from(matches!(scan.name(at + 1), Some("my" | "our" | "state")));
    let named = scan.name(from + 1).filter(|_| scan.is(from, '$'));
    let open = from + if named.is_some() { 2 } else { 0 };
    let close = scan.pair(open).filter(|_| scan.is(open, '('));
    let body =
        close.and_then(|close| Some((close + 1, scan.pair(close + 1).filter(|_| scan.is(close + 1, '{'))?)));
    match (close, body) {
        (Some(close), Some(body)) => {
            // `for (my $i = 0; …; …)` goes over nothing.
            let counts = (open..close).any(|at| scan.is(at, ';') && scan.around(at) == Some(open));
            (named.unwrap_or("_"), body, if counts { (open, open) } else { (open, close) })
        }
        _ => ("_", (scan.statement_start(at), at), (at, end)),
    }
}

/// Whether names of variables are computed where something is changed: `$$x = …`, `${"x"} = …`, `*x = …`.
fn computes_names(scan: &Scan<'_>, mentions: &[Mention]) -> bool {
    let words = scan.tokens.windows(2);
    let is_strict = |pair: &[Token]| pair.name_at(0) == Some("use") && pair.name_at(1) == Some("strict");
    let is_loose = |pair: &[Token]| pair.name_at(0) == Some("no") && pair.name_at(1) == Some("strict");
    let is_strict = words.clone().any(is_strict) && !words.clone().any(is_loose);
    (0..scan.tokens.len()).any(|at| {
        let before = scan.tokens.get(at.wrapping_sub(1));
        let begins = match before {
            None | Some(Token::Line | Token::Symbol(';' | '{' | '}' | '(' | ',')) => true,
            Some(token) => token.name() == Some("local"),
        };
        if scan.is(at, '*') {
            return begins && (scan.name(at + 1).is_some() || scan.is(at + 1, '{'));
        }
        if is_strict || !scan.is_sign(at) || scan.is(at, '#') {
            return false;
        }
        let close = scan.pair(at + 1).filter(|_| scan.is(at + 1, '{'));
        let name = Some(at + 2).filter(|at| scan.is(*at - 1, '$') && scan.name(*at).is_some());
        close.is_some_and(|close| scan.is_change(close) || scan.changes_before(close + 1))
            || name.is_some_and(|name| scan.is_change(name))
    }) || !is_strict
        && mentions.iter().any(|one| {
            // `$x->[0] = …` where `$x` is a text.
            let is_text = |other: &Mention| {
                other.name == one.name
                    && scan.is(other.at + 1, '=')
                    && matches!(scan.tokens.get(other.at + 2), Some(Token::Text(_)))
            };
            one.is_change
                && scan.is(one.at + 1, '-')
                && scan.is(one.at + 2, '>')
                && mentions.iter().any(is_text)
        })
}
