//! Python that only computes and prints.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{opens_any, opens_composed};
use super::lexer::{Places, Token, clear_tokens};
use super::literal::{self, is_operated};
use super::names::{python, starts};
use super::sql::{self, Functions};
use crate::catalogue::program::Language;

/// Names that imports bind and the code defines.
#[derive(Default)]
struct Imports {
    /// All commands that the code starts are determined.
    starts: bool,
    /// Modules by the name that stands for them.
    modules: BTreeMap<String, String>,
    /// Packages that were imported for one of their modules: `urllib` for `urllib.parse`.
    packages: BTreeMap<String, String>,
    /// Functions and classes.
    names: BTreeSet<String>,
    /// Other names of functions that start programs.
    renamed: BTreeSet<String>,
    /// Functions that send requests.
    asking: BTreeSet<String>,
    /// Functions that the code defines.
    local: BTreeSet<String>,
    /// Methods that change files where the code imports certain modules.
    risky: &'static [&'static str],
}

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

/// The tokens with each request for a constant address replaced by a value; `None` if a function that sends requests is used
/// otherwise.
fn without_requests(
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

impl Imports {
    /// Whether a module may be loaded.
    fn allowed(&self, module: &str) -> Option<()> {
        let is_known = python::MODULES.get(module).or_else(|| python::ASKING.get(module)).is_some();
        (is_known || (self.starts && python::STARTING.get(module).is_some())).then_some(())
    }

    /// Whether a name of a module may be used.
    fn allows(&self, module: &str, attribute: &str) -> bool {
        let is_plain = !attribute.starts_with('_') && !python::INNER.has(attribute);
        let known = python::MODULES.get(module);
        known.is_some_and(|names| names.has(attribute) || (names.allow(attribute) && is_plain))
            || (self.starts && python::STARTING.get(module).is_some_and(|names| names.has(attribute)))
    }

    /// Reads an import statement; `None` where it imports something else than harmless modules.
    fn bind(&mut self, line: &[Token]) -> Option<()> {
        let mut words = line.iter().filter(|token| !token.is('(') && !token.is(')'));
        let from = words.next()?.name()? == "from";
        let words: Vec<Token> = words.cloned().collect();
        let (module, names) = if from {
            let at = words.iter().position(|token| token.name() == Some("import"))?;
            (Some(dotted(words.get(..at)?)?), words.get(at + 1..)?)
        } else {
            (None, words.as_slice())
        };
        for part in names.split(|token| token.is(',')) {
            let alias = part.iter().position(|token| token.name() == Some("as"));
            let name = dotted(part.get(..alias.unwrap_or(part.len()))?)?;
            let bound = alias.and_then(|at| part.get(at + 1)?.name()).map(str::to_owned);
            match &module {
                Some(module) if python::ASKING.get(module).is_some_and(|names| names.has(&name)) => {
                    self.asking.insert(bound.unwrap_or(name));
                }
                // The search path of modules.
                Some(module) if module == "sys" && name == "path" => return None,
                Some(module)
                    if self.allows(module, &name)
                        && !python::OPENING.has(&name)
                        && !is_connection(module, &name) =>
                {
                    if starts::CALLS.has(&name) {
                        self.renamed.extend(bound.clone());
                    }
                    self.names.insert(bound.unwrap_or(name));
                }
                Some(module) => {
                    let whole = format!("{module}.{name}");
                    self.allowed(&whole)?;
                    self.modules.insert(bound.unwrap_or(name), whole);
                }
                None => {
                    self.allowed(&name)?;
                    match (bound, name.split_once('.')) {
                        (Some(bound), _) => self.modules.insert(bound, name),
                        (None, Some(("os", _))) => self.modules.insert("os".to_owned(), "os".to_owned()),
                        (None, Some((package, _))) => self.packages.insert(package.to_owned(), name),
                        (None, None) => self.modules.insert(name.clone(), name),
                    };
                }
            }
        }
        Some(())
    }
}

fn dotted(tokens: &[Token]) -> Option<String> {
    let mut name = String::new();
    for token in tokens {
        match token {
            Token::Name(part) => name.push_str(part),
            Token::Symbol('.') => name.push('.'),
            _ => return None,
        }
    }
    (!name.is_empty()).then_some(name)
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

/// Whether a function of a module opens a database.
fn is_connection(module: &str, name: &str) -> bool {
    python::CONNECTING.get(module).is_some_and(|names| names.has(name))
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
