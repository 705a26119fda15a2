//! Whether SQL only reads, proved word by word.

use super::functions::Functions;
use super::tokens::{Token, clear_statements};
use crate::languages::names::sql;

/// The files that a text writes, if every statement of it only reads the database; `None` if that is not proved.
///
/// Commands of the clients count as statements: `\dt`, `.tables`.
pub fn reading(text: &str, functions: Functions) -> Option<Vec<String>> {
    let mut files = Vec::new();
    for tokens in clear_statements(text)? {
        files.extend(statement(&tokens, functions)?);
    }
    Some(files)
}

/// Whether a statement only reads, and writes no file.
pub(super) fn statement_reads(tokens: &[Token], functions: Functions) -> bool {
    tokens.is_empty() || statement(tokens, functions).is_some_and(|files| files.is_empty())
}

/// It reads and writes no file.
const READS: Option<Vec<String>> = Some(vec![]);

fn statement(tokens: &[Token], functions: Functions) -> Option<Vec<String>> {
    let word = |at: usize| tokens.get(at).map_or("", Token::word);
    let has = |wanted: &str| tokens.iter().any(|token| token.word() == wanted);
    match tokens.first()? {
        Token::Client(name, rest) => return client(name, rest, functions),
        Token::Symbol('(') => return query(tokens, functions),
        _ => {}
    }
    match word(0) {
        "select" | "values" | "table" | "with" | "from" | "summarize" => query(tokens, functions),
        "explain" | "describe" | "desc" => explanation(tokens, functions),
        "show" | "exists" | "help" | "use" | "status" | "checksum" | "warnings" | "nowarning" | "charset"
        | "exit" | "quit" | "nopager" | "notee" | "print" | "ego" | "go" => READS,
        "check" => READS.filter(|_| word(1) == "table"),
        "begin" | "commit" | "rollback" | "end" | "savepoint" | "release" | "abort" => {
            READS.filter(|_| !has("prepared"))
        }
        "start" => READS.filter(|_| word(1) == "transaction"),
        "set" => setting(tokens, functions),
        "pragma" => pragma(tokens),
        "copy" => copy(tokens.get(1..)?, functions),
        "vacuum" => match tokens {
            [_, into, Token::Quoted(file)] if into.word() == "into" => Some(vec![file.clone()]),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a text stands here that nothing is added to.
fn is_literal(tokens: &[Token], at: usize) -> bool {
    matches!(tokens.get(at), Some(Token::Quoted(_)))
        && matches!(tokens.get(at + 1), Some(Token::Symbol(')' | ',')))
}

/// A query without words that change something and without functions that may.
fn query(tokens: &[Token], functions: Functions) -> Option<Vec<String>> {
    let mut files = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let next = tokens.get(at + 1);
        let calls = next == Some(&Token::Symbol('('));
        match token {
            Token::Word(word) => {
                let following = next.map_or("", Token::word);
                match word.as_str() {
                    "into" => match (following, tokens.get(at + 2)) {
                        ("outfile" | "dumpfile", Some(Token::Quoted(file))) => files.push(file.clone()),
                        _ => return None,
                    },
                    "for" if matches!(following, "share" | "no" | "key" | "update") => return None,
                    "lock" if following == "in" => return None,
                    // `NEXT VALUE FOR x` changes the sequence.
                    "next" if following == "value" => return None,
                    word if sql::CHANGING.has(word) && !calls => return None,
                    _ => {}
                }
                let is_alias = before.is_some_and(|token| token.word() == "as");
                let after_dot = before.is_some_and(|token| token.word().ends_with('.'));
                // A file whose name is computed may be any.
                if calls && sql::FILE_FUNCTIONS.has(word) && !is_literal(tokens, at + 2) {
                    return None;
                }
                if calls && !is_alias && (after_dot || !functions.reads(word)) {
                    return None;
                }
            }
            // A name in quotes or brackets may be any function.
            Token::Quoted(_) | Token::Symbol(']') if calls => return None,
            Token::Client(..) => return None,
            _ => {}
        }
    }
    Some(files)
}

/// `EXPLAIN` reads; `EXPLAIN ANALYZE` runs the statement.
fn explanation(tokens: &[Token], functions: Functions) -> Option<Vec<String>> {
    if !tokens.iter().any(|token| matches!(token.word(), "analyze" | "analyse")) {
        return READS;
    }
    let verbs = ["select", "values", "with", "table", "from"];
    let first = tokens.iter().position(|token| verbs.contains(&token.word()))?;
    let options = tokens.get(1..first)?;
    let known = |token: &Token| match token {
        Token::Word(word) => sql::EXPLAIN.has(word),
        Token::Symbol('(' | ')' | ',' | '=') => true,
        _ => false,
    };
    if options.iter().all(known) { query(tokens.get(first..)?, functions) } else { None }
}

/// Settings of the session.
fn setting(tokens: &[Token], functions: Functions) -> Option<Vec<String>> {
    let words: Vec<&str> = tokens.iter().map(Token::word).collect();
    let lasting = words.iter().any(|word| {
        sql::LASTING.has(word)
            || word.starts_with("@@global")
            || word.starts_with("@@persist")
            || word.starts_with("cluster")
            || word.starts_with("resource")
    });
    if lasting { None } else { query(tokens.get(1..)?, functions) }
}

/// Pragmas of SQLite that only report.
fn pragma(tokens: &[Token]) -> Option<Vec<String>> {
    let name = tokens.get(1).map_or("", Token::word);
    let name = name.rsplit('.').next().unwrap_or(name);
    let bare = tokens.len() == 2;
    let reads = sql::PRAGMAS.has(name) && !tokens.contains(&Token::Symbol('='))
        || sql::PRAGMA_SETTINGS.has(name) && bare
        || sql::PRAGMAS_OF_CONNECTION.has(name);
    READS.filter(|_| reads)
}

/// `COPY … TO STDOUT`, or to a file.
fn copy(tokens: &[Token], functions: Functions) -> Option<Vec<String>> {
    let mut depth = 0_i32;
    let to = tokens.iter().position(|token| {
        depth += i32::from(*token == Token::Symbol('(')) - i32::from(*token == Token::Symbol(')'));
        depth == 0 && matches!(token.word(), "to" | "from")
    })?;
    if tokens.get(to)?.word() != "to" {
        return None;
    }
    let source = tokens.get(..to)?;
    if source.first() == Some(&Token::Symbol('(')) {
        query(source, functions)?;
    }
    match tokens.get(to + 1)? {
        Token::Word(word) if matches!(word.as_str(), "stdout" | "pstdout") => READS,
        Token::Quoted(file) => Some(vec![file.clone()]),
        _ => None,
    }
}

/// Commands of the clients: `psql`, `mysql`, `sqlite3` and others.
fn client(name: &str, rest: &str, functions: Functions) -> Option<Vec<String>> {
    // A shell command in backquotes runs.
    if rest.contains('`') {
        return None;
    }
    let file = || rest.trim_matches(['\'', '"']).split_whitespace().last().unwrap_or_default().to_owned();
    let first = rest.trim_start_matches(['\'', '"']).split_whitespace().next().unwrap_or_default();
    if let Some(letters) = name.strip_prefix('\\') {
        let describes = letters.starts_with('d') && letters.chars().all(|c| c.is_ascii_alphabetic());
        return match letters {
            _ if describes => READS,
            _ if sql::PSQL.has(letters) => READS,
            "pset" => READS.filter(|_| !rest.contains("pager") || rest.ends_with("off")),
            "s" | "w" | "g" | "gx" | "T" | "o" | "out" if rest.is_empty() => READS,
            "set" | "unset" if sql::PSQL_SETTINGS.has(first) || first.is_empty() => READS,
            "o" | "out" if !rest.starts_with('|') => Some(vec![file()]),
            "copy" => copy_of_client(rest, functions),
            _ => None,
        };
    }
    match name {
        _ if name.strip_prefix('.').is_some_and(|name| sql::DOTS.has(name)) => READS,
        ".output" | ".once" if rest.is_empty() || rest == "stdout" => READS,
        ".output" | ".once" | ".backup" | ".save" | ".log" | ".trace"
            if !first.starts_with(['|', '-']) && !first.is_empty() =>
        {
            Some(if matches!(first, "stdout" | "stderr" | "off") { vec![] } else { vec![file()] })
        }
        ".parameter" if first == "list" => READS,
        ".archive" | ".ar" if first.contains('t') && !first.contains(['c', 'u', 'x', 'r', 'i']) => READS,
        _ => None,
    }
}

/// `\copy (SELECT …) TO '/tmp/x.csv' CSV`.
fn copy_of_client(rest: &str, functions: Functions) -> Option<Vec<String>> {
    match clear_statements(rest)?.as_slice() {
        [tokens] => {
            // A file may be written without quotes, and is case-sensitive.
            if let Some(at) = tokens.iter().rposition(|token| token.word() == "to")
                && tokens.get(at + 1) == Some(&Token::Symbol('/'))
            {
                copy(&[tokens.get(..=at)?, &[Token::Quoted(String::new())]].concat(), functions)?;
                let path = rest.split_whitespace().find(|word| word.starts_with('/'))?;
                return Some(vec![path.to_owned()]);
            }
            copy(tokens, functions)
        }
        _ => None,
    }
}
