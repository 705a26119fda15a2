//! Variables of Ruby whose values may change in ways that are not followed.

use std::collections::BTreeSet;

use super::changes::Scan;
use crate::languages::lexer::Token;
use crate::languages::names::ruby;

/// Whether any variable may change, and the names of those that may.
pub(super) fn unstable(scan: &Scan<'_>) -> (bool, BTreeSet<String>) {
    let mut names = BTreeSet::new();
    let has_methods = scan.tokens.iter().any(|token| token.name() == Some("def"));
    let globals: Vec<(&str, usize)> = (0..scan.tokens.len())
        .filter(|at| scan.is(at.wrapping_sub(1), '$'))
        .filter_map(|at| Some((scan.name(at)?, at)).filter(|(_, at)| scan.is_change(*at)))
        .collect();
    for (name, at) in &globals {
        if has_methods && globals.iter().any(|(other, place)| other == name && place != at) {
            names.insert((*name).to_owned());
        }
    }
    for (at, token) in scan.tokens.iter().enumerate() {
        match token {
            // `/(?<name>…)/ =~ text` binds a name.
            Token::Value if scan.source(at).contains("(?<") => {
                let groups = scan.source(at).split("(?<").skip(1).filter_map(|group| group.split_once('>'));
                names.extend(groups.map(|(name, _)| name.to_owned()));
            }
            // `value => name`, `value in [name]`.
            Token::Symbol('=') if scan.is(at + 1, '>') && scan.around(at).is_none() => {
                names.extend(pattern(scan, at + 2));
            }
            Token::Name(word) if word == "in" && scan.name(at.wrapping_sub(1)).is_none() => {
                names.extend(pattern(scan, at + 1));
            }
            _ => {}
        }
    }
    let reaches = |token: &Token| token.name().is_some_and(|name| ruby::REACHING.has(name));
    (scan.tokens.iter().any(reaches), names)
}

/// The names in a pattern that begins at an index.
fn pattern<'a>(scan: &'a Scan<'_>, from: usize) -> impl Iterator<Item = String> + 'a {
    let ends =
        |token: &&Token| !matches!(token, Token::Line | Token::Symbol(';')) && token.name() != Some("then");
    scan.tokens.iter().skip(from).take_while(ends).filter_map(Token::name).map(str::to_owned)
}
