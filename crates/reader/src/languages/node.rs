//! JavaScript for Node.js that only computes and prints.

use std::collections::BTreeMap;

use super::files::opens_any;
use super::lexer::{Token, clear_tokens};
use super::names::{Names, node};
use crate::catalogue::program::Language;

/// What of a module may be used.
fn allowed(module: &str, starts: bool) -> Option<Names> {
    let module = module.strip_prefix("node:").unwrap_or(module);
    node::MODULES.get(module).or_else(|| node::STARTING.get(module).filter(|_| starts))
}

/// Whether a module is data.
fn is_data(module: &str) -> bool {
    module.strip_suffix(".json").is_some_and(|path| path.starts_with(['.', '/']))
}

/// Whether code only computes and prints. With `starts`, it may start commands, which are judged apart.
pub fn is_harmless(code: &str, starts: bool) -> bool {
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
        .chain((0..tokens.len()).filter_map(|at| arrow_function(&tokens, at)))
        .chain(taken_apart(&tokens, starts))
        .collect();
    let names = Known { modules, functions, starts };
    (0..tokens.len()).all(|at| is_fine(&tokens, at, &names))
}

/// The name at an index, if it is that of an arrow function: `f = (x) => …`, `f = x => …`.
fn arrow_function(tokens: &[Token], at: usize) -> Option<&str> {
    let name = tokens.get(at)?.name()?;
    let is = |at: usize, symbol| tokens.get(at).is_some_and(|token: &Token| token.is(symbol));
    let is_declared = at.checked_sub(1).and_then(|at| tokens.get(at)).and_then(Token::name) == Some("const");
    if !is_declared || !is(at + 1, '=') {
        return None;
    }
    let mut next = at + 2;
    if is(next, '(') {
        let mut depth = 0_usize;
        while let Some(token) = tokens.get(next) {
            depth += usize::from(token.is('('));
            depth -= usize::from(token.is(')'));
            if depth == 0 {
                break;
            }
            next += 1;
        }
    }
    (is(next + 1, '=') && is(next + 2, '>')).then_some(name)
}

/// Functions that are taken out of modules: `const { execSync } = require('child_process')`.
fn taken_apart(tokens: &[Token], starts: bool) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, window) in tokens.windows(5).enumerate() {
        let [
            Token::Symbol('}'),
            Token::Symbol('='),
            Token::Name(require),
            Token::Symbol('('),
            Token::Text(module),
        ] = window
        else {
            continue;
        };
        let open = tokens.get(..at).unwrap_or_default().iter().rposition(|token| token.is('{'));
        let inside = open.and_then(|open| tokens.get(open + 1..at)).unwrap_or_default();
        let own: Vec<&str> = inside.iter().filter_map(Token::name).collect();
        let is_plain = inside.iter().all(|token| matches!(token, Token::Name(_)) || token.is(','));
        let allowed = allowed(&module.raw, starts);
        if require == "require"
            && is_plain
            && own.iter().all(|name| allowed.is_some_and(|names| names.allow(name)))
        {
            names.extend(own);
        }
    }
    names
}

/// What is known of names.
struct Known<'a> {
    modules: BTreeMap<&'a str, &'a str>,
    functions: Vec<&'a str>,
    starts: bool,
}

impl Known<'_> {
    fn allows(&self, module: &str, name: &str) -> bool {
        allowed(module, self.starts).is_some_and(|names| names.allow(name))
    }
}

fn is_fine(tokens: &[Token], at: usize, names: &Known<'_>) -> bool {
    let Known { modules, functions, starts } = names;
    let Some(token) = tokens.get(at) else { return true };
    let before = |count: usize| at.checked_sub(count).and_then(|at| tokens.get(at));
    let next = |count: usize| tokens.get(at + count);
    let called = next(1).is_some_and(|token| token.is('('));
    let dotted = before(1).is_some_and(|token| token.is('.'));
    match token {
        // `(async () => { … })();`.
        Token::Symbol('(') if *starts && next(1).is_some_and(|one| one.is(')')) => true,
        Token::Symbol('(') => !before(1).is_some_and(|token| token.is(')') || token.is(']') || token.is('}')),
        Token::Text(text) => !node::FORBIDDEN.has(&text.raw) && !text.raw.contains('\u{1}'),
        Token::Shell(_) => false,
        Token::Name(name) => {
            let name = name.as_str();
            let is_around = *starts && node::STARTING_KEYWORDS.has(name);
            if (node::FORBIDDEN.has(name) && !is_around) || name.contains('\\') {
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
                            || taken_apart(tokens.get(..at + 4).unwrap_or_default(), *starts).iter().any(
                                |_| {
                                    before(1).is_some_and(|one| one.is('='))
                                        && before(2).is_some_and(|one| one.is('}'))
                                },
                            )
                            || (bound
                                && allowed(&module.raw, *starts).is_some()
                                && !next(4).is_some_and(|one| one.is('.')))
                            || member(4).is_some_and(|name| names.allows(&module.raw, name))
                    }
                    _ => false,
                },
                "process" => member(1).is_some_and(|name| node::PROCESS.has(name)),
                _ if modules.get(name).is_some_and(|module| !is_data(module)) => {
                    let bound = next(1).is_some_and(|one| one.is('='))
                        && next(2).and_then(Token::name) == Some("require");
                    bound
                        || member(1).is_some_and(|member| {
                            modules.get(name).is_some_and(|one| names.allows(one, member))
                        })
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
