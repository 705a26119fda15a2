//! Requests for constant addresses.

use std::collections::BTreeMap;

use super::imports::Imports;
use crate::languages::lexer::{Places, Token};
use crate::languages::literal;
use crate::languages::names::python;

/// The tokens with each request for a constant address replaced by a value; `None` if a function that sends requests is used
/// otherwise.
pub(super) fn without_requests(
    tokens: Vec<Token>,
    imports: &Imports,
    may_ask: &dyn Fn(&str) -> bool,
) -> Option<Vec<Token>> {
    let asking = |module: &String| python::ASKING.get(module).is_some();
    let (modules, packages) = (imports.modules.values(), imports.packages.values());
    if !modules.chain(packages).any(asking) && imports.asking.is_empty() {
        return Some(tokens);
    }
    let constants = literal::bound_once(&tokens);
    let mut plain: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let Some(name) = token.name() else {
            plain.push(token.clone());
            at += 1;
            continue;
        };
        // `requests.get(`, `urllib.request.urlopen(`, `urlopen(`.
        let mut end = at + 1;
        let mut owner = String::new();
        let mut last = name;
        while let Some(next) = tokens.name_at(end + 1).filter(|_| tokens.is_at(end, '.')) {
            owner = if owner.is_empty() { last.to_owned() } else { format!("{owner}.{last}") };
            (last, end) = (next, end + 2);
        }
        let is_member = plain.last().is_some_and(|token| token.is('.'));
        let module = imports.modules.get(&owner).cloned().unwrap_or(owner);
        let asks = if module.is_empty() {
            imports.asking.contains(last)
        } else {
            python::ASKING.get(&module).is_some_and(|names| names.has(last))
        };
        if asks && !is_member {
            at = constant_request(&tokens, end, &constants, may_ask)?;
            plain.push(Token::Value);
            continue;
        }
        plain.push(token.clone());
        at += 1;
    }
    Some(plain)
}

/// The end of the arguments of a request for a constant address, which sends nothing else.
fn constant_request(
    tokens: &[Token],
    open: usize,
    constants: &BTreeMap<&str, Vec<&str>>,
    may_ask: &dyn Fn(&str) -> bool,
) -> Option<usize> {
    let one;
    let addresses = match tokens.get(open + 1).filter(|_| tokens.is_at(open, '('))? {
        Token::Text(address) => {
            one = vec![address.raw.as_str()];
            &one
        }
        Token::Name(name) => constants.get(name.as_str())?,
        _ => return None,
    };
    let is_plain = addresses.iter().all(|address| {
        address.starts_with("http") && !address.contains(['{', '%', '\\']) && may_ask(address)
    });
    let mut at = open + 2;
    while is_plain && tokens.is_at(at, ',') {
        let name = tokens.name_at(at + 1).filter(|_| tokens.is_at(at + 2, '='))?;
        let is_constant = match tokens.get(at + 3)? {
            Token::Value => true,
            Token::Name(name) => matches!(name.as_str(), "True" | "False" | "None"),
            _ => false,
        };
        if !(is_constant && matches!(name, "timeout" | "verify" | "allow_redirects" | "follow_redirects")) {
            return None;
        }
        at += 4;
    }
    (is_plain && tokens.is_at(at, ')')).then_some(at + 1)
}
