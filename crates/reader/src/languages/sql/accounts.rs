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

/// Whether each word of a query is listed, and `*` only counts.
fn spares_passwords(tokens: &[Token]) -> bool {
    let is_fine = |(at, token): (usize, &Token)| match token {
        Token::Word(word) => sql::ACCOUNT_WORDS.has(word) || word.chars().all(|c| c.is_ascii_digit()),
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
