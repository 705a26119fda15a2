//! Code that removes its own temporary files.

use super::are_harmless;
use crate::catalogue::program::Language;
use crate::languages::lexer::{Places, Token, clear_tokens};
use crate::languages::names::python;

/// What a file below one of these is, no other program depends on.
const SCRATCH: [&str; 2] = ["/tmp/", "/var/tmp/"];

/// Whether code only computes, prints, and creates and removes files and folders of scratch, named by constants. It writes
/// nothing that another command could run.
pub fn only_tidies_scratch(code: &str, may_ask: &dyn Fn(&str) -> bool) -> bool {
    let Some(tokens) = clear_tokens(code, Language::Python) else { return false };
    without_tidying(&tokens).is_some_and(|rest| are_harmless(&rest, false, may_ask))
}

/// The tokens with each call that tidies scratch replaced by a value, and its import left out; `None` if there is none.
fn without_tidying(tokens: &[Token]) -> Option<Vec<Token>> {
    let mut rest: Vec<Token> = Vec::new();
    let mut imported: Vec<&str> = Vec::new();
    let (mut at, mut found) = (0, false);
    while let Some(token) = tokens.get(at) {
        if let Some(end) = tidying_call(tokens, at) {
            rest.push(Token::Value);
            (at, found) = (end, true);
        } else if let Some((end, name)) = tidying_import(tokens, at) {
            imported.push(name);
            (at, found) = (end, true);
        } else {
            rest.push(token.clone());
            at += 1;
        }
    }
    // `map(rmtree, folders)`.
    let is_used = rest.iter().filter_map(Token::name).any(|name| imported.contains(&name));
    (found && !is_used).then_some(rest)
}

/// The end of `from shutil import rmtree as wipe`, and the name that it binds.
fn tidying_import(tokens: &[Token], at: usize) -> Option<(usize, &str)> {
    let is_import = tokens.name_at(at) == Some("from") && tokens.name_at(at + 2) == Some("import");
    let names = python::TIDYING.get(tokens.name_at(at + 1).filter(|_| is_import)?)?;
    let name = tokens.name_at(at + 3).filter(|name| names.has(name))?;
    let (bound, end) = match tokens.name_at(at + 4) {
        Some("as") => (tokens.name_at(at + 5)?, at + 6),
        _ => (name, at + 4),
    };
    matches!(tokens.get(end), None | Some(Token::Line | Token::Symbol(';'))).then_some((end, bound))
}

/// The end of a call such as `shutil.rmtree("/tmp/build", ignore_errors=True)` or `rmtree("/tmp/build")`.
fn tidying_call(tokens: &[Token], at: usize) -> Option<usize> {
    let name = tokens.name_at(at)?;
    if at.checked_sub(1).is_some_and(|before| tokens.is_at(before, '.')) {
        return None;
    }
    let (open, is_known) = match python::TIDYING.get(name) {
        Some(names) if tokens.is_at(at + 1, '.') => (at + 3, names.has(tokens.name_at(at + 2)?)),
        _ => (at + 1, python::TIDYING.0.iter().any(|(_, names)| names.has(name))),
    };
    if !is_known || !tokens.is_at(open, '(') {
        return None;
    }
    let mut end = match tokens.get(open + 1)? {
        Token::Text(path) => path.literal().filter(|path| is_of_scratch(path)).map(|_| open + 2)?,
        _ => temporary_folder(tokens, open + 1)?,
    };
    while tokens.is_at(end, ',') {
        let is_option = matches!(tokens.name_at(end + 1)?, "ignore_errors" | "exist_ok");
        let is_constant = matches!(tokens.name_at(end + 3)?, "True" | "False");
        (is_option && tokens.is_at(end + 2, '=') && is_constant).then_some(())?;
        end += 4;
    }
    tokens.is_at(end, ')').then_some(end + 1)
}

/// The end of `mkdtemp()` or `tempfile.mkdtemp()`.
fn temporary_folder(tokens: &[Token], at: usize) -> Option<usize> {
    let at = if tokens.name_at(at) == Some("tempfile") && tokens.is_at(at + 1, '.') { at + 2 } else { at };
    let is_call =
        tokens.name_at(at) == Some("mkdtemp") && tokens.is_at(at + 1, '(') && tokens.is_at(at + 2, ')');
    is_call.then_some(at + 3)
}

fn is_of_scratch(path: &str) -> bool {
    SCRATCH
        .iter()
        .any(|folder| path.strip_prefix(folder).is_some_and(|rest| !rest.trim_matches(['/', '.']).is_empty()))
        && !path.split('/').any(|part| part == "..")
}
