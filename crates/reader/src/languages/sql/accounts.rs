//! Queries of the accounts of a database that print no password.

use super::tokens::{Token, clear_statements};
use crate::languages::names::sql;

/// What a text for the client of a database may print of its accounts; `None` if it is no statement, or only queries columns
/// that hold no password.
pub fn shows_passwords(text: &str, _program: &str) -> Option<&'static str> {
    let is_statement = text.contains(char::is_whitespace) || text.to_ascii_lowercase().contains("user");
    let spares = || clear_statements(text).is_some_and(|all| all.iter().all(|one| spares_passwords(one)));
    (is_statement && !spares()).then_some("passwords of accounts")
}

/// What a text for the client of a database names that holds passwords; `None` if there is nothing of that kind.
pub fn shows_credentials(text: &str, _program: &str) -> Option<&'static str> {
    let lower = text.to_lowercase();
    let names: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let is_named = |name: &str| name.split('.').all(|part| names.contains(&part));
    let lists = |command: &str| {
        let name = command.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let is_long = command.get(name.len()..).is_some_and(|rest| rest.starts_with('+'));
        is_long && sql::CREDENTIAL_LISTS.iter().any(|list| name.starts_with(list))
    };
    let prints = || {
        let fits = |word: &str| {
            let word = word.rsplit('.').next().unwrap_or(word);
            sql::CREDENTIAL_WORDS.has(word) || word.chars().all(|c| c.is_ascii_digit())
        };
        // The name of a table may stand for its rows.
        let is_source = |pair: &[Token]| match pair {
            [before, table] => {
                !sql::CREDENTIAL_TABLES.has(table.word()) || matches!(before.word(), "from" | "join")
            }
            _ => true,
        };
        let spares = |one: &Vec<Token>| has_only(one, &fits) && one.windows(2).all(is_source);
        !clear_statements(text).is_some_and(|all| all.iter().all(spares))
    };
    let is_found = sql::CREDENTIALS.iter().any(is_named)
        || text.split('\\').skip(1).any(lists)
        || sql::CREDENTIAL_TABLES.iter().any(is_named) && prints();
    is_found.then_some("passwords")
}

/// Whether each word of a query is listed, and `*` only counts.
fn spares_passwords(tokens: &[Token]) -> bool {
    has_only(tokens, &|word| sql::ACCOUNT_WORDS.has(word) || word.chars().all(|c| c.is_ascii_digit()))
}

/// Whether each word of a query fits, and `*` only counts.
fn has_only(tokens: &[Token], fits: &dyn Fn(&str) -> bool) -> bool {
    let is_fine = |(at, token): (usize, &Token)| match token {
        Token::Word(word) => fits(word),
        // Other clients take a text between double quotes for a column.
        Token::Quoted(text) => {
            !text.contains(['$', '`', '*']) && !sql::PASSWORD_WORDS.are_in(&text.to_lowercase())
        }
        Token::Symbol('*') => {
            at.checked_sub(2).and_then(|at| tokens.get(at)).is_some_and(|token| token.word() == "count")
        }
        Token::Symbol(symbol) => "(),=<>!".contains(*symbol),
        Token::Client(name, _) => name == "\\G",
    };
    tokens.iter().enumerate().all(is_fine)
}
