//! Whether SQL only reads, proved word by word.

use super::functions::Functions;
use super::tokens::{Token, statements};

/// The files that a text writes, if every statement of it only reads the database; `None` if that is not proved.
///
/// Commands of the clients count as statements: `\dt`, `.tables`.
pub fn reading(text: &str, functions: Functions) -> Option<Vec<String>> {
    let mut files = Vec::new();
    for tokens in statements(text)? {
        files.extend(statement(&tokens, functions)?);
    }
    Some(files)
}

/// It reads and writes no file.
const READS: Option<Vec<String>> = Some(vec![]);

/// Words that change something or hide what runs, at any position of a query.
const CHANGING: &[&str] = &[
    "insert", "update", "delete", "merge", "drop", "truncate", "alter", "create", "grant", "revoke", "call",
    "exec", "execute", "refresh", "reindex", "cluster", "vacuum",
];

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
        "check" => {
            if word(1) == "table" {
                READS
            } else {
                None
            }
        }
        "begin" | "commit" | "rollback" | "end" | "savepoint" | "release" | "abort" => {
            if has("prepared") {
                None
            } else {
                READS
            }
        }
        "start" => {
            if word(1) == "transaction" {
                READS
            } else {
                None
            }
        }
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

/// Functions that return the content of a file.
const READS_FILE: &[&str] = &[
    "readfile",
    "fileio_read",
    "load_file",
    "pg_read_file",
    "pg_read_binary_file",
    "read_text",
    "read_blob",
    "read_csv",
    "read_csv_auto",
    "read_json",
    "read_json_auto",
    "read_parquet",
];

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
                    word if CHANGING.contains(&word) && !calls => return None,
                    _ => {}
                }
                let is_alias = before.is_some_and(|token| token.word() == "as");
                let after_dot = before.is_some_and(|token| token.word().ends_with('.'));
                // A file whose name is computed may be any.
                if calls && READS_FILE.contains(&word.as_str()) && !is_literal(tokens, at + 2) {
                    return None;
                }
                if calls && !is_alias && (after_dot || !functions.reads(word)) {
                    return None;
                }
            }
            // A name in quotes may be any function.
            Token::Quoted(_) if calls => return None,
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
        Token::Word(word) => matches!(
            word.as_str(),
            "analyze"
                | "analyse"
                | "verbose"
                | "buffers"
                | "costs"
                | "settings"
                | "wal"
                | "timing"
                | "summary"
                | "format"
                | "json"
                | "yaml"
                | "xml"
                | "text"
                | "tree"
                | "on"
                | "off"
                | "true"
                | "false"
                | "memory"
                | "generic_plan"
                | "serialize"
                | "none"
                | "distsql"
                | "debug"
                | "plan"
                | "query"
                | "pipeline"
        ),
        Token::Symbol('(' | ')' | ',' | '=') => true,
        _ => false,
    };
    if options.iter().all(known) { query(tokens.get(first..)?, functions) } else { None }
}

/// Settings of the session.
fn setting(tokens: &[Token], functions: Functions) -> Option<Vec<String>> {
    let words: Vec<&str> = tokens.iter().map(Token::word).collect();
    let lasting = words.iter().any(|word| {
        ["global", "persist", "persist_only", "password", "role", "authorization", "sql_log_bin"]
            .contains(word)
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
    let asked = [
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "foreign_key_check",
        "integrity_check",
        "quick_check",
        "database_list",
        "collation_list",
        "compile_options",
        "function_list",
        "module_list",
        "pragma_list",
        "stats",
        "data_version",
        "page_count",
        "freelist_count",
        "show_tables",
        "storage_info",
        "version",
        "database_size",
        "platform",
        "user_agent",
    ];
    let settings = [
        "journal_mode",
        "page_size",
        "user_version",
        "schema_version",
        "application_id",
        "encoding",
        "auto_vacuum",
        "cache_size",
        "busy_timeout",
        "foreign_keys",
        "synchronous",
        "locking_mode",
        "mmap_size",
        "temp_store",
        "wal_autocheckpoint",
        "journal_size_limit",
        "max_page_count",
        "secure_delete",
        "query_only",
        "read_uncommitted",
        "recursive_triggers",
        "cache_spill",
        "automatic_index",
        "threads",
        "analysis_limit",
        "trusted_schema",
        "writable_schema",
        "defer_foreign_keys",
        "soft_heap_limit",
        "hard_heap_limit",
    ];
    // Settings of the connection only.
    let own =
        ["query_only", "busy_timeout", "cache_size", "temp_store", "mmap_size", "foreign_keys", "threads"];
    let bare = tokens.len() == 2;
    let reads = asked.contains(&name) && !tokens.contains(&Token::Symbol('='))
        || settings.contains(&name) && bare
        || own.contains(&name);
    if reads { READS } else { None }
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
    let first = rest.split_whitespace().next().unwrap_or_default();
    if let Some(letters) = name.strip_prefix('\\') {
        let describes = letters.starts_with('d') && letters.chars().all(|c| c.is_ascii_alphabetic());
        return match letters {
            _ if describes => READS,
            "l" | "z" | "sf" | "sv" | "timing" | "x" | "conninfo" | "c" | "connect" | "echo" | "qecho"
            | "warn" | "q" | "?" | "h" | "help" | "encoding" | "a" | "t" | "H" | "f" | "errverbose" | "p"
            | "r" | "G" | "watch" | "C" | "crosstabview" | "gdesc" | "u" | "W" | "n" | "copyright" | "L"
            | "list" | "lS" | "zS" => READS,
            "pset" => {
                if rest.contains("pager") && !rest.ends_with("off") {
                    None
                } else {
                    READS
                }
            }
            "s" | "w" | "g" | "gx" | "T" | "o" | "out" if rest.is_empty() => READS,
            "set" | "unset" if SETTINGS.contains(&first) || first.is_empty() => READS,
            "o" | "out" if !rest.starts_with('|') => Some(vec![file()]),
            "copy" => copy_of_client(rest, functions),
            _ => None,
        };
    }
    match name {
        ".tables"
        | ".schema"
        | ".headers"
        | ".header"
        | ".mode"
        | ".dump"
        | ".width"
        | ".timeout"
        | ".databases"
        | ".indexes"
        | ".indices"
        | ".nullvalue"
        | ".separator"
        | ".print"
        | ".echo"
        | ".show"
        | ".help"
        | ".quit"
        | ".exit"
        | ".bail"
        | ".timer"
        | ".stats"
        | ".changes"
        | ".explain"
        | ".eqp"
        | ".fullschema"
        | ".dbinfo"
        | ".sha3sum"
        | ".version"
        | ".vfsinfo"
        | ".vfslist"
        | ".vfsname"
        | ".limit"
        | ".lint"
        | ".recover"
        | ".scanstats"
        | ".progress"
        | ".columns"
        | ".maxrows"
        | ".maxwidth"
        | ".highlight"
        | ".expert"
        | ".prompt"
        | ".large_number_rendering" => READS,
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

/// Variables of `psql` that only change what it prints and when it ends.
const SETTINGS: &[&str] = &[
    "ON_ERROR_STOP",
    "ON_ERROR_ROLLBACK",
    "VERBOSITY",
    "QUIET",
    "ECHO",
    "ECHO_HIDDEN",
    "FETCH_COUNT",
    "SHOW_CONTEXT",
    "HISTSIZE",
    "COMP_KEYWORD_CASE",
    "HIDE_TABLEAM",
    "HIDE_TOAST_COMPRESSION",
];

/// `\copy (SELECT …) TO '/tmp/x.csv' CSV`.
fn copy_of_client(rest: &str, functions: Functions) -> Option<Vec<String>> {
    match statements(rest)?.as_slice() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(text: &str) -> bool {
        reading(text, Functions::Listed).is_some_and(|files| files.is_empty())
    }

    #[test]
    fn queries_and_looks_only_read() {
        for text in [
            "",
            "SELECT * FROM events",
            "select 1; select 2;",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "SELECT count(*) FROM t WHERE action IN ('delete', 'update')",
            "SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class -- biggest first\nORDER BY 2",
            "SELECT replace(name, 'a', 'b'), n_tup_del FROM t",
            "EXPLAIN UPDATE t SET x = 1",
            "EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM t",
            "SHOW PROCESSLIST",
            "SHOW ENGINE INNODB STATUS\\G",
            "SHOW CREATE TABLE users; DESCRIBE users",
            "COPY (SELECT * FROM t) TO STDOUT WITH CSV",
            "BEGIN READ ONLY; SELECT 1; ROLLBACK",
            "SET statement_timeout = '5s'; SELECT 1",
            "\\dt+ public.*",
            "\\l",
            "\\x on\nSELECT 1",
            "\\timing on\nSELECT count(*) FROM jobs;\n",
            "SELECT 1 \\gx",
            ".tables",
            "select 1;\n.tables\n.schema",
            "PRAGMA table_info(events)",
            "PRAGMA journal_mode",
            "PRAGMA integrity_check;",
            "SELECT 'it''s; DROP TABLE x'",
            "SELECT data->>'a', data #>> '{a,b}', x::int FROM t",
        ] {
            assert!(reads(text), "{text}");
        }
    }

    #[test]
    fn changes_and_doubtful_expressions_are_not_proved() {
        for text in [
            "INSERT INTO events VALUES (1)",
            "SELECT 'a'; DELETE FROM events WHERE 1",
            "WITH x AS (DELETE FROM y RETURNING *) SELECT * FROM x",
            "SELECT * INTO t2 FROM t",
            "SELECT * FROM t INTO OUTFILE '/etc/x'",
            "SELECT * FROM t FOR UPDATE",
            "SELECT pg_terminate_backend(1)",
            "SELECT pg_catalog . pg_reload_conf()",
            "SELECT \"pg_reload_conf\"()",
            "SELECT my_cleanup()",
            "SELECT audit.count(1)",
            "SELECT nextval('x'), setval('x', 1)",
            "EXPLAIN ANALYZE DELETE FROM t",
            "EXPLAIN (ANALYZE) INSERT INTO t SELECT 1",
            "COPY t FROM STDIN",
            "COPY t TO PROGRAM 'sh'",
            "COPY (DELETE FROM t RETURNING *) TO STDOUT",
            "SET GLOBAL max_connections = 1",
            "SET PASSWORD = 'x'",
            "SET x = pg_reload_conf()",
            "COMMIT PREPARED 'x'",
            "START SLAVE",
            "SELECT '\\'; DROP TABLE x; --'",
            "SELECT 5 --1; DROP TABLE x",
            "/*!50000 DROP */ TABLE x",
            "SELECT 1 /* /* */ ; DROP TABLE x -- */",
            "SELECT $$a$$; DROP TABLE x",
            "PRAGMA journal_mode=DELETE",
            "PRAGMA wal_checkpoint",
            "PRAGMA user_version(3)",
            ".shell rm x",
            ".read x.sql",
            ".import x y",
            "\\! rm x",
            "\\i x.sql",
            "\\set x `rm y`",
            "\\set x 'DROP TABLE y'\n:x",
            "SELECT 'DROP TABLE x' \\gexec",
            "SELECT 1 \\g |sh",
            "\\copy t from 'x'",
            "VACUUM",
            "ANALYZE",
            "DO $$ BEGIN END $$",
            "CALL x()",
            "KILL 5",
            "FLUSH TABLES",
        ] {
            assert!(!reads(text), "{text}");
        }
    }

    #[test]
    fn files_that_are_written_are_named() {
        for (text, file) in [
            (".backup '/srv/x.db'", "/srv/x.db"),
            (".output /tmp/x.sql\n.dump", "/tmp/x.sql"),
            ("VACUUM INTO '/tmp/x.db'", "/tmp/x.db"),
            ("\\copy (SELECT 1) TO '/tmp/x.csv' CSV", "/tmp/x.csv"),
            ("COPY t TO '/etc/x'", "/etc/x"),
            ("\\o /tmp/x\nSELECT 1", "/tmp/x"),
            ("SELECT * FROM t INTO OUTFILE '/var/lib/x'", "/var/lib/x"),
        ] {
            assert_eq!(reading(text, Functions::Listed), Some(vec![file.to_owned()]), "{text}");
        }
    }
}
