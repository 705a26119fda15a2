//! Whether all names of code of Python or JavaScript keep what they are bound to.

use std::collections::{BTreeMap, BTreeSet};

use super::bindings::{DECLARING, is_operated, is_set, targets};
use super::{arguments, is_read};
use crate::catalogue::program::Language;
use crate::languages::lexer::{Places, Token};
use crate::languages::names::starts;

/// Whether each name in code of Python or JavaScript that starts commands is bound once and nothing that it holds is changed, so
/// that the evaluator follows all values. `renamed` are names of functions that start commands.
pub fn is_settled(tokens: &[Token], language: Language, renamed: &BTreeSet<String>) -> bool {
    let is_python = language == Language::Python;
    let targets = targets(tokens);
    // Whether all bindings of a name are plain statements.
    let mut bound: BTreeMap<&str, bool> = BTreeMap::new();
    let (lists, defined) = (own_lists(tokens), defined(tokens));
    let mut depth = 0_i32;
    (0..tokens.len()).all(|at| {
        depth += tokens.get(at).map_or(0, Token::nesting);
        // An element, or what is in it, is assigned: `x[0] = …`, `{"a": x}["a"][0] = …`.
        if tokens.is_at(at, ']') && (is_set(tokens, at + 1) || is_operated(tokens, at + 1)) {
            let open = (0..at).rev().find(|open| tokens.is_at(*open, '['));
            let owner = open.and_then(|open| tokens.name_at(open.wrapping_sub(1)));
            return targets.get(at).copied().unwrap_or_default()
                || owner.is_some_and(|owner| lists.contains(owner));
        }
        let Some(name) = tokens.name_at(at) else { return true };
        let before = tokens.get(at.wrapping_sub(1));
        if is_python && name == "case" {
            return false;
        }
        if starts::CALLS.has(name) || renamed.contains(name) {
            let is_own = defined.contains(name) && !before.is_some_and(|token| token.is('.'));
            return is_own || takes_plain_options(tokens, at, is_python);
        }
        let changes = is_set(tokens, at + 1) || is_operated(tokens, at + 1);
        if before.is_some_and(|token| token.is('.')) {
            let owner = tokens.name_at(at.wrapping_sub(2));
            let is_own = matches!(owner, Some("self" | "this"));
            let may_mutate = tokens.is_at(at + 1, '(') && owner.is_some_and(|owner| lists.contains(owner));
            return (!changes || is_own) && (!starts::MUTATING.has(name) || may_mutate);
        }
        let is_option = is_python && depth > 0 && is_set(tokens, at + 1);
        let loops = tokens.name_at(at + 1).is_some_and(|word| word == "of" || word == "in" && !is_python);
        let declares = before.and_then(Token::name).is_some_and(|word| DECLARING.has(word));
        let is_arrow = tokens.is_at(at + 1, '=') && tokens.is_at(at + 2, '>');
        let is_target = targets.get(at).copied().unwrap_or_default();
        let binds = changes && !is_option || loops || declares || is_arrow || is_target;
        let counts = matches!(tokens.get(at + 1), Some(Token::Operator("++" | "--"))) && !is_python;
        let word = before.and_then(Token::name);
        let begins = matches!(before, None | Some(Token::Line | Token::Symbol(';' | ':' | '{' | '}')));
        let is_first = !bound.contains_key(name);
        let is_plain = !is_target
            && (begins
                || is_first && matches!(word, Some("let" | "var")) && !tokens.is_at(at.wrapping_sub(2), '('));
        if !binds || counts || matches!(name, "self" | "cls" | "_") {
            return true;
        }
        let was_plain = bound.insert(name, is_plain);
        was_plain.is_none_or(|was_plain| was_plain && is_plain)
    })
}

/// The names of the functions that code defines.
fn defined(tokens: &[Token]) -> BTreeSet<&str> {
    let pairs = tokens.windows(2).filter(|pair| matches!(pair.name_at(0), Some("def" | "function")));
    pairs.filter_map(|pair| pair.name_at(1)).collect()
}

/// The names of lists that code only changes by that name, and otherwise only starts commands with or prints.
fn own_lists(tokens: &[Token]) -> BTreeSet<&str> {
    let begins = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        matches!(before, None | Some(Token::Line | Token::Symbol(';' | ':' | '{' | '}')))
            || before.and_then(Token::name).is_some_and(|word| matches!(word, "const" | "let" | "var"))
    };
    let mut found: BTreeMap<&str, bool> = BTreeMap::new();
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol('(' | '[' | '{') => open.push(at),
            Token::Symbol(')' | ']' | '}') => drop(open.pop()),
            Token::Name(name) => {
                let caller = open
                    .last()
                    .filter(|open| tokens.is_at(**open, '('))
                    .and_then(|open| tokens.name_at(open.wrapping_sub(1)));
                let is_given = is_read(tokens, at)
                    && caller.is_some_and(|caller| starts::CALLS.has(caller) || caller == "print");
                let is_bound = is_set(tokens, at + 1) && tokens.is_at(at + 2, '[');
                let mutates = tokens.is_at(at + 1, '.')
                    && tokens.name_at(at + 2).is_some_and(|name| starts::MUTATING.has(name))
                    && tokens.is_at(at + 3, '(');
                let is_element = tokens.is_at(at + 1, '[')
                    && tokens.closing(at + 1).is_some_and(|close| is_set(tokens, close + 1));
                let is_own = is_given
                    || begins(at) && (is_bound || mutates || is_element || is_operated(tokens, at + 1));
                *found.entry(name).or_insert(true) &= is_own;
            }
            _ => {}
        }
    }
    found.into_iter().filter(|(_, is_own)| *is_own).map(|(name, _)| name).collect()
}

/// Whether a call, whose name is at an index, does not name another program or shell behind its first argument.
fn takes_plain_options(tokens: &[Token], at: usize, is_python: bool) -> bool {
    let name = tokens.name_at(at).unwrap_or_default();
    let Some(arguments) = arguments(tokens, at + 1) else { return true };
    arguments.iter().enumerate().all(|(index, part)| {
        if is_python {
            let is_named = part.is_at(1, '=') || part.is_at(0, '*');
            return !starts::OPTIONED.has(name) || index < 2 || is_named || part.is_empty();
        }
        let has_shell = part.iter().enumerate().any(|(at, token)| {
            let is_key = token.name() == Some("shell") || token.literal() == Some("shell");
            is_key && !matches!(part.name_at(at + 2), Some("true" | "false"))
        });
        let is_computed = part.is_at(0, '{')
            && (0..part.len()).any(|at| part.is_at(at, '[') && !part.is_at(at.wrapping_sub(1), ':'));
        !has_shell && !is_computed
    })
}
