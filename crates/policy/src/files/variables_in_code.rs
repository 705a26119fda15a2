//! Which variables of the environment the code of a language on the command line may print.
//!
//! A variable whose name is written out, and which is no secret, may be printed. A name that code computes may be any one.

use super::access::Access;
use super::environment::{is_name, literal, name, named_in, printed, quoted};
use crate::lists::{
    ENVIRONMENT_CHANGES, ENVIRONMENT_MEMBERS, ENVIRONMENT_NAMES, ENVIRONMENTS, EXPANDING_CALLS,
    PRESENCE_ENDINGS, PRESENCE_TESTS, PROCESS_STARTS,
};

/// The most names that code may give to the environment.
const MOST_NAMES: usize = 16;
/// The methods that return one variable.
const GETTERS: [&str; 8] = ["[", ".get(", ".fetch(", ".pop(", ".setdefault(", ".delete(", "{", "("];
/// Characters between two statements, or at the beginning of one.
const BETWEEN: [char; 4] = [';', '\n', '{', ':'];

/// Adds the variables that code may print: each that it takes, but for tests of whether it is set, and all of them where it takes
/// the environment as a whole, but for its names and for the environment of a process.
pub fn accesses(code: &str, into: &mut Vec<Access>) {
    for (at, called) in EXPANDING_CALLS.iter().flat_map(|called| code.match_indices(called)) {
        let rest = code.get(at + called.len()..).unwrap_or_default().trim_start();
        let quoted = rest.strip_prefix('(').and_then(quoted);
        let text = quoted.filter(|(_, rest)| rest.trim_start().starts_with(')')).map(|(text, _)| text);
        into.extend(text.map_or_else(|| vec![printed("")], named_in));
    }
    let mut names: Vec<&str> = ENVIRONMENTS.to_vec();
    let mut at = 0;
    while let Some(called) = names.get(at).copied() {
        at += 1;
        for (place, _) in code.match_indices(called) {
            let before = code.get(..place).unwrap_or_default();
            let rest = code.get(place + called.len()..).unwrap_or_default();
            if before.ends_with(is_name) || rest.starts_with(is_name) {
                continue;
            }
            // The name itself gets a value.
            let is_new = at > ENVIRONMENTS.len();
            if is_new && assigned(rest.trim_start(), ['=', ':']) {
                continue;
            }
            match mention(code, before, rest) {
                Mention::Harmless => {}
                Mention::Printed(name) => into.push(printed(name)),
                Mention::Renamed(name) if names.contains(&name) => {}
                Mention::Renamed(name) if names.len() < ENVIRONMENTS.len() + MOST_NAMES => names.push(name),
                Mention::Renamed(_) => into.push(printed("")),
            }
        }
    }
}

/// What code does where it takes the environment.
enum Mention<'a> {
    Harmless,
    /// It may print this variable, or with an empty name all of them.
    Printed(&'a str),
    /// It gives the environment, or a copy, this name.
    Renamed(&'a str),
}

fn mention<'a>(code: &'a str, before: &'a str, rest: &'a str) -> Mention<'a> {
    let before =
        before.trim_end_matches("os.").trim_end_matches(['$', '%', '@', '&', '*']).trim_end_matches("os.");
    if let Some((name, rest)) = variable(rest) {
        let rest = rest.trim_start();
        let tests = PRESENCE_TESTS.iter().any(|test| before.ends_with(test) && is_own(code, test));
        let is_harmless =
            tests || assigned(rest, ['=', '=']) || PRESENCE_ENDINGS.iter().any(|end| rest.starts_with(end));
        return if is_harmless { Mention::Harmless } else { Mention::Printed(name) };
    }
    let statement = before.rsplit([';', '\n']).next().unwrap_or_default().trim_start();
    if ["import ", "from "].iter().any(|word| statement.starts_with(word)) {
        let other = rest.strip_prefix(" as ").map(|rest| name(rest.trim_start()).0);
        return other.map_or(Mention::Harmless, Mention::Renamed);
    }
    let begins = before.trim_end_matches([' ', '\t']);
    let is_first = begins.is_empty() || begins.ends_with(BETWEEN);
    if ENVIRONMENT_MEMBERS.iter().any(|one| rest.starts_with(one))
        || is_first && ENVIRONMENT_CHANGES.iter().any(|one| rest.starts_with(one))
    {
        return Mention::Harmless;
    }
    let ends = rest.trim_start().is_empty()
        || rest.trim_start().starts_with([')', ':', ']', ';', ',', '}', '|', '\'', '"']);
    let ends = ends || rest.starts_with([' ', '\n']);
    let names = |one: &&&str| before.trim_end().ends_with(**one) || before.ends_with(**one);
    if ends && ENVIRONMENT_NAMES.iter().find(names).is_some_and(|one| is_own(code, one)) {
        return Mention::Harmless;
    }
    let is_whole = ends || rest.strip_prefix(".copy()").is_some_and(|rest| !rest.starts_with(['.', '[']));
    if is_whole { destination(before) } else { Mention::Printed("") }
}

/// Where the whole environment goes: to a process, to another name, or anywhere.
fn destination(before: &str) -> Mention<'_> {
    let before = before.trim_end();
    let before = before.strip_suffix("dict(").unwrap_or(before);
    let spread = before.strip_suffix("...").or_else(|| before.strip_suffix("**"));
    let before = match spread.or_else(|| before.strip_suffix('{')) {
        Some(inner) => match around(inner, '{') {
            Some(outer) => outer,
            None if spread.is_none() => inner,
            None => return Mention::Printed(""),
        },
        None => before,
    };
    let before = before.trim_end();
    let called = around(before, '(').unwrap_or_default();
    let called = called.rsplit(|c| !is_name(c)).next().unwrap_or_default();
    let Some(target) = before.strip_suffix(['=', ':']).map(str::trim_end) else {
        let starts = PROCESS_STARTS.iter().any(|one| called.contains(one));
        return if starts { Mention::Harmless } else { Mention::Printed("") };
    };
    let at = target.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
    let (front, ident) = target.split_at(at);
    let is_keyword = ident == "env" && (!called.is_empty() || before.ends_with(':'));
    if is_keyword {
        return Mention::Harmless;
    }
    let front = front.trim_end_matches(['$', '%', '@']).trim_end();
    let front = ["const", "let", "var", "my", "our", "local"]
        .iter()
        .find_map(|word| front.strip_suffix(word))
        .map_or(front, str::trim_end);
    let is_statement = before.ends_with('=') && (front.is_empty() || front.ends_with(BETWEEN));
    if is_statement && !ident.is_empty() { Mention::Renamed(ident) } else { Mention::Printed("") }
}

/// Whether a text begins with an operator that assigns, and none that compares.
fn assigned(rest: &str, operators: [char; 2]) -> bool {
    rest.strip_prefix(operators).is_some_and(|rest| !rest.starts_with(['=', '~', '>']))
}

/// Whether code calls a function under its own name, and gives this name to nothing else.
fn is_own(code: &str, call: &str) -> bool {
    let Some(called) = call.trim_start().strip_suffix('(') else { return true };
    code.match_indices(called).all(|(at, _)| {
        let before = code.get(..at).unwrap_or_default();
        let rest = code.get(at + called.len()..).unwrap_or_default();
        let is_other = before.ends_with(is_name) || rest.starts_with(is_name);
        let defines = ["def ", "function ", "sub "].iter().any(|word| before.ends_with(word));
        is_other || rest.starts_with('(') && !defines
    })
}

/// The text before the bracket in which a text ends.
fn around(before: &str, bracket: char) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in before.char_indices().rev() {
        match c {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' if depth > 0 => depth -= 1,
            c if c == bracket => return before.get(..at),
            '(' | '[' | '{' => return None,
            _ => {}
        }
    }
    None
}

/// The variable that is taken from the environment, and what follows it: `["NAME"]`, `.get("NAME")`, `{NAME}`, `("NAME")`, `.NAME`.
fn variable(rest: &str) -> Option<(&str, &str)> {
    if let Some(inner) = GETTERS.iter().find_map(|open| rest.strip_prefix(open)) {
        let is_bare = rest.starts_with('{');
        let (found, rest) = literal(inner).or_else(|| is_bare.then(|| name(inner)))?;
        let closed = rest.trim_start().strip_prefix([']', ')', '}']);
        let has_default = || rest.trim_start().starts_with(',').then_some(rest);
        return closed.or_else(has_default).filter(|_| !found.is_empty()).map(|rest| (found, rest));
    }
    let (found, rest) = name(rest.strip_prefix('.')?);
    let is_variable = found.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    (is_variable && !found.is_empty()).then_some((found, rest))
}
