//! Finds the calls in code of other languages that start a program or a shell.

use crate::catalogue::program::Language;
use crate::languages::awk::is_filter;
use crate::languages::lexer::{Token, tokens};
use crate::languages::names::starts;
use crate::languages::text::{Interpolation, Part, Text};

/// What a call starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    /// A shell script.
    Script(Vec<Part>),
    /// A program and its arguments.
    Words(Vec<Vec<Part>>),
    /// A command that is built elsewhere in the code.
    Unclear,
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
            (at, Token::Text(Text { raw: String::new(), parts: vec![Part::Unknown(field)] }))
        }
        token => (at, token),
    };
    tokens.filter(|(_, token)| lines || *token != Token::Line).map(known).collect()
}

/// The calls that start a program or a shell, of those at the indexes that are left.
pub(crate) fn find_calls(tokens: &[Token], language: Language, is_left: &dyn Fn(usize) -> bool) -> Vec<Call> {
    let mut calls = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(at, _)| is_left(*at)) {
        match token {
            Token::Shell(text) => calls.push(Call::Script(text.parts.clone())),
            Token::Name(name) if starts::CALLS.has(name) && starts_something(tokens, at, name) => {
                let parens = tokens.get(at + 1) == Some(&Token::Symbol('('));
                // perl, ruby and lua call without brackets, lua with one text only.
                let bare = matches!(language, Language::Perl | Language::Ruby)
                    && matches!(tokens.get(at + 1), Some(Token::Text(_) | Token::Symbol('$' | '@')));
                if let (Some(Token::Text(text)), Language::Lua) = (tokens.get(at + 1), language) {
                    calls.push(Call::Script(text.parts.clone()));
                } else if parens || bare {
                    let from = if parens { at + 2 } else { at + 1 };
                    // The later arguments are a mode or a place for the output.
                    let script_first = matches!(language, Language::Php | Language::Lua) || name == "popen";
                    let computes = matches!(language, Language::Perl | Language::Ruby);
                    calls.push(arguments(tokens, from, parens, script_first, computes));
                }
            }
            // awk: `command | getline`, `print … | command`.
            Token::Name(name) if language == Language::Awk && name != "getline" => {
                let gets = matches!(tokens.get(at + 2), Some(Token::Name(next)) if next == "getline");
                let piped = is_piped(tokens, at) && prints(tokens, at);
                if piped || (gets && tokens.get(at + 1) == Some(&Token::Symbol('|'))) {
                    calls.push(Call::Unclear);
                }
            }
            // awk: `"command" | getline`, `print … | "sh"`.
            Token::Text(text) if language == Language::Awk => {
                let after = (tokens.get(at + 1), tokens.get(at + 2));
                if matches!(after, (Some(Token::Symbol('|')), Some(Token::Name(n))) if n == "getline") {
                    calls.push(Call::Script(text.parts.clone()));
                } else if is_piped(tokens, at) && !text.literal().is_some_and(is_filter) {
                    calls.push(Call::Unclear);
                }
            }
            _ => {}
        }
    }
    calls
}

/// Whether a token of awk follows a pipe: `|` or `|&`.
fn is_piped(tokens: &[Token], at: usize) -> bool {
    let before = |count: usize| at.checked_sub(count).and_then(|at| tokens.get(at));
    let is_bar = |token: Option<&Token>| token.is_some_and(|token| token.is('|'));
    is_bar(before(1)) || (before(1).is_some_and(|token| token.is('&')) && is_bar(before(2)))
}

/// Whether a statement of awk prints before this token; otherwise, a bar is part of a pattern.
fn prints(tokens: &[Token], at: usize) -> bool {
    let before = tokens.get(..at).unwrap_or_default().iter().rev();
    let mut statement = before.take_while(|token| !matches!(token, Token::Symbol('{' | '}' | ';')));
    statement.any(|token| matches!(token, Token::Name(name) if matches!(name.as_str(), "print" | "printf")))
}

/// A format string, with its placeholders as unknown parts.
fn formatted(part: Part) -> Vec<Part> {
    match part {
        Part::Known(text) => Interpolation::Formats.parts(&text),
        unknown @ Part::Unknown(_) => vec![unknown],
    }
}

/// True when the function `name` at `at` starts a program; false for other methods of that name, such as
/// `app.run()`.
fn starts_something(tokens: &[Token], at: usize, name: &str) -> bool {
    let Some(owners) = starts::OWNERS.get(name) else {
        // `re.exec(text)` in JavaScript matches a pattern; `child_process.exec` does not.
        let owner = at.checked_sub(2).and_then(|i| tokens.get(i));
        let dotted = at.checked_sub(1).and_then(|i| tokens.get(i)) == Some(&Token::Symbol('.'));
        return !(name == "exec"
            && dotted
            && matches!(owner, Some(Token::Name(o)) if o.starts_with("re") && !o.starts_with("req")));
    };
    let dotted = at.checked_sub(1).and_then(|i| tokens.get(i)) == Some(&Token::Symbol('.'));
    let owner = at.checked_sub(2).and_then(|i| tokens.get(i));
    match owner {
        _ if !dotted => true,
        Some(Token::Name(owner)) => owners.has(owner),
        // `require('child_process').spawn(…)`.
        Some(Token::Symbol(')')) => true,
        _ => false,
    }
}

/// What a call whose arguments start at `from` starts.
fn arguments(tokens: &[Token], from: usize, parens: bool, script_first: bool, computes: bool) -> Call {
    let mut depth = 0_i32;
    let mut words: Vec<Vec<Part>> = Vec::new();
    let mut word: Vec<Part> = Vec::new();
    let mut list = false;
    let mut list_done = false;
    let mut keyword = false;
    let mut joined = false;
    let mut formats = false;
    let mut before: Option<&Token> = None;
    for token in tokens.get(from..).unwrap_or_default() {
        let previous = before.replace(token);
        match token {
            Token::Symbol(')' | ']' | '}')
                if depth == 0 && (parens || !matches!(token, Token::Symbol(')'))) =>
            {
                break;
            }
            Token::Symbol(';') | Token::Line if !parens => break,
            Token::Symbol('[') if depth == 0 && !list_done => {
                list = true;
                depth += 1;
            }
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(']') if list && depth == 1 => {
                depth -= 1;
                list_done = true;
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            Token::Symbol(',') if depth == i32::from(list && !list_done) => {
                if !word.is_empty() && !keyword {
                    words.push(std::mem::take(&mut word));
                }
                word.clear();
                keyword = false;
            }
            Token::Symbol('=' | ':') if depth == 0 => keyword = true,
            // Keyword arguments and option objects are not part of the command.
            _ if list_done || keyword => {}
            // A function without brackets: `system(reverse "…")`.
            Token::Text(_) if computes && matches!(previous, Some(Token::Name(_))) => return Call::Unclear,
            Token::Text(text) | Token::Shell(text) => {
                word.extend(text.parts.iter().cloned());
                joined = true;
            }
            Token::Name(name) if matches!(name.as_str(), "format" | "sprintf") => formats = true,
            Token::Symbol('%') => formats = true,
            Token::Name(name) if matches!(name.as_str(), "split" | "shlex" | "join" | "quote") => {}
            Token::Name(name) => {
                if depth == i32::from(list) && !matches!(name.as_str(), "b" | "r" | "u") {
                    word.push(Part::Unknown(name.clone()));
                }
            }
            Token::Symbol(_) | Token::Operator(_) | Token::Value | Token::Line | Token::Field(_) => {}
        }
    }
    if !word.is_empty() && !keyword {
        words.push(word);
    }
    if formats {
        for word in &mut words {
            *word = word.drain(..).flat_map(formatted).collect();
        }
    }
    let any_known = words.iter().flatten().any(|part| matches!(part, Part::Known(_)));
    if !any_known || !joined {
        return Call::Unclear;
    }
    if script_first && !list {
        words.truncate(1);
    }
    match words.len() {
        0 => Call::Unclear,
        1 if !list => words.pop().map_or(Call::Unclear, Call::Script),
        _ => {
            // `execlp("docker", "docker", …)` names the program twice.
            if let [first, second, ..] = words.as_slice()
                && first == second
            {
                words.remove(0);
            }
            Call::Words(words)
        }
    }
}
