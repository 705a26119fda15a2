//! JavaScript for Node.js that only computes and prints.

use std::collections::BTreeMap;

use super::files::opens_any;
use super::lexer::{Token, clear_tokens};
use super::names::{Names, node};
use crate::catalogue::program::Language;

/// What of a module may be used.
fn allowed(module: &str) -> Option<Names> {
    node::MODULES.get(module.strip_prefix("node:").unwrap_or(module))
}

fn allows(module: &str, name: &str) -> bool {
    allowed(module).is_some_and(|names| names.allow(name))
}

/// Whether a module is data.
fn is_data(module: &str) -> bool {
    module.strip_suffix(".json").is_some_and(|path| path.starts_with(['.', '/']))
}

/// Whether code only computes and prints.
pub fn is_harmless(code: &str) -> bool {
    let Some(tokens) = clear_tokens(code, Language::Node) else { return false };
    let tokens: Vec<Token> = tokens.into_iter().filter(|token| *token != Token::Line).collect();
    let lists_folders = tokens.iter().any(|token| token.name() == Some("readdirSync"));
    let opens_any_file = tokens.windows(2).enumerate().any(|(at, pair)| {
        matches!(pair, [Token::Name(name), Token::Symbol('(')] if name == "readFileSync")
            && opens_any(tokens.get(at + 2..).unwrap_or_default().iter(), lists_folders)
    });
    if opens_any_file {
        return false;
    }
    // `const fs = require('fs')`.
    let mut modules: BTreeMap<&str, &str> = BTreeMap::new();
    for window in tokens.windows(5) {
        if let [
            Token::Name(name),
            Token::Symbol('='),
            Token::Name(require),
            Token::Symbol('('),
            Token::Text(module),
        ] = window
            && require == "require"
        {
            modules.insert(name, &module.raw);
        }
    }
    let functions: Vec<&str> = tokens
        .windows(2)
        .filter_map(|pair| match pair {
            [Token::Name(word), Token::Name(name)] if word == "function" => Some(name.as_str()),
            _ => None,
        })
        .collect();
    (0..tokens.len()).all(|at| is_fine(&tokens, at, &modules, &functions))
}

fn is_fine(tokens: &[Token], at: usize, modules: &BTreeMap<&str, &str>, functions: &[&str]) -> bool {
    let Some(token) = tokens.get(at) else { return true };
    let before = |count: usize| at.checked_sub(count).and_then(|at| tokens.get(at));
    let next = |count: usize| tokens.get(at + count);
    let called = next(1).is_some_and(|token| token.is('('));
    let dotted = before(1).is_some_and(|token| token.is('.'));
    match token {
        Token::Symbol('(') => !before(1).is_some_and(|token| token.is(')') || token.is(']') || token.is('}')),
        Token::Text(text) => !node::FORBIDDEN.has(&text.raw) && !text.raw.contains('\u{1}'),
        Token::Shell(_) => false,
        Token::Name(name) => {
            let name = name.as_str();
            if node::FORBIDDEN.has(name) || name.contains('\\') {
                return false;
            }
            let member =
                |count: usize| next(count).filter(|token| token.is('.')).and(next(count + 1)?.name());
            match name {
                _ if dotted => {
                    let owner =
                        before(2).and_then(Token::name).filter(|_| !before(3).is_some_and(|one| one.is('.')));
                    let module = owner.and_then(|owner| modules.get(owner)).filter(|module| !is_data(module));
                    module.is_some()
                        || !called
                        || node::METHODS.has(name)
                        || is_member_of_require(tokens, at)
                        || (owner == Some("process") && node::PROCESS.has(name))
                }
                "require" => match (next(1), next(2), next(3)) {
                    (Some(Token::Symbol('(')), Some(Token::Text(module)), Some(Token::Symbol(')'))) => {
                        let bound = before(1).is_some_and(|one| one.is('='))
                            && before(2).and_then(Token::name).is_some();
                        is_data(&module.raw)
                            || (bound
                                && allowed(&module.raw).is_some()
                                && !next(4).is_some_and(|one| one.is('.')))
                            || member(4).is_some_and(|name| allows(&module.raw, name))
                    }
                    _ => false,
                },
                "process" => member(1).is_some_and(|name| node::PROCESS.has(name)),
                _ if modules.get(name).is_some_and(|module| !is_data(module)) => {
                    let bound = next(1).is_some_and(|one| one.is('='))
                        && next(2).and_then(Token::name) == Some("require");
                    bound
                        || member(1)
                            .is_some_and(|member| modules.get(name).is_some_and(|one| allows(one, member)))
                }
                _ => !called || node::CALLS.has(name) || functions.contains(&name),
            }
        }
        _ => true,
    }
}

/// Whether a name follows `require('…').`, where it was looked at.
fn is_member_of_require(tokens: &[Token], at: usize) -> bool {
    let before = |count: usize| at.checked_sub(count).and_then(|at| tokens.get(at));
    before(2).is_some_and(|one| one.is(')'))
        && matches!(before(3), Some(Token::Text(_)))
        && before(5).and_then(Token::name) == Some("require")
}
