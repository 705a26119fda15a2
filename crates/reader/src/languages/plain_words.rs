//! Ruby and PHP that only compute and print: every name in the code is that of a variable, or is listed.

use std::collections::BTreeSet;

use super::lexer::{Token, clear_tokens};
use super::names::{Names, Table, php, ruby, starts};
use super::text::Part;
use crate::catalogue::program::Language;

/// The maximum nesting of code in texts.
const DEEPEST: usize = 4;

/// What a language lists.
struct Listed {
    words: Names,
    starting: Names,
    members: Table,
    loaded: Names,
}

/// Whether code only computes and prints. With `starts`, it may start commands, which are judged apart.
pub fn is_harmless(code: &str, language: Language, starts: bool) -> bool {
    let listed = match language {
        Language::Php => {
            Listed { words: php::WORDS, starting: php::STARTING, members: php::MEMBERS, loaded: php::LOADED }
        }
        Language::Ruby => Listed {
            words: ruby::WORDS,
            starting: ruby::STARTING,
            members: ruby::MEMBERS,
            loaded: ruby::LOADED,
        },
        _ => return false,
    };
    let mut own = BTreeSet::new();
    is_plain(code, language, starts, &listed, &mut own, 0)
}

fn is_plain(
    code: &str,
    language: Language,
    starts: bool,
    listed: &Listed,
    own: &mut BTreeSet<String>,
    depth: usize,
) -> bool {
    let Some(tokens) = clear_tokens(code, language).filter(|_| depth < DEEPEST) else { return false };
    own.extend(defined(&tokens, language));
    (0..tokens.len()).all(|at| match tokens.get(at) {
        Some(Token::Name(name)) => is_listed(&tokens, at, name, language, starts, listed, own),
        Some(Token::Shell(_)) if !starts => false,
        Some(Token::Text(text) | Token::Shell(text)) => {
            let calls = text.literal().is_some_and(|text| starts::CALLS.has(text));
            !calls
                && !text.raw.contains('\u{1}')
                && text.parts.iter().all(|part| match part {
                    Part::Known(_) => true,
                    Part::Unknown(source) => {
                        let inner = source.trim_start_matches(['#', '{']).trim_end_matches('}');
                        is_plain(inner, language, starts, listed, own, depth + 1)
                    }
                })
        }
        // A variable that another one names.
        Some(Token::Symbol('$')) => !tokens.get(at + 1).is_some_and(|token| token.is('$') || token.is('{')),
        // A class of Ruby, or one that PHP may call: `Kernel::system`.
        Some(Token::Symbol(':')) => !tokens.get(at + 1).is_some_and(|token| token.is(':')),
        _ => true,
    })
}

/// The names that code of Ruby binds, and the functions that code defines.
fn defined(tokens: &[Token], language: Language) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut in_parameters = false;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let is = |ahead: usize, symbol| tokens.get(at + ahead).is_some_and(|token: &Token| token.is(symbol));
        let after_word =
            |words: &[&str]| before.and_then(Token::name).is_some_and(|word| words.contains(&word));
        match token {
            Token::Symbol('|') if language == Language::Ruby => {
                let opens = before.is_some_and(|token| token.is('{') || token.name() == Some("do"));
                in_parameters = opens;
            }
            Token::Name(name) => {
                let is_set = language == Language::Ruby
                    && ((is(1, '=')
                        && !is(2, '=')
                        && !is(2, '~')
                        && !before.is_some_and(|token| token.is('.')))
                        || in_parameters
                        || is(1, ',') && tokens.get(at + 2).and_then(Token::name).is_some()
                        || after_word(&["for"])
                        || before.is_some_and(|token| token.is('>')));
                let is_function = after_word(&["def", "function", "fn"]);
                if is_set || is_function {
                    names.insert(name.clone());
                }
                // Parameters of a function of Ruby.
                if is_function && language == Language::Ruby {
                    let rest = tokens.get(at + 1..).unwrap_or_default();
                    let head = rest.iter().take_while(|token| !token.is(')') && **token != Token::Line);
                    names.extend(head.filter_map(Token::name).map(str::to_owned));
                }
            }
            _ => {}
        }
    }
    names
}

fn is_listed(
    tokens: &[Token],
    at: usize,
    name: &str,
    language: Language,
    starts: bool,
    listed: &Listed,
    own: &BTreeSet<String>,
) -> bool {
    let before = |count: usize| at.checked_sub(count).and_then(|at| tokens.get(at));
    let is_before = |count: usize, symbol| before(count).is_some_and(|token: &Token| token.is(symbol));
    let is_next = |ahead: usize, symbol| tokens.get(at + ahead).is_some_and(|token: &Token| token.is(symbol));
    if is_before(1, '$') {
        // `$f(…)` calls a function that is not known.
        return language == Language::Php && !is_next(1, '(');
    }
    if name == "require" {
        return matches!(tokens.get(at + 1), Some(Token::Text(text)) if listed.loaded.has(&text.raw));
    }
    // `Time.now`: of a class, only what is listed.
    if let Some(members) = listed.members.get(name) {
        let member = tokens.get(at + 2).and_then(Token::name).filter(|_| is_next(1, '.'));
        let is_started = name == "Open3" || name == "IO" || name == "Process";
        let opens = name == "File" && member.is_some_and(|member| member == "read" || member == "readlines");
        let is_fixed = matches!(tokens.get(at + 4), Some(Token::Text(text)) if text.literal().is_some()) && {
            tokens.get(at + 5).is_some_and(|token| token.is(')'))
        };
        return member.is_some_and(|member| members.has(member))
            && (!is_started || starts)
            && (!opens || is_fixed)
            || is_next(1, '[') && name == "ENV";
    }
    let is_member = is_before(1, '.')
        && before(2).and_then(Token::name).is_some_and(|owner| listed.members.get(owner).is_some());
    let is_key = is_next(1, ':') && !is_next(2, ':');
    is_member
        || (is_key && language == Language::Ruby)
        || (own.contains(name) && !starts::CALLS.has(name))
        || listed.words.has(name)
        || (starts && listed.starting.has(name) && !is_before(1, '.'))
}
