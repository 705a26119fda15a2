//! Where code binds a name, and the texts of names that are bound once.

use std::collections::BTreeMap;

use crate::languages::lexer::{Places, Token};
use crate::languages::names::Names;

/// Words before a name that they bind, or whose value they end.
pub(super) const DECLARING: Names =
    Names(&["as", "class", "const", "def", "del", "for", "function", "global", "let", "nonlocal", "var"]);

/// The names in Python that are bound once, to a text or in a loop over texts, each with these texts: `u = "a"`,
/// `for u in ["a", "b"]:`.
pub fn bound_once(tokens: &[Token]) -> BTreeMap<&str, Vec<&str>> {
    let targets = targets(tokens);
    let mut found = BTreeMap::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(name) = token.name() else { continue };
        if name == "for" {
            found.extend(looped(tokens, at).into_iter().flatten());
        }
        let before = tokens.get(at.wrapping_sub(1));
        let word = before.and_then(Token::name);
        let begins = matches!(before, None | Some(Token::Line | Token::Symbol(';' | ':')));
        let is_target = targets.get(at).copied().unwrap_or_default();
        let is_changed = is_set(tokens, at + 1) || is_operated(tokens, at + 1);
        let is_stated = begins && tokens.is_at(at + 1, ':');
        if !(is_changed || is_target || is_stated || word.is_some_and(|word| DECLARING.has(word))) {
            continue;
        }
        *counts.entry(name).or_default() += 1;
        let texts = match tokens.get(at + 2) {
            Some(Token::Text(text)) if begins && is_set(tokens, at + 1) && !is_target => {
                let ends = matches!(tokens.get(at + 3), None | Some(Token::Line | Token::Symbol(';')));
                ends.then(|| vec![text.raw.as_str()])
            }
            _ => None,
        };
        found.extend(texts.map(|texts| (name, texts)));
    }
    // What a pattern binds is not seen.
    let has_case = tokens.iter().any(|token| token.name() == Some("case"));
    found.retain(|name, _| counts.get(name) == Some(&1) && !has_case);
    found
}

/// The variables of a loop over a list of texts, over a list of lists of these, or over the items of a dictionary of texts, each
/// with its texts: `for u in ["a"]:`, `for name, u in {"a": "b"}.items():`. The list may be that of a name that is used nowhere else.
fn looped(tokens: &[Token], at: usize) -> Option<Vec<(&str, Vec<&str>)>> {
    let length = tokens.get(at..)?.iter().position(|token| token.name() == Some("in"))?;
    let names: Vec<&str> = tokens
        .get(at + 1..at + length)?
        .iter()
        .filter(|token| !token.is(','))
        .map(Token::name)
        .collect::<Option<_>>()?;
    let from = at + length + 1;
    let places =
        |name: &str| (0..tokens.len()).filter(|at| tokens.name_at(*at) == Some(name)).collect::<Vec<_>>();
    let (open, after) = match tokens.name_at(from) {
        Some(name) => match places(name).as_slice() {
            [bound, place] if *place == from => {
                let begins = bound.checked_sub(1).is_none_or(|before| {
                    matches!(tokens.get(before), Some(Token::Line | Token::Symbol(';')))
                });
                let open = bound + 2;
                let close = tokens.closing(open)?;
                let ends = matches!(tokens.get(close + 1), None | Some(Token::Line | Token::Symbol(';')));
                (begins && ends && is_set(tokens, bound + 1)).then_some((open, from + 1))?
            }
            _ => return None,
        },
        None => (from, tokens.closing(from)? + 1),
    };
    let inside = tokens.get(open + 1..tokens.closing(open)?)?;
    let rows = match tokens.get(open)? {
        Token::Symbol('{') => {
            let asks = tokens.is_at(after, '.')
                && tokens.name_at(after + 1) == Some("items")
                && tokens.is_at(after + 2, '(')
                && tokens.is_at(after + 3, ')')
                && tokens.is_at(after + 4, ':');
            asks.then_some(())?;
            let pairs = listed_by(inside, ',').map(|pair| listed_by(pair, ':').map(only_text).collect());
            pairs.collect::<Option<Vec<Vec<&str>>>>()?
        }
        Token::Symbol('[' | '(') if tokens.is_at(after, ':') => {
            let rows = listed_by(inside, ',').map(|row| match row {
                [Token::Symbol('(' | '['), row @ .., Token::Symbol(')' | ']')] if names.len() > 1 => {
                    listed_by(row, ',').map(only_text).collect()
                }
                row if names.len() == 1 => Some(vec![only_text(row)?]),
                _ => None,
            });
            rows.collect::<Option<Vec<Vec<&str>>>>()?
        }
        _ => return None,
    };
    let is_whole = !rows.is_empty() && rows.iter().all(|row| row.len() == names.len());
    let column = |index: usize| rows.iter().filter_map(|row| row.get(index).copied()).collect();
    is_whole.then(|| names.iter().enumerate().map(|(index, name)| (*name, column(index))).collect())
}

/// The parts between separators outside of brackets, without ends of lines.
fn listed_by(tokens: &[Token], separator: char) -> impl Iterator<Item = &[Token]> {
    let mut depth = 0_i32;
    let parts = tokens.split(move |token| {
        depth += i32::from(matches!(token, Token::Symbol('(' | '[' | '{')));
        depth -= i32::from(matches!(token, Token::Symbol(')' | ']' | '}')));
        depth == 0 && token.is(separator)
    });
    let trimmed = parts.map(|mut part| {
        while let [Token::Line, rest @ ..] | [rest @ .., Token::Line] = part {
            part = rest;
        }
        part
    });
    trimmed.filter(|part| !part.is_empty())
}

/// The text of a part that is nothing else.
fn only_text(part: &[Token]) -> Option<&str> {
    match part {
        [Token::Text(text)] => Some(text.raw.as_str()),
        _ => None,
    }
}

/// Whether an assignment stands at an index.
pub(super) fn is_set(tokens: &[Token], at: usize) -> bool {
    tokens.is_at(at, '=') && !tokens.is_at(at + 1, '=') && !tokens.is_at(at + 1, '>')
}

/// Whether an operator stands at an index that changes the name before it: `+=`, `//=`, `:=`, `++`.
pub fn is_operated(tokens: &[Token], at: usize) -> bool {
    match tokens.get(at) {
        Some(Token::Operator("++" | "--")) => true,
        Some(Token::Operator(_)) => tokens.is_at(at + 1, '='),
        Some(Token::Symbol(symbol)) if "+-*/%|&^@<>?:".contains(*symbol) => {
            tokens.is_at(at + 1, '=') || tokens.is_at(at + 1, *symbol) && tokens.is_at(at + 2, '=')
        }
        _ => false,
    }
}

/// For each token, whether it stands among several targets or among parameters: `a, b = …`, `[a] = …`, `def f(a)`, `(a) => …`.
pub(super) fn targets(tokens: &[Token]) -> Vec<bool> {
    let mut targets = vec![false; tokens.len()];
    let mut mark = |from: usize, to: usize| {
        targets.iter_mut().take(to).skip(from).for_each(|target| *target = true);
    };
    let mut open = Vec::new();
    let mut statement = 0;
    for (at, token) in tokens.iter().enumerate() {
        let is_set = token.is('=') && !tokens.is_at(at + 1, '=') && !tokens.is_at(at.wrapping_sub(1), '=');
        match token {
            Token::Symbol('(' | '[' | '{') => open.push(at),
            Token::Symbol(')' | ']' | '}') => {
                let Some(from) = open.pop() else { continue };
                let word = tokens.name_at(from.wrapping_sub(1));
                let sets = tokens.is_at(at + 1, '=') && !tokens.is_at(at + 2, '=');
                let loops = tokens.name_at(at + 1) == Some("of")
                    || tokens.name_at(at + 1) == Some("in") && word == Some("for");
                let heads = matches!(word, Some("function" | "as" | "catch"))
                    || matches!(tokens.name_at(from.wrapping_sub(2)), Some("def" | "function"));
                // `x[0] = …` is an element.
                let is_element = tokens.is_at(from, '[')
                    && match tokens.get(from.wrapping_sub(1)) {
                        Some(Token::Name(word)) => !DECLARING.has(word),
                        Some(Token::Symbol(')' | ']') | Token::Text(_)) => true,
                        _ => false,
                    };
                if is_element {
                    continue;
                }
                if heads {
                    let own = tokens.get(..at).unwrap_or_default().iter().enumerate().skip(from + 1);
                    let names = own.filter(|(at, token)| {
                        let mut before = tokens.get(..*at).unwrap_or_default().iter().rev();
                        let before = before.find(|token| **token != Token::Line);
                        token.name().is_some()
                            && matches!(before, Some(Token::Symbol('(' | ',' | '*' | '.' | '{' | '[' | '/')))
                    });
                    names.for_each(|(at, _)| mark(at, at + 1));
                } else if sets || loops {
                    mark(from, at + 1);
                }
            }
            Token::Symbol(';' | ':') | Token::Line if open.is_empty() => statement = at + 1,
            _ if is_set && open.is_empty() => {
                let head = tokens.get(statement..at).unwrap_or_default();
                if head.iter().any(|token| token.is(',')) {
                    mark(statement, at);
                }
                statement = at + 1;
            }
            _ => {
                // `for a, b in …`, `lambda a, b: …`.
                let end = match token.name() {
                    Some("for") => tokens.iter().skip(at).position(|token| token.name() == Some("in")),
                    Some("lambda") => tokens.iter().skip(at).position(|token| token.is(':')),
                    _ => None,
                };
                if let Some(length) = end.filter(|length| *length >= 3 || token.name() == Some("lambda")) {
                    mark(at, at + length);
                }
            }
        }
    }
    targets
}
