//! Code that was not followed: whether it may start something, and the texts that it may run.

use super::evaluation::starts_program;
use crate::catalogue::program::Language;
use crate::languages::awk::is_filter;
use crate::languages::lexer::{Places, Token, tokens};
use crate::languages::names::starts;
use crate::languages::text::{Part, Text};

/// Maximum number of tokens after the name of a program that are searched for its arguments.
const MOST_LATER: usize = 24;

/// The name or the literal text of a token.
fn word(token: &Token) -> Option<&str> {
    token.name().or_else(|| token.literal())
}

/// The tokens of code in which calls are searched: fields of awk are unknown texts, and a line break ends a statement only
/// in languages that call without brackets.
pub(crate) fn tokens_of(code: &str, language: Language) -> Vec<Token> {
    numbered_tokens_of(code, language).into_iter().map(|(_, token)| token).collect()
}

/// The tokens of code in which calls are searched, each with its index among all tokens.
pub(crate) fn numbered_tokens_of(code: &str, language: Language) -> Vec<(usize, Token)> {
    let lines = matches!(language, Language::Perl | Language::Ruby);
    let tokens = tokens(code, language).into_iter().enumerate();
    let known = |(at, token)| match token {
        Token::Field(field) => {
            (at, Token::Text(Text { raw: String::new(), parts: vec![Part::Unknown(field)], is_exact: true }))
        }
        token => (at, token),
    };
    tokens.filter(|(_, token)| lines || *token != Token::Line).map(known).collect()
}

/// Whether a call is left that may start a program or act on a service.
pub(crate) fn has_calls(tokens: &[Token], language: Language, is_left: &dyn Fn(usize) -> bool) -> bool {
    let mentions = |word: &str| starts::MODULES.has(word) || word.to_ascii_lowercase().contains("docker");
    let has_engine = tokens.iter().filter_map(word).any(mentions);
    (0..tokens.len()).filter(|at| is_left(*at)).any(|at| match tokens.get(at) {
        Some(Token::Shell(_)) => true,
        Some(Token::Name(name)) => {
            is_call(tokens, at, name, language)
                || is_renamed(tokens, at, name)
                || acts(tokens, at, name, has_engine)
                || language == Language::Awk && name != "getline" && is_command_of_awk(tokens, at)
        }
        Some(Token::Text(parts)) => {
            let own = parts.literal().unwrap_or_default();
            // `getattr(os, "system")("…")`, `o["exec"]("…")`.
            let is_called =
                tokens.is_at(at + 2, '(') && (tokens.is_at(at + 1, ')') || tokens.is_at(at + 1, ']'));
            starts::CALLS.has(own) && is_called
                || starts::UNIT_CALLS.get(own).is_some()
                || is_request(tokens, at, parts)
                || language == Language::Awk && !is_filter(own) && is_command_of_awk(tokens, at)
        }
        _ => false,
    })
}

/// Whether a function that starts a program or a shell is called.
fn is_call(tokens: &[Token], at: usize, own: &str, language: Language) -> bool {
    let next = tokens.get(at + 1);
    let opens = tokens.is_at(at + 1, '(')
        || match language {
            Language::Perl | Language::Ruby => {
                matches!(next, Some(Token::Text(_) | Token::Symbol('$' | '@')))
            }
            Language::Lua => matches!(next, Some(Token::Text(_))),
            _ => false,
        };
    // `send(:system, "…")`, `call_user_func("system", "…")`.
    let near = tokens.get(at + 1..(at + 5).min(tokens.len())).unwrap_or_default();
    let names_one = || near.iter().filter_map(word).any(|own| starts::CALLS.has(own));
    // `open("|command")` of Perl and Ruby.
    let is_piped = || {
        let line = tokens.get(at..).unwrap_or_default();
        let mut line = line.iter().take_while(|token| !matches!(token, Token::Symbol(';') | Token::Line));
        line.any(|token| {
            let text = token.literal().unwrap_or_default().trim();
            text.starts_with(['|', '-']) || text.ends_with('|')
        })
    };
    starts::CALLS.has(own) && opens && starts_something(tokens, at, own, language)
        || starts::BY_NAME.has(own) && names_one()
        || own == "open" && matches!(language, Language::Perl | Language::Ruby) && is_piped()
}

/// Whether such a function gets another name: `import subprocess as s`, `const {exec: x} = …`, `f = os.system`.
fn is_renamed(tokens: &[Token], at: usize, own: &str) -> bool {
    let next = tokens.get(at + 1);
    let value = tokens.name_at(at + 2);
    let is_option = matches!(value, Some("True" | "False" | "true" | "false"));
    let is_member = tokens.is_at(at.wrapping_sub(1), '.');
    let ends = matches!(next, None | Some(Token::Symbol(';' | ',' | ')') | Token::Name(_) | Token::Line));
    starts::CALLS.has(own)
        && (tokens.name_at(at + 1) == Some("as")
            || tokens.is_at(at + 1, ':') && !is_option && value.is_some()
            || is_member && ends)
}

/// Whether a function acts on a container, a unit or a cluster.
fn acts(tokens: &[Token], at: usize, own: &str, has_engine: bool) -> bool {
    let is_member = tokens.is_at(at.wrapping_sub(1), '.');
    starts::OPERATIONS.has(own) && is_member && has_engine
        || starts::UNIT_CALLS.get(own).is_some()
        || starts::CLUSTER_CALLS.get_prefix(own).is_some()
}

/// Whether a text is the address of a request that changes something.
fn is_request(tokens: &[Token], at: usize, address: &Text) -> bool {
    let whole: String = address.parts.iter().map(Part::source).collect();
    let operation =
        whole.split_once("/containers/").and_then(|(_, path)| path.split(['?', '#']).next()?.split_once('/'));
    let near = tokens.get(at.saturating_sub(6)..(at + 16).min(tokens.len())).unwrap_or_default();
    let mut words = near.iter().filter_map(word);
    operation.is_some_and(|(_, operation)| starts::OPERATIONS.has(operation))
        || (whole.starts_with("http://") || whole.starts_with("https://"))
            && words.any(|word| starts::SENDING.has(&word.to_ascii_lowercase()))
}

/// Whether a token of awk is a command: `"command" | getline`, `print … | "sh"`.
fn is_command_of_awk(tokens: &[Token], at: usize) -> bool {
    let gets = tokens.name_at(at + 2) == Some("getline") && tokens.is_at(at + 1, '|');
    gets || is_piped(tokens, at) && prints(tokens, at)
}

/// Whether a token of awk follows a pipe: `|` or `|&`.
fn is_piped(tokens: &[Token], at: usize) -> bool {
    let is_before = |count: usize, symbol| tokens.is_at(at.wrapping_sub(count), symbol);
    is_before(1, '|') || is_before(1, '&') && is_before(2, '|')
}

/// Whether a statement of awk prints before this token; otherwise, a bar is part of a pattern.
fn prints(tokens: &[Token], at: usize) -> bool {
    let before = tokens.get(..at).unwrap_or_default().iter().rev();
    let mut statement = before.take_while(|token| !matches!(token, Token::Symbol('{' | '}' | ';')));
    statement.any(|token| matches!(token, Token::Name(name) if matches!(name.as_str(), "print" | "printf")))
}

/// Whether the function at an index starts a program; false for other methods of that name, such as `app.run()`.
fn starts_something(tokens: &[Token], at: usize, own: &str, language: Language) -> bool {
    if !tokens.is_at(at.wrapping_sub(1), '.') {
        return starts_program(own, language);
    }
    match tokens.get(at.wrapping_sub(2)) {
        Some(Token::Name(owner)) => starts_program(&format!("{owner}.{own}"), language),
        // `require('child_process').spawn(…)`.
        // No module of Python has a function `execute`, but connections to databases do.
        Some(Token::Symbol(')')) => {
            starts_program(own, language) && !(language == Language::Python && own == "execute")
        }
        _ => starts::OWNERS.get(own).is_none(),
    }
}

/// The literal texts between the brackets that open at `from`.
fn literals(tokens: &[Token], from: usize) -> Vec<&str> {
    let near = tokens.get(from..(from + 64).min(tokens.len())).unwrap_or_default();
    let inside = near.closing(0).and_then(|close| near.get(..close)).unwrap_or(near);
    inside.iter().filter_map(Token::literal).collect()
}

/// The literal texts, and the lists of texts, that code may run in a way that is not followed: those that begin with
/// the name of a program and are not printed.
pub(crate) fn suspected(
    tokens: &[Token],
    is_program: &dyn Fn(&str) -> bool,
    is_left: &dyn Fn(usize) -> bool,
) -> Vec<String> {
    let mut callers: Vec<&str> = Vec::new();
    let mut found: Vec<String> = Vec::new();
    let mut calls_something = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let before = tokens.name_at(at.wrapping_sub(1));
        match token {
            Token::Symbol('(') => {
                let caller = before.unwrap_or_default();
                calls_something |= !caller.is_empty() && !starts::HARMLESS.has(caller);
                callers.push(caller);
            }
            Token::Symbol(')') => drop(callers.pop()),
            // `sh.docker("restart", …)`.
            Token::Name(word) if is_program(word) && tokens.is_at(at + 1, '(') && is_left(at) => {
                let given = literals(tokens, at + 1);
                if !given.is_empty() {
                    found.push(std::iter::once(word.as_str()).chain(given).collect::<Vec<_>>().join(" "));
                    calls_something = true;
                }
            }
            Token::Name(word) if matches!(word.as_str(), "import" | "require" | "use") => {
                calls_something = true;
            }
            Token::Text(_) if is_left(at) => {
                // `print "…"` without brackets, `x == "…"`.
                let caller = before.or(callers.last().copied().filter(|caller| !caller.is_empty()));
                let compared = tokens.is_at(at.wrapping_sub(1), '=')
                    && matches!(tokens.get(at.wrapping_sub(2)), Some(Token::Symbol('=' | '!')));
                let first = token.literal().unwrap_or_default();
                let starts = is_program(first.split_whitespace().next().unwrap_or_default());
                if starts && !compared && !caller.is_some_and(|caller| starts::HARMLESS.has(caller)) {
                    let mut command = first.to_owned();
                    if is_program(first) {
                        // `Command("docker", {args: ["restart", …]})`.
                        let later = tokens.get(at + 1..).unwrap_or_default().iter().take(MOST_LATER);
                        let later = later.take_while(|token| !token.is(';')).filter_map(Token::literal);
                        found.push(std::iter::once(first).chain(later).collect::<Vec<_>>().join(" "));
                    }
                    while tokens.is_at(at + 1, ',')
                        && let Some(next) = tokens.literal_at(at + 2)
                    {
                        command.push(' ');
                        command.push_str(next);
                        at += 2;
                    }
                    found.push(command);
                }
            }
            _ => {}
        }
        at += 1;
    }
    if calls_something { found } else { Vec::new() }
}
