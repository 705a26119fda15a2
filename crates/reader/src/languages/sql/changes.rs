//! Whether SQL changes the database and nothing beside it, proved word by word.

use super::functions::Functions;
use super::reads::statement_reads;
use super::tokens::{Token, clear_statements};
use crate::languages::names::sql;

/// Whether every statement of a text reads or changes the database, without code, files and programs beside it.
pub fn only_changes(text: &str, functions: Functions) -> bool {
    clear_statements(text).is_some_and(|statements| {
        statements.iter().all(|tokens| statement_reads(tokens, functions) || changes(tokens, functions))
    })
}

/// Whether every statement of a text is one that a repair needs.
pub fn repairs(text: &str) -> bool {
    clear_statements(text).is_some_and(|statements| {
        statements.iter().all(|tokens| {
            let word = |at: usize| tokens.get(at).map_or("", Token::word);
            let into = tokens.iter().any(|token| token.word() == "into");
            let locks = word(0) == "flush" && tokens.iter().any(|token| token.word() == "lock");
            !into
                && !locks
                && !ends_all(tokens)
                && sql::REPAIRING.get(word(0)).is_some_and(|second| second.allow(word(1)))
        })
    })
}

/// Whether a statement ends every session: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity`.
fn ends_all(tokens: &[Token]) -> bool {
    let at = |word: &str| tokens.iter().position(|token| token.word() == word);
    let own = ["", "pid", "pg_backend_pid", "and", "not", "true"];
    let picks = |token: &Token| !own.contains(&token.word());
    tokens.iter().any(|token| sql::ENDING_CALLS.has(token.word()))
        && at("from").is_some()
        && !at("where").is_some_and(|at| tokens.iter().skip(at + 1).any(picks))
}

fn changes(tokens: &[Token], functions: Functions) -> bool {
    let word = |at: usize| tokens.get(at).map_or("", Token::word);
    let is_listed = || sql::CHANGING_STATEMENTS.get(word(0)).is_some_and(|second| second.allow(word(1)));
    match (word(0), word(1)) {
        ("create", "or") if word(2) != "view" => false,
        // A value that is no number may name a library, a command or a file.
        ("alter", "system") | ("set", "global" | "persist") => sets_number(tokens),
        ("set", _) => word(1).starts_with("@@global.") && sets_number(tokens),
        ("system", command) => {
            functions == Functions::BuiltIn
                && (sql::SYSTEM_COMMANDS.has(command)
                    || tokens.last().is_some_and(|last| last.word() == "cache"))
        }
        _ => is_listed() && is_plain(tokens, functions),
    }
}

/// Whether a setting gets a number, a size, a duration or a truth value: `SET GLOBAL max_connections = 200`.
fn sets_number(tokens: &[Token]) -> bool {
    let text = |token: &Token| match token {
        Token::Word(text) | Token::Quoted(text) => text.to_ascii_lowercase(),
        _ => String::new(),
    };
    let is_number = |text: &str| {
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        text.starts_with(|c: char| c.is_ascii_digit()) && unit.trim().len() <= 3
            || matches!(text, "on" | "off" | "true" | "false" | "default")
    };
    tokens.len() <= 6 && tokens.last().is_some_and(|last| is_number(&text(last)))
}

/// Whether a statement names no file and no program, and calls only what is known.
fn is_plain(tokens: &[Token], functions: Functions) -> bool {
    tokens.iter().enumerate().all(|(at, token)| {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", Token::word);
        let calls = tokens.get(at + 1) == Some(&Token::Symbol('('));
        let is_name = || sql::BEFORE_LISTS.has(before);
        match token {
            // `VACUUM (ANALYZE)`: options in brackets.
            Token::Word(_) if calls && at == 0 => true,
            Token::Word(word) if calls => {
                is_name()
                    || sql::BEFORE_BRACKETS.has(word)
                    || sql::CHANGING_CALLS.has(word.strip_prefix("pg_catalog.").unwrap_or(word))
                    || functions.reads(word)
            }
            Token::Word(word) => !sql::LEADING_OUT.has(word),
            Token::Quoted(_) => !calls || is_name(),
            Token::Symbol(symbol) => *symbol != ']' || !calls,
            Token::Client(..) => false,
        }
    })
}
