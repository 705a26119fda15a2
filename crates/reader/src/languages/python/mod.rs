//! Python that only computes and prints.

mod imports;
mod requests;
mod tidying;

use std::collections::BTreeSet;

use crate::catalogue::program::Language;
use crate::languages::files::{opens_any, opens_composed};
use crate::languages::lexer::{Places, Token, clear_tokens};
use crate::languages::literal::{self, is_operated};
use crate::languages::names::{python, starts};
use crate::languages::sql::{self, Functions};
use imports::{Imports, is_connection};
use requests::without_requests;
pub use tidying::only_tidies_scratch;

/// Whether code only computes and prints. With `starts`, it may start commands, which are judged apart; `may_ask` states
/// whether a GET of an address only reads.
pub fn is_harmless(code: &str, starts: bool, may_ask: &dyn Fn(&str) -> bool) -> bool {
    clear_tokens(code, Language::Python).is_some_and(|tokens| are_harmless(&tokens, starts, may_ask))
}

fn are_harmless(tokens: &[Token], starts: bool, may_ask: &dyn Fn(&str) -> bool) -> bool {
    let mut imports = Imports { starts, ..Imports::default() };
    let mut rest: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let begins = rest.last().is_none_or(|token| matches!(token, Token::Line | Token::Symbol(';' | ':')));
        if begins && matches!(token.name(), Some("import" | "from")) {
            let ends = |token: &Token| matches!(token, Token::Line | Token::Symbol(';'));
            let line = tokens.get(at..).unwrap_or_default();
            let line = line.get(..line.iter().position(ends).unwrap_or(line.len())).unwrap_or_default();
            if imports.bind(line).is_none() {
                return false;
            }
            at += line.len();
            continue;
        }
        rest.push(token.clone());
        at += 1;
    }
    let Some(rest) = without_requests(rest, &imports, may_ask) else { return false };
    if opens_any_file(&rest)
        || opens_composed(&rest)
        || starts && !literal::is_settled(&rest, Language::Python, &imports.renamed)
    {
        return false;
    }
    // What is loaded and started later comes from other places.
    if (0..rest.len()).any(|at| redirects(&rest, at)) {
        return false;
    }
    imports.local = local_functions(&rest);
    // `Path.replace` renames a file, `ElementTree.write` writes one.
    let mut modules = imports.modules.values();
    imports.risky = if modules.clone().any(|one| one == "pathlib") || imports.names.contains("Path") {
        &["replace", "write"]
    } else if modules.any(|one| one.starts_with("xml")) {
        &["write"]
    } else {
        &[]
    };
    (0..rest.len()).all(|at| is_fine(&rest, at, &imports))
}

/// Whether the name of a file that the code reads cannot be determined: the file may be a secret one.
fn opens_any_file(tokens: &[Token]) -> bool {
    let walks = ["walk", "listdir", "scandir", "iterdir", "rglob"];
    let lists_folders = tokens.iter().filter_map(Token::name).any(|name| walks.contains(&name));
    tokens.windows(2).enumerate().any(|(at, pair)| {
        let [token, bracket] = pair else { return false };
        let argument = tokens.get(at + 2..).unwrap_or_default().iter();
        match token.name().filter(|_| bracket.is('(')) {
            Some("open") => opens_any(argument, lists_folders),
            Some("read_text" | "read_bytes") => lists_folders,
            _ => false,
        }
    })
}

/// Whether the environment, the arguments or the search path of modules may be changed at an index: they are only read where an element or
/// all of them is printed, searched or asked for.
fn redirects(tokens: &[Token], at: usize) -> bool {
    let is = |ahead: usize, symbol| tokens.is_at(at + ahead, symbol);
    let owner = tokens.name_at(at.wrapping_sub(2)).filter(|_| tokens.is_at(at.wrapping_sub(1), '.'));
    let is_path = tokens.name_at(at) == Some("path") && owner == Some("sys");
    // Modules that are run as programs take the arguments.
    let is_arguments = tokens.name_at(at) == Some("argv");
    if tokens.name_at(at) != Some("environ") && !is_path && !is_arguments {
        return false;
    }
    let before = at.wrapping_sub(if owner.is_some() { 3 } else { 1 });
    if is(1, '.') {
        return is_path || !tokens.name_at(at + 2).is_some_and(|name| python::READING.has(name));
    }
    if is(1, '[') {
        let close = tokens.closing(at + 1).unwrap_or(tokens.len());
        let sets = tokens.is_at(close + 1, '=') && !tokens.is_at(close + 2, '=');
        let removes = tokens.name_at(before) == Some("del");
        return sets || removes || is_operated(tokens, close + 1);
    }
    let caller = tokens.name_at(before.wrapping_sub(1)).filter(|_| tokens.is_at(before, '('));
    let is_read =
        caller.is_some_and(|name| python::READERS.has(name)) || tokens.name_at(before) == Some("in");
    // `{**os.environ, "LANG": "C"}`.
    !(is_read || tokens.is_at(before, '*') && tokens.is_at(before.wrapping_sub(1), '*'))
}

/// Functions that the code defines.
fn local_functions(tokens: &[Token]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = match token.name() {
            Some("def" | "class") => tokens.name_at(at + 1),
            name => name.filter(|_| tokens.is_at(at + 1, '=') && tokens.name_at(at + 2) == Some("lambda")),
        };
        names.extend(name.map(str::to_owned));
    }
    names
}

/// Whether the token at an index is harmless where it stands.
fn is_fine(tokens: &[Token], at: usize, imports: &Imports) -> bool {
    let Some(token) = tokens.get(at) else { return true };
    let before = tokens.get(at.wrapping_sub(1));
    let called = tokens.is_at(at + 1, '(');
    match token {
        Token::Symbol('@') => {
            let begins = matches!(before, None | Some(Token::Line));
            let is_own = tokens.name_at(at + 1).is_some_and(|name| {
                python::DECORATORS.has(name)
                    && (imports.names.contains(name) || python::METHOD_KINDS.has(name))
                    && !imports.local.contains(name)
            });
            let ends = matches!(tokens.get(at + 2), Some(Token::Line | Token::Symbol('(')));
            begins && is_own && ends
        }
        // The result of a call or of a lookup is called.
        Token::Symbol('(') => {
            !before.is_some_and(|token| token.is(')') || token.is(']') || matches!(token, Token::Text(_)))
        }
        // Attributes of objects have small letters; fields of the journal do not: `__REALTIME_TIMESTAMP`.
        Token::Text(text) => {
            let is_field = |c: char| c.is_ascii_uppercase() || c == '_';
            !text.raw.contains("__") || text.raw == "__main__" || text.raw.chars().all(is_field)
        }
        Token::Name(name) => {
            let name = name.as_str();
            if (python::FORBIDDEN.has(name)
                && !(imports.starts && python::STARTING_KEYWORDS.has(name))
                && !compiles_pattern(tokens, at, imports))
                || (name.starts_with("__")
                    && !matches!(name, "__name__" | "__version__" | "__file__" | "__init__"))
            {
                return false;
            }
            if before.is_some_and(|token| token.is('.')) {
                let is_local = called && imports.local.contains(name) && starts_with_self(tokens, at);
                return is_local || is_attribute_fine(tokens, at, imports, called);
            }
            let is_module = imports.modules.contains_key(name) || imports.packages.contains_key(name);
            if is_module {
                return tokens.is_at(at + 1, '.') || tokens.is_at(at + 1, '=');
            }
            if python::OPENING.has(name) {
                return called && opens_to_read(tokens, at + 2, true);
            }
            let defined = matches!(before.and_then(Token::name), Some("def" | "class"));
            !called
                || defined
                || python::KEYWORDS.has(name)
                || python::CALLS.has(name)
                || imports.names.contains(name)
                || imports.local.contains(name)
        }
        _ => true,
    }
}

/// Whether a pattern is compiled at an index, and no code: `re.compile(…)`.
fn compiles_pattern(tokens: &[Token], at: usize, imports: &Imports) -> bool {
    let owner = tokens.name_at(at.wrapping_sub(2)).filter(|_| tokens.is_at(at.wrapping_sub(1), '.'));
    let is_owned = owner.and_then(|owner| imports.modules.get(owner)).is_some_and(|module| module == "re");
    let is_set = |at: usize| tokens.name_at(at) == owner && tokens.is_at(at + 1, '=');
    let is_member = tokens.is_at(at.wrapping_sub(3), '.');
    is_owned
        && !is_member
        && tokens.name_at(at) == Some("compile")
        && tokens.is_at(at + 1, '(')
        && !(0..tokens.len()).any(is_set)
}

/// Whether a name behind a dot is harmless.
fn is_attribute_fine(tokens: &[Token], at: usize, imports: &Imports, called: bool) -> bool {
    let Some(name) = tokens.name_at(at) else { return false };
    let owner = tokens.name_at(at.wrapping_sub(2));
    let dotted_owner = tokens.is_at(at.wrapping_sub(3), '.');
    if let Some(owner) = owner.filter(|_| !dotted_owner) {
        if let Some(module) = imports.modules.get(owner) {
            if is_connection(module, name) {
                return called && names_database(tokens, at + 2);
            }
            return imports.allows(module, name)
                && (!python::OPENING.has(name) || (called && opens_to_read(tokens, at + 2, true)));
        }
        if let Some(whole) = imports.packages.get(owner) {
            return whole.split('.').nth(1) == Some(name);
        }
    }
    // The last part of `urllib.parse.quote`.
    let package = |back: usize| imports.packages.get(tokens.name_at(at.wrapping_sub(back))?);
    let in_package = package(4).or_else(|| package(6));
    if let Some(whole) = in_package {
        return whole.split('.').any(|part| part == name) || imports.allows(whole, name);
    }
    match name {
        // `os.path.os` is the whole module again.
        _ if python::INNER.has(name) || (name.starts_with('_') && owner != Some("self")) => {
            name.starts_with("__")
        }
        "open" => called && opens_to_read(tokens, at + 2, false),
        "execute" => called && queries(tokens, at + 2),
        _ if imports.risky.contains(&name) => {
            // `sys.stdout.write` prints.
            name == "write" && matches!(owner, Some("stdout" | "stderr"))
        }
        // The function may be passed on: `map(x.system, …)`.
        _ if !called => !starts::CALLS.has(name) || starts::OWNERS.get(name).is_some(),
        _ => python::METHODS.has(name) || (imports.starts && python::STARTING_METHODS.has(name)),
    }
}

/// Whether the arguments from an index on name one database in full, and no class that works on it.
fn names_database(tokens: &[Token], from: usize) -> bool {
    let is_plain = |path: &str| !path.contains(['%', '\\', '#']);
    let mut at = from + 1;
    while tokens.is_at(at, ',') {
        let is_option =
            matches!(tokens.name_at(at + 1), Some("uri" | "timeout")) && tokens.is_at(at + 2, '=');
        let is_constant = matches!(tokens.get(at + 3), Some(Token::Value))
            || matches!(tokens.name_at(at + 3), Some("True" | "False"));
        if !(is_option && is_constant) {
            return false;
        }
        at += 4;
    }
    tokens.literal_at(from).is_some_and(is_plain) && tokens.is_at(at, ')')
}

/// Whether the first argument from an index on is SQL that only reads a database.
fn queries(tokens: &[Token], from: usize) -> bool {
    let reads = |text: &str| sql::reading(text, Functions::BuiltIn).is_some_and(|files| files.is_empty());
    tokens.literal_at(from).is_some_and(reads) && (tokens.is_at(from + 1, ')') || tokens.is_at(from + 1, ','))
}

/// Whether a method belongs to an object of the code itself: `self.show()`, `Box("a").show()`.
fn starts_with_self(tokens: &[Token], at: usize) -> bool {
    let owner = at.wrapping_sub(2);
    tokens.is_at(owner, ')') || tokens.name_at(owner).is_some_and(|name| name != "os")
}

/// Whether the arguments from an index on open a file to read it. The first one is its path, unless a path opens itself.
fn opens_to_read(tokens: &[Token], from: usize, has_path: bool) -> bool {
    let mut depth = 0;
    let mut argument = usize::from(!has_path);
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')') if depth == 0 => return true,
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            Token::Symbol(',') if depth == 0 => argument += 1,
            _ if depth > 0 || argument == 0 => {
                // `open(file='x', mode='w')`, `open(*arguments)`.
                if depth == 0 && matches!(token, Token::Symbol('*' | '=')) {
                    return false;
                }
            }
            Token::Text(mode) => {
                let keyword = tokens.name_at(at.wrapping_sub(2));
                let is_mode = !matches!(keyword, Some("encoding" | "errors" | "newline"));
                if is_mode && !matches!(mode.raw.as_str(), "r" | "rb" | "rt") {
                    return false;
                }
            }
            Token::Name(name)
                if !matches!(name.as_str(), "mode" | "encoding" | "errors" | "newline" | "None") =>
            {
                return false;
            }
            Token::Symbol('=') | Token::Name(_) | Token::Line => {}
            _ => return false,
        }
    }
    false
}
