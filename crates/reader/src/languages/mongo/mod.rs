//! Code of the `MongoDB` shell: it reads where only methods are called that do.

mod values;

use std::collections::BTreeSet;

use super::names::{Names, mongo};
use values::is_name;

/// Whether code changes the database and nothing beside it: it calls only listed methods, and uses only names of the shell and its
/// own.
pub fn only_changes(code: &str) -> bool {
    let lower = code.to_lowercase();
    // The rules find calls that are written without blanks and comments.
    let escapes = ["\\", "`", "/*", "//", "?."];
    if escapes.iter().any(|one| lower.contains(one)) || mongo::STARTING.are_in(&lower) {
        return false;
    }
    let Some(plain) = without_texts(&lower) else { return false };
    if !values::are_literal(code, &plain) {
        return false;
    }
    let is_method = |name: &str| mongo::READING.has(name) || mongo::CHANGING_METHODS.has(name);
    let is_listed = |name: &str| mongo::COMMANDS.has(name) || mongo::CHANGING_COMMANDS.has(name);
    has_known_names(&plain)
        && !plain.match_indices(" (").any(|(at, _)| {
            let before = plain.get(..at).unwrap_or_default().trim_end();
            let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
            mongo::CHANGING_METHODS.has(name)
        })
        && calls(&plain).all(|(name, after)| {
            name.is_some_and(|name| name.is_empty() || is_method(name))
                && (!is_command(name) || is_listed(named(after)))
        })
}

/// Whether code that only changes the database does so as a repair does.
pub fn repairs(code: &str) -> bool {
    let is_repair = |name: &str, changing: Names| !changing.has(name) || mongo::REPAIRING.has(name);
    without_texts(&code.to_lowercase()).is_some_and(|plain| {
        calls(&plain).all(|(name, after)| {
            name.is_some_and(|name| is_repair(name, mongo::CHANGING_METHODS))
                && (!is_command(name) || is_repair(named(after), mongo::CHANGING_COMMANDS))
        })
    })
}

/// The most brackets within each other: the end of each is looked for.
const DEEPEST: usize = 100;

/// The most brackets within each other in code without texts.
fn depth(plain: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for c in plain.chars() {
        match c {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Whether code calls only what reads.
pub fn only_reads(code: &str) -> bool {
    let lower = code.to_lowercase();
    let escapes = ["\\'", "\\\"", "\\u", "\\x", "`"];
    let is_octal = lower.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_octal || escapes.iter().any(|one| lower.contains(one)) || mongo::DOUBTFUL.are_in(&lower) {
        return false;
    }
    let Some(plain) = without_texts(&lower) else { return false };
    let hands_over = plain.split(['.', '[']).skip(1).any(|member| {
        let member = member.trim_start_matches('"');
        let name = member.split(|c| !is_name(c)).next().unwrap_or_default();
        mongo::CHANGING.iter().any(|verb| {
            // `updatedAt` is a field.
            name.strip_prefix(verb).is_some_and(|rest| !mongo::FIELD_ENDINGS.has(rest))
        })
    });
    if hands_over
        || !values::are_literal(code, &plain)
        || !values::prints_stated(&plain)
        || computes_keys(&plain)
        || mongo::STARTING_NAMES.iter().any(|name| plain.split(|c| !is_name(c)).any(|word| word == name))
    {
        return false;
    }
    calls(&plain).all(|(name, after)| {
        // `x['drop']()`.
        name.is_some_and(|name| name.is_empty() || mongo::READING.has(name))
            && (!is_command(name) || mongo::COMMANDS.has(named(after)))
    })
}

/// Whether code computes the name of a field, which may be that of a stage that writes: `{["$o" + "ut"]: "x"}`, `stage[name] = "x"`.
fn computes_keys(plain: &str) -> bool {
    plain.match_indices(']').any(|(close, _)| {
        let after = plain.get(close + 1..).unwrap_or_default().trim_start();
        let before = plain.get(..close).unwrap_or_default();
        let mut depth = 0;
        let open = before.char_indices().rev().find(|(_, c)| {
            depth += match c {
                ']' => 1,
                '[' => -1,
                _ => 0,
            };
            depth < 0
        });
        let Some((open, _)) = open else { return true };
        let inside = before.get(open + 1..).unwrap_or_default().trim();
        let last = before.get(..open).unwrap_or_default().trim_end();
        let is_constant = inside.chars().all(|c| c.is_ascii_digit())
            || inside.matches('"').count() == 2 && inside.starts_with('"') && inside.ends_with('"');
        let is_key = after.starts_with(':') && (last.is_empty() || last.ends_with(['{', ',']));
        let is_member = last.ends_with(|c| is_name(c) || matches!(c, ')' | ']' | '}'))
            && !["const", "let", "var"].iter().any(|word| last.ends_with(word));
        let is_set = after.starts_with('=') && !after.starts_with("==") && is_member;
        !is_constant && (is_key || is_set)
    })
}

/// Whether a method sends a command whose name stands in its argument.
fn is_command(method: Option<&str>) -> bool {
    matches!(method, Some("admincommand" | "runcommand"))
}

/// The first name in an argument: `{"ping": 1}`.
fn named(argument: &str) -> &str {
    let argument = argument.trim_start().trim_start_matches('{').trim_start().trim_start_matches('"');
    argument.split(|c| !is_name(c)).next().unwrap_or_default()
}

/// The names that stand before brackets, empty for none and `None` for one that is computed, with the text behind each bracket.
fn calls(plain: &str) -> impl Iterator<Item = (Option<&str>, &str)> {
    plain.match_indices('(').map(|(at, _)| {
        let before = plain.get(..at).unwrap_or_default().trim_end();
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let is_computed = name.is_empty() && before.ends_with([']', ')']);
        ((!is_computed).then_some(name), plain.get(at + 1..).unwrap_or_default())
    })
}

/// Whether every name that is neither a member nor a key is one of the shell, or is declared in the code.
fn has_known_names(plain: &str) -> bool {
    let mut declared = BTreeSet::new();
    let mut unknown = BTreeSet::new();
    let mut before = "";
    let outside = plain.split('"').step_by(2);
    for text in outside {
        let mut at = 0;
        for name in text.split(|c| !is_name(c)) {
            let end = at + name.len();
            let last = text.get(..at).unwrap_or_default().trim_end();
            let rest = text.get(end..).unwrap_or_default().trim_start();
            at = end + rest_len(text, end);
            if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            if matches!(before, "const" | "let" | "var" | "function") || rest.starts_with("=>") {
                declared.insert(name);
            }
            let is_key = last.ends_with('.') || rest.starts_with(':') && !last.ends_with('?');
            if !is_key && !mongo::GLOBALS.has(name) {
                unknown.insert(name);
            }
            before = name;
        }
    }
    // What starts a program stays what it is where a name is only declared.
    unknown.iter().all(|name| declared.contains(name))
        && !mongo::STARTING_NAMES.iter().any(|name| declared.contains(name))
}

/// The length of the character that ends a name.
fn rest_len(text: &str, end: usize) -> usize {
    text.get(end..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
}

/// The code with single quotes as double ones, with texts of letters and digits only, and without comments; `None` where a text has no
/// end, a slash may begin an expression or divide, or brackets nest too deeply.
fn without_texts(code: &str) -> Option<String> {
    let mut plain = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let mark = rest.get(at..)?.chars().next()?;
        plain.push_str(rest.get(..at)?);
        let inside = rest.get(at + 1..)?;
        if mark != '/' {
            rest = text(mark, inside, &mut plain)?;
        } else if let Some(comment) = inside.strip_prefix('*') {
            rest = comment.split_once("*/")?.1;
            plain.push(' ');
        } else if let Some(comment) = inside.strip_prefix('/') {
            rest =
                comment.get(comment.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(comment.len())..)?;
        } else {
            let before = plain.trim_end();
            match before.chars().next_back() {
                Some(c) if c == ')' || c == ']' || c == '"' || is_name(c) => {
                    if before.ends_with("return") || before.ends_with("typeof") {
                        return None;
                    }
                    plain.push('/');
                    rest = inside;
                }
                Some('}') => return None,
                _ => rest = expression(inside, &mut plain)?,
            }
        }
    }
    plain.push_str(rest);
    (depth(&plain) <= DEEPEST).then_some(plain)
}

/// Adds the letters and digits of a text, and returns what follows it.
fn text<'a>(quote: char, inside: &'a str, plain: &mut String) -> Option<&'a str> {
    let (content, rest) = inside.split_once(quote).filter(|(content, _)| !content.contains(['\n', '\r']))?;
    plain.push('"');
    plain.extend(content.chars().filter(|c| c.is_alphanumeric()));
    plain.push('"');
    Some(rest)
}

/// Adds a text in place of a regular expression, and returns what follows it.
fn expression<'a>(inside: &'a str, plain: &mut String) -> Option<&'a str> {
    let mut in_class = false;
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '\n' | '\r' => return None,
            '/' if !in_class => {
                plain.push_str("\"\"");
                let flags = inside.get(at + 1..)?;
                return Some(flags.trim_start_matches(|c: char| c.is_ascii_alphabetic()));
            }
            _ => {}
        }
    }
    None
}
