//! SQL that deletes data (`DROP`, `TRUNCATE`, and `DELETE` or `UPDATE` of every row), and SQL that only reads.

mod accounts;
mod changes;
mod functions;
mod reads;
mod tokens;

pub use accounts::{shows_credentials, shows_passwords};
pub use changes::{only_changes, repairs};
pub use functions::Functions;
pub use reads::reading;

use crate::languages::names::sql;
use tokens::{Dialect, Token, statements};

/// The first statement of a text for the client `program` that deletes data; `None` if there is none.
///
/// Strings, quoted names and comments are ignored: `SELECT 'drop table x'` reads.
pub fn destroys(text: &str, program: &str) -> Option<&'static str> {
    // Most texts contain none of these words and need no parsing.
    let lower = text.to_ascii_lowercase();
    // What it executes is put together by the server.
    let composes = lower.contains("do $")
        || lower.contains("do language")
        || lower.contains("do '")
        || lower.contains("execute immediate")
        || lower.contains("prepare ") && lower.contains(" from ");
    if composes && lower.contains("execute") {
        return Some("SQL that is composed when it runs");
    }
    let words = ["drop", "truncate", "delete", "update", "purge", "reset", "shutdown"];
    if !words.iter().any(|word| lower.contains(word)) && !sql::DESTROYING_FUNCTIONS.are_in(&lower) {
        return None;
    }
    said(text, program, destroyed)
}

fn destroyed(words: &[&str]) -> Option<&'static str> {
    let at = |word: &str| words.iter().position(|found| *found == word);
    let after = |position: usize| words.get(position + 1).copied().unwrap_or_default();
    if let Some(drop) = at("drop") {
        let what = after(drop);
        // `ALTER TABLE … DROP COLUMN` deletes data, too; `drop` as a name does not.
        if sql::DROPPED.has(what) {
            return Some(if what == "database" { "DROP DATABASE" } else { "DROP" });
        }
    }
    if words == ["shutdown"] {
        return Some("SHUTDOWN");
    }
    if words.first() == Some(&"truncate") || words.windows(2).any(|pair| pair == ["truncate", "partition"]) {
        return Some("TRUNCATE");
    }
    // `WHERE 1=1` picks no row.
    let joins = ["join", "using"].iter().any(|word| words.contains(word));
    let picks = joins
        || match at("where").map(|position| words.get(position + 1..).unwrap_or_default()) {
            None => false,
            Some(condition) => {
                !matches!(condition.concat().as_str(), "1=1" | "1" | "true" | "?=?" | "2>1" | "0=0")
            }
        };
    let deletes = |delete: usize| {
        // `DELETE QUICK FROM x`, `DELETE x FROM x`, and no `ON DELETE CASCADE`.
        after(delete) == "from" || delete == 0 && words.contains(&"from")
    };
    if !picks && at("delete").is_some_and(deletes) {
        return Some("DELETE without WHERE");
    }
    let all_rows = !picks && at("limit").is_none();
    // A mutation of ClickHouse.
    let is_mutation = |verb: &str| at(verb).is_some_and(|at| at > 2 && words.get(at - 1) != Some(&"on"));
    if all_rows && words.starts_with(&["alter", "table"]) && (is_mutation("delete") || is_mutation("update"))
    {
        return Some("ALTER TABLE DELETE");
    }
    if matches!(
        words,
        ["purge", "binary" | "master", ..] | ["reset", "master" | "slave" | "replica" | "binary", ..]
    ) {
        return Some("RESET MASTER");
    }
    if words.iter().any(|word| sql::DESTROYING_FUNCTIONS.has(word.rsplit('.').next().unwrap_or_default())) {
        return Some("a function that deletes data");
    }
    (all_rows && words.first() == Some(&"update") && at("set").is_some()).then_some("UPDATE without WHERE")
}

/// The first statement of a text for the client `program` that changes accounts or rights; `None` if there is none.
pub fn changes_accounts(text: &str, program: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    if !["user", "role", "grant", "revoke", "password"].iter().any(|word| lower.contains(word)) {
        return None;
    }
    said(text, program, |words| match words {
        ["create", "user" | "role" | "group", ..] | ["create", "or", "replace", "user" | "role"] => {
            Some("CREATE USER")
        }
        ["alter", "user" | "role" | "group", ..] => Some("ALTER USER"),
        ["drop", "user" | "role" | "group", ..] => Some("DROP USER"),
        ["rename", "user", ..] => Some("RENAME USER"),
        ["grant", ..] => Some("GRANT"),
        ["revoke", ..] => Some("REVOKE"),
        ["set", "password", ..] => Some("SET PASSWORD"),
        _ => None,
    })
}

/// What the words of the first statement say of which `says` knows something, in any way in which the client `program` may
/// cut the text.
fn said(text: &str, program: &str, says: impl Fn(&[&str]) -> Option<&'static str>) -> Option<&'static str> {
    let is_mysql = sql::MYSQL_CLIENTS.has(program);
    let either =
        |mark: &str| if text.contains(mark) { [Some(false), Some(true)] } else { [Some(false), None] };
    let nests = if is_mysql { [Some(false), None] } else { either("/*") };
    let [brackets, bare] =
        [either("["), either("`")].map(|one| if is_mysql { [Some(false), None] } else { one });
    let quotes = brackets.into_iter().flatten().flat_map(|brackets| {
        bare.into_iter().flatten().map(move |bare_backquotes| (brackets, bare_backquotes))
    });
    let quotes: Vec<(bool, bool)> = quotes.collect();
    let comments = either("\\")
        .into_iter()
        .flatten()
        .flat_map(|escapes| nests.into_iter().flatten().map(move |nests| (escapes, nests)));
    let dialects = comments.flat_map(|(escapes, nests)| {
        quotes.iter().map(move |(brackets, bare_backquotes)| Dialect {
            is_mysql,
            escapes,
            nests,
            brackets: *brackets,
            bare_backquotes: *bare_backquotes,
        })
    });
    dialects.flat_map(|dialect| statements(text, dialect)).find_map(|tokens| {
        let text = |token: &Token| match token {
            Token::Word(word) => Some(word.clone()),
            Token::Quoted(_) => Some("?".to_owned()),
            Token::Symbol('(' | ')' | ',') | Token::Client(..) => None,
            Token::Symbol(symbol) => Some(symbol.to_string()),
        };
        let words: Vec<String> = tokens.iter().filter_map(text).collect();
        says(&words.iter().map(String::as_str).collect::<Vec<_>>())
    })
}
