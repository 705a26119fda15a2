//! Programs of awk: which files they write, and what they pipe their output to.

use super::lexer::{Places, Token, clear_tokens};
use super::names::{Names, awk};
use crate::catalogue::program::Language;

/// Whether a command behind a pipe only sorts, counts or prints what it is given, such as `sort -rn`.
pub fn is_filter(command: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -,.:".contains(c);
    let mut words = command.split(' ');
    let only_options = |word: &str| word.is_empty() || (word.starts_with('-') && !word.starts_with("-o"));
    let is_filter = words.next().is_some_and(|name| awk::FILTERS.has(name)) && command.chars().all(plain);
    command == "cat 1>&2"
        || command == "cat >&2"
        || (is_filter
            && words.all(|word| {
                only_options(word) || word.chars().all(|c| c.is_ascii_digit() || ",.".contains(c))
            }))
}

/// Names in a program that only counts, beside those of its counters.
const COUNTED: Names = Names(&["BEGIN", "END", "FNR", "NF", "NR", "exit", "if", "next", "print", "printf"]);

/// Whether a program prints nothing but numbers that it counts: `/x/ { n++ } END { print n+0 }`. A number of its input is none
/// of these, because `+inf` and `+nan` are printed as they are.
pub fn only_counts(code: &str) -> bool {
    let mut counters: Vec<&str> = Vec::new();
    for printed in code.split("print").skip(1) {
        let format = |rest: &'_ str| -> Option<usize> {
            let bare = rest.trim_start();
            let inside =
                ["\"%d\"", "\"%d\\n\"", "\"%i\""].iter().find(|format| bare.starts_with(**format))?;
            let rest = bare.get(inside.len()..)?.trim_start();
            rest.starts_with(',').then(|| printed.len() - rest.len() + 1)
        };
        let value = match printed.strip_prefix('f') {
            Some(rest) => format(rest).and_then(|at| printed.get(at..)),
            None => printed.starts_with(' ').then_some(printed),
        };
        let Some(value) = value.map(|value| value.trim_start_matches(' ')) else { return false };
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(value.len());
        let (name, rest) = value.split_at(end);
        let rest = rest.strip_prefix("+0").unwrap_or(rest).trim_start_matches(' ');
        if !name.starts_with(char::is_alphabetic) || !(rest.is_empty() || rest.starts_with([';', '}', '\n']))
        {
            return false;
        }
        // `RT` and `FILENAME` are texts.
        if !COUNTED.has(name) && name.chars().all(|c| !c.is_ascii_lowercase()) {
            return false;
        }
        counters.push(name);
    }
    let Some(tokens) = clear_tokens(code, Language::Awk) else { return false };
    let counts = |at: usize| matches!(tokens.get(at), Some(Token::Operator("++")));
    let is_fine = |at: usize| match tokens.get(at) {
        Some(Token::Name(name)) => {
            let before = tokens.get(..at).unwrap_or_default().iter().rev();
            let is_printed = matches!(
                before.take(3).map(Token::name).collect::<Vec<_>>().as_slice(),
                [Some("print"), ..] | [None, None, Some("printf")]
            );
            let is_changed = tokens.is_at(at + 1, '=') && !tokens.is_at(at + 2, '=')
                || tokens.is_at(at + 2, '=')
                    && matches!(tokens.get(at + 1), Some(Token::Symbol(sign)) if "+-*/%^".contains(*sign));
            if COUNTED.has(name) {
                return !is_changed && !counts(at + 1) && !counts(at.wrapping_sub(1));
            }
            counters.contains(&name.as_str()) && (is_printed || counts(at + 1) || counts(at.wrapping_sub(1)))
        }
        Some(Token::Shell(_) | Token::Symbol('|' | '@' | '#' | '[')) => false,
        _ => true,
    };
    !counters.is_empty()
        && !code.contains(['|', '@', '#'])
        && acts_always(&tokens)
        && (0..tokens.len()).all(is_fine)
}

/// Whether each pattern has an action: without one, it prints lines.
fn acts_always(tokens: &[Token]) -> bool {
    let mut depth = 0;
    let mut is_open = false;
    for token in tokens {
        match token {
            Token::Symbol('{') => (depth, is_open) = (depth + 1, false),
            Token::Symbol('}') => depth -= 1,
            Token::Line | Token::Symbol(';') if depth == 0 && is_open => return false,
            Token::Line | Token::Symbol(';') => {}
            _ if depth == 0 => is_open = true,
            _ => {}
        }
    }
    !is_open
}

/// Whether the mention of `ARGV` at this place makes the program read a file whose name is no text in it.
fn names_input(tokens: &[Token], at: usize) -> bool {
    let token = |place: usize| tokens.get(place);
    if is_given(tokens, at) {
        return true;
    }
    if token(at + 1) != Some(&Token::Symbol('[')) {
        return !matches!(at.checked_sub(1).and_then(token), Some(Token::Name(name)) if name == "in");
    }
    let end =
        tokens.iter().skip(at).position(|token| *token == Token::Symbol(']')).map_or(at, |end| at + end);
    let is_text = is_name(token(end + 2))
        && matches!(token(end + 3), None | Some(Token::Line | Token::Symbol(';' | '}')));
    let is_sign = |place: usize| token(place) == Some(&Token::Symbol('='));
    is_sign(end + 1) && !is_sign(end + 2) && !is_text
}

/// Whether a function is given the variable at an index that may change it, or it is counted up or down.
fn is_given(tokens: &[Token], at: usize) -> bool {
    let mut depth = 0;
    let open = (0..at).rev().find(|at| {
        depth += tokens.get(*at).map_or(0, Token::nesting);
        depth > 0
    });
    let caller =
        open.filter(|open| tokens.is_at(*open, '(')).and_then(|open| tokens.name_at(open.wrapping_sub(1)));
    let end = tokens.closing(at + 1).filter(|_| tokens.is_at(at + 1, '[')).map_or(at + 1, |close| close + 1);
    let counts = |at: usize| matches!(tokens.get(at), Some(Token::Operator("++" | "--")));
    let operates = tokens.is_at(end + 1, '=')
        && matches!(tokens.get(end), Some(Token::Symbol(symbol)) if "+-*/%^".contains(*symbol));
    caller.is_some_and(|name| !awk::READING.has(name))
        || counts(end)
        || counts(at.wrapping_sub(1))
        || operates
}

/// Whether a text is the name of a file as it stands.
fn is_name(token: Option<&Token>) -> bool {
    matches!(token, Some(Token::Text(text)) if !text.raw.contains(['\\', '\u{1}']))
}

/// Whether `getline` at this place reads a file that it names by a text, if it reads one.
fn reads_named(tokens: &[Token], at: usize) -> bool {
    let statement = tokens.iter().skip(at + 1);
    let mut statement = statement
        .take_while(|token| !matches!(token, Token::Line | Token::Symbol(';' | '{' | '}' | ')')))
        .skip_while(|token| **token != Token::Symbol('<'));
    statement.next().is_none() || is_name(statement.next()) && statement.next().is_none()
}

/// The files that a program writes; `None` where it may run a command, or is not understood. With `starts`, it may run
/// commands, which are judged apart.
pub fn written(program: &str, starts: bool) -> Option<Vec<String>> {
    let tokens = clear_tokens(program, Language::Awk)?;
    let mut files = Vec::new();
    // Depth of brackets, and that at which the statement prints.
    let (mut depth, mut prints): (i32, Option<i32>) = (0, None);
    for (at, token) in tokens.iter().enumerate() {
        let before = tokens.get(at.wrapping_sub(1));
        let after = |count: usize| tokens.get(at + count);
        let ends =
            |token: Option<&Token>| matches!(token, None | Some(Token::Line | Token::Symbol(';' | '}')));
        match token {
            Token::Name(name) if name == "system" && !starts => return None,
            Token::Symbol('@') => return None,
            Token::Name(name) if name == "getline" && !reads_named(&tokens, at) => return None,
            Token::Name(name) if name == "ARGV" && names_input(&tokens, at) => return None,
            Token::Name(name) if name == "print" || name == "printf" => prints = Some(depth),
            Token::Symbol('(' | '[') => depth += 1,
            Token::Symbol(')' | ']') => depth -= 1,
            Token::Symbol(';' | '{' | '}') => prints = None,
            Token::Line if !matches!(before, Some(Token::Symbol(',') | Token::Operator("||" | "&&"))) => {
                prints = None;
            }
            Token::Symbol('>') | Token::Operator(">>") if prints == Some(depth) => match after(1) {
                Some(Token::Text(file)) if ends(after(2)) && is_name(after(1)) => {
                    files.push(file.raw.clone());
                }
                _ => return None,
            },
            Token::Symbol('|') if !starts => {
                let starts = tokens.get(at.wrapping_sub(2));
                let alone = matches!(starts, None | Some(Token::Line | Token::Symbol('{' | '}' | ';' | '(')));
                match (before, after(1)) {
                    // The effect of the command is that of its own node, below this one in the tree.
                    (Some(Token::Text(_)), Some(Token::Name(name))) if name == "getline" && alone => {}
                    (_, Some(Token::Text(filter)))
                        if prints.is_some() && ends(after(2)) && is_filter(&filter.raw) => {}
                    _ => return None,
                }
            }
            _ => {}
        }
    }
    Some(files)
}
