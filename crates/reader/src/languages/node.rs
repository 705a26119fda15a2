//! JavaScript for Node.js that only computes and prints.

use std::collections::BTreeMap;

use super::files::opens_any;
use super::lexer::{Places, Token, clear_tokens};
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
    let name = tokens.name_at(at)?;
    if tokens.name_at(at.wrapping_sub(1)) != Some("const") || !tokens.is_at(at + 1, '=') {
        return None;
    }
    let mut next = at + 2;
    if tokens.is_at(next, '(') {
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
    (tokens.is_at(next + 1, '=') && tokens.is_at(next + 2, '>')).then_some(name)
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
    let next = |count: usize| tokens.get(at + count);
    let is_next = |symbol| tokens.is_at(at + 1, symbol);
    let before = at.wrapping_sub(1);
    let called = is_next('(');
    match token {
        // `(async () => { … })();`.
        Token::Symbol('(') if *starts && is_next(')') => true,
        Token::Symbol('(') => ![')', ']', '}'].iter().any(|symbol| tokens.is_at(before, *symbol)),
        Token::Text(text) => !node::FORBIDDEN.has(&text.raw) && !text.raw.contains('\u{1}'),
        Token::Shell(_) => false,
        Token::Name(name) => {
            let name = name.as_str();
            let is_around = *starts && node::STARTING_KEYWORDS.has(name);
            if (node::FORBIDDEN.has(name) && !is_around) || name.contains('\\') {
                return false;
            }
            let member =
                |count: usize| tokens.name_at(at + count + 1).filter(|_| tokens.is_at(at + count, '.'));
            match name {
                _ if tokens.is_at(before, '.') => {
                    let owner =
                        tokens.name_at(at.wrapping_sub(2)).filter(|_| !tokens.is_at(at.wrapping_sub(3), '.'));
                    let module = owner.and_then(|owner| modules.get(owner)).filter(|module| !is_data(module));
                    module.is_some()
                        || !called
                        || node::METHODS.has(name)
                        || is_member_of_require(tokens, at)
                        || (owner == Some("process") && node::PROCESS.has(name))
                }
                "require" => match (next(1), next(2), next(3)) {
                    (Some(Token::Symbol('(')), Some(Token::Text(module)), Some(Token::Symbol(')'))) => {
                        let is_value = tokens.is_at(before, '=');
                        let is_apart = is_value && tokens.is_at(at.wrapping_sub(2), '}');
                        let bound = is_value && tokens.name_at(at.wrapping_sub(2)).is_some();
                        is_data(&module.raw)
                            || (is_apart
                                && !taken_apart(tokens.get(..at + 4).unwrap_or_default(), *starts).is_empty())
                            || (bound
                                && allowed(&module.raw, *starts).is_some()
                                && !tokens.is_at(at + 4, '.'))
                            || member(4).is_some_and(|name| names.allows(&module.raw, name))
                    }
                    _ => false,
                },
                "process" => member(1).is_some_and(|name| node::PROCESS.has(name)),
                _ if modules.get(name).is_some_and(|module| !is_data(module)) => {
                    is_next('=') && tokens.name_at(at + 2) == Some("require")
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
    tokens.is_at(at.wrapping_sub(2), ')')
        && matches!(tokens.get(at.wrapping_sub(3)), Some(Token::Text(_)))
        && tokens.name_at(at.wrapping_sub(5)) == Some("require")
}
