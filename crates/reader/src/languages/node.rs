//! JavaScript for Node.js that only computes and prints.

use std::collections::{BTreeMap, BTreeSet};

use super::files::opens_any;
use super::lexer::{Places, Token, clear_tokens, located_tokens};
use super::literal;
use super::names::{Names, node};
use crate::catalogue::program::Language;

/// What of a module may be used.
fn allowed(module: &str, starts: bool) -> Option<Names> {
    let module = module.strip_prefix("node:").unwrap_or(module);
    node::MODULES.get(module).or_else(|| node::STARTING.get(module).filter(|_| starts))
}

/// Whether a module is data.
fn is_data(module: &str) -> bool {
    let is_of_package = || module.strip_suffix("/package.json").is_some_and(is_package);
    module.strip_suffix(".json").is_some_and(|path| path.starts_with(['.', '/'])) || is_of_package()
}

/// Whether a text is the name of a package: `express`, `@scope/name`.
fn is_package(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let is_plain = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    match parts.as_slice() {
        [name] => is_plain(name),
        [scope, name] => scope.strip_prefix('@').is_some_and(|scope| is_plain(&scope)) && is_plain(name),
        _ => false,
    }
}

/// The paths that code loads as data. What lies there may also be a folder with code.
pub fn loaded_data(code: &str) -> Vec<String> {
    let tokens = required(&super::lexer::tokens(code, Language::Node));
    let loaded = tokens.windows(3).filter_map(|window| match window {
        [Token::Name(name), Token::Symbol('('), Token::Text(module)] if name == "require" => {
            Some(&module.raw)
        }
        _ => None,
    });
    let path = |module: &String| {
        let is_path = module.starts_with(['.', '/']);
        if is_path { module.clone() } else { format!("./node_modules/{module}") }
    };
    loaded.filter(|module| is_data(module)).map(path).collect()
}

/// Whether code only computes and prints. With `starts`, it may start commands, which are judged apart; `may_ask` states
/// whether a GET of an address only reads.
pub fn is_harmless(code: &str, starts: bool, may_ask: &dyn Fn(&str) -> bool) -> bool {
    // A comment as in HTML.
    if code.contains("<!--") || code.contains("-->") {
        return false;
    }
    let Some(tokens) = clear_tokens(code, Language::Node) else { return false };
    let tokens = required(&tokens);
    let main = located_tokens(code, Language::Node).0;
    let main = required(&main).iter().filter(|token| **token != Token::Line).count();
    let tokens: Vec<Token> = tokens.into_iter().filter(|token| *token != Token::Line).collect();
    if (0..tokens.len()).any(|at| gives_away(&tokens, at, at >= main)) {
        return false;
    }
    if starts && !literal::is_settled(&tokens, Language::Node, &BTreeSet::new()) {
        return false;
    }
    let lists_folders = tokens.iter().any(|token| token.name() == Some("readdirSync"));
    let opens_any_file = tokens.windows(2).enumerate().any(|(at, pair)| {
        matches!(pair, [Token::Name(name), Token::Symbol('(')] if name == "readFileSync")
            && (opens_any(tokens.get(at + 2..).unwrap_or_default().iter(), lists_folders)
                || !only_decodes(&tokens, at + 1))
    });
    // `paths.map(fs.readFileSync)` may read any file; `const { readFileSync } = require('fs')` reads none.
    let is_taken = |at: usize| {
        let close = (at..tokens.len()).find(|at| tokens.is_at(*at, '}'));
        (tokens.is_at(at + 1, ',') || tokens.is_at(at + 1, '}'))
            && close.is_some_and(|at| tokens.is_at(at + 1, '=') && tokens.name_at(at + 2) == Some("require"))
    };
    let hands_on = tokens.iter().enumerate().any(|(at, token)| {
        token.name() == Some("readFileSync") && !tokens.is_at(at + 1, '(') && !is_taken(at)
    });
    if opens_any_file || hands_on {
        return false;
    }
    // `const fs = require('fs')`.
    let mut modules: BTreeMap<&str, &str> = BTreeMap::new();
    for (at, window) in tokens.windows(5).enumerate() {
        // `const text = require('fs').readFileSync('x')` is no module.
        if let [
            Token::Name(name),
            Token::Symbol('='),
            Token::Name(require),
            Token::Symbol('('),
            Token::Text(module),
        ] = window
            && require == "require"
            && !tokens.is_at(at + 6, '.')
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
    let names = Known { modules, functions, starts, may_ask };
    (0..tokens.len()).all(|at| is_fine(&tokens, at, &names))
}

/// Whether the second argument of a call that reads a file, if there is one, only names an encoding: a flag may create a file.
fn only_decodes(tokens: &[Token], open: usize) -> bool {
    let Some(inside) = tokens.closing(open).and_then(|close| tokens.get(open + 1..close)) else {
        return false;
    };
    let mut depth = 0;
    let parts = inside.split(|token| {
        depth += token.nesting();
        depth == 0 && token.is(',')
    });
    parts.skip(1).all(|part| match part {
        [] | [Token::Text(_)] => true,
        [Token::Symbol('{'), Token::Name(key), Token::Symbol(':'), Token::Text(_), Token::Symbol('}')] => {
            key == "encoding"
        }
        _ => false,
    })
}

/// The tokens with `import x from "y"` as `x = require("y")`.
fn required(tokens: &[Token]) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let begins = found.last().is_none_or(|token| matches!(token, Token::Line | Token::Symbol(';')));
        let rest = tokens.get(at..).unwrap_or_default();
        let from = || rest.iter().position(|token| token.name() == Some("from"));
        if token.name() == Some("import")
            && begins
            && let Some((names, [_, module @ Token::Text(_), ..])) = from().map(|from| rest.split_at(from))
            && (matches!(names, [Token::Name(_)]) || names.is_at(0, '{') && names.is_at(names.len() - 1, '}'))
        {
            at += names.len() + 2;
            found.extend_from_slice(names);
            let [open, close] = ['(', ')'].map(Token::Symbol);
            found.extend([
                Token::Symbol('='),
                Token::Name("require".to_owned()),
                open,
                module.clone(),
                close,
            ]);
            continue;
        }
        found.push(token.clone());
    }
    found
}

/// Whether the word at an index is a keyword before a value, and no member or variable.
fn is_keyword(tokens: &[Token], at: usize) -> bool {
    let before = at.wrapping_sub(1);
    let is_member = tokens.is_at(before, '.');
    match tokens.name_at(at) {
        Some("of") => {
            tokens.name_at(before).is_some() || tokens.is_at(before, ']') || tokens.is_at(before, '}')
        }
        Some(name) => node::BEFORE_TEXTS.has(name) && !is_member,
        None => false,
    }
}

/// Whether the value of a key that is computed is kept or handed on: it may be a function, such as a constructor. It may be
/// printed, calculated with, or asked for a member. `is_inner` states that a text holds the expression.
fn gives_away(tokens: &[Token], open: usize, is_inner: bool) -> bool {
    let is = |at, symbol| tokens.is_at(at, symbol);
    let ends_value = |at: usize| match tokens.get(at) {
        Some(Token::Name(_)) => !is_keyword(tokens, at),
        Some(Token::Text(_) | Token::Value) => true,
        Some(Token::Symbol(symbol)) => matches!(symbol, ')' | ']' | '}' | '.'),
        _ => false,
    };
    let Some(owner) = open.checked_sub(1).filter(|_| is(open, '[')) else { return false };
    // `{[key]: name}` takes it, too.
    let is_field = is(owner, '{') || is(owner, ',');
    if !is_field && !ends_value(owner) {
        return false;
    }
    let Some(close) = tokens.closing(open) else { return true };
    let key = tokens.get(open + 1..close).unwrap_or_default();
    let texts = key.iter().filter(|token| matches!(token, Token::Text(_))).count();
    if key.iter().all(|token| !matches!(token, Token::Name(_))) && (texts == 0 || key.len() == 1) {
        return false;
    }
    if is_field {
        return is(close + 1, ':');
    }
    // Where the value that is looked at begins.
    let mut depth = 0;
    let start = (0..open).rev().find(|at| {
        depth -= tokens.get(*at).map_or(0, Token::nesting);
        let continues = at.checked_sub(1).is_some_and(|before| {
            is(before, '.') || (is(*at, '.') || is(*at, '(') || is(*at, '[')) && ends_value(before)
        });
        depth <= 0 && !continues
    });
    let before = start.unwrap_or(0).wrapping_sub(1);
    // `console.log(…, x[y])`.
    let mut depth = 0;
    let caller = (0..before.wrapping_add(1)).rev().find(|at| {
        depth -= tokens.get(*at).map_or(0, Token::nesting);
        depth < 0
    });
    // What prints was not replaced.
    let is_replaced =
        |at: usize| tokens.name_at(at) == Some("console") && !(is(at + 1, '.') && is(at + 3, '('));
    let prints = caller.is_some_and(|at| {
        is(at, '(') && is(at.wrapping_sub(2), '.') && tokens.name_at(at.wrapping_sub(3)) == Some("console")
    }) && !(0..tokens.len()).any(is_replaced);
    let follows = tokens.get(close + 1);
    let computes = matches!(
        follows,
        Some(
            Token::Symbol('.' | '[' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=')
                | Token::Operator("++" | "--")
        )
    );
    let is_counted = follows == Some(&Token::Operator("||"))
        && matches!(
            tokens.get(close + 2..close + 5),
            Some([Token::Value, Token::Symbol(')'), Token::Symbol('+')])
        );
    let is_printed = prints && (is(before, '(') || is(before, ',') || is(before, '+'))
        || is_inner
            && !is_keyword(tokens, before)
            && !matches!(
                tokens.get(before),
                Some(Token::Symbol('=' | ':' | '(' | ',' | '>' | '?' | '[' | '|'))
            );
    !(computes || is_counted || is_printed)
}

/// The name at an index, if it is that of an arrow function: `f = (x) => …`, `f = x => …`.
fn arrow_function(tokens: &[Token], at: usize) -> Option<&str> {
    let name = tokens.name_at(at)?;
    if tokens.name_at(at.wrapping_sub(1)) != Some("const") || !tokens.is_at(at + 1, '=') {
        return None;
    }
    let next = if tokens.is_at(at + 2, '(') { tokens.closing(at + 2)? } else { at + 2 };
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
    may_ask: &'a dyn Fn(&str) -> bool,
}

impl Known<'_> {
    fn allows(&self, module: &str, name: &str) -> bool {
        allowed(module, self.starts).is_some_and(|names| names.allow(name))
    }
}

fn is_fine(tokens: &[Token], at: usize, names: &Known<'_>) -> bool {
    let Known { modules, functions, starts, may_ask } = names;
    let Some(token) = tokens.get(at) else { return true };
    let next = |count: usize| tokens.get(at + count);
    let is_next = |symbol| tokens.is_at(at + 1, symbol);
    let before = at.wrapping_sub(1);
    let called = is_next('(');
    match token {
        // `(async () => { … })();`.
        Token::Symbol('(') if *starts && is_next(')') => true,
        Token::Symbol('(') => ![')', ']', '}', '.'].iter().any(|symbol| tokens.is_at(before, *symbol)),
        Token::Text(text) => {
            // A function before a template calls it.
            let is_tagged = match tokens.get(before) {
                Some(Token::Name(_)) => !is_keyword(tokens, before),
                Some(Token::Symbol(symbol)) => matches!(symbol, ')' | ']' | '}'),
                _ => false,
            };
            !is_tagged && !node::FORBIDDEN.has(&text.raw) && !text.raw.contains('\u{1}')
        }
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
                        || owner.is_some_and(|owner| names.allows(owner, name))
                }
                // `fetch("http://…")`.
                _ if node::ASKING.has(name) => {
                    let address = tokens.literal_at(at + 2).filter(|_| called && tokens.is_at(at + 3, ')'));
                    address.is_some_and(|address| address.starts_with("http") && may_ask(address))
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
                // Modules that need not be loaded.
                _ if node::BUILTINS.has(name) && !is_next(':') => {
                    member(1).is_some_and(|member| names.allows(name, member))
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
