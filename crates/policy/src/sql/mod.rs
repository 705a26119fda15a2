//! SQL that deletes data (`DROP`, `TRUNCATE`, and `DELETE` or `UPDATE` of every row), and SQL that only reads.

mod functions;
mod reads;
mod tokens;

pub use functions::Functions;
pub use reads::reading;

/// The first statement of a text that deletes data; `None` if there is none.
///
/// Strings, quoted names and comments are ignored: `SELECT 'drop table x'` reads.
pub fn destroys(text: &str) -> Option<&'static str> {
    // Most texts contain none of these words and need no parsing.
    let lower = text.to_ascii_lowercase();
    if !["drop", "truncate", "delete", "update"].iter().any(|word| lower.contains(word)) {
        return None;
    }
    statements(&lower).find_map(|words| destroyed(&words))
}

fn destroyed(words: &[String]) -> Option<&'static str> {
    let at = |word: &str| words.iter().position(|found| found == word);
    let after = |position: usize| words.get(position + 1).map(String::as_str).unwrap_or_default();
    if let Some(drop) = at("drop") {
        let what = after(drop);
        // `ALTER TABLE … DROP COLUMN` deletes data, too; `drop` as a name does not.
        let things = [
            "table",
            "database",
            "schema",
            "view",
            "index",
            "trigger",
            "owned",
            "column",
            "function",
            "procedure",
            "sequence",
            "type",
            "extension",
            "tablespace",
            "materialized",
            "constraint",
            "event",
        ];
        if things.contains(&what) {
            return Some(if what == "database" { "DROP DATABASE" } else { "DROP" });
        }
    }
    if words.first().is_some_and(|word| word == "truncate") {
        return Some("TRUNCATE");
    }
    // `WHERE 1=1` picks no row.
    let picks = match at("where").map(|position| words.get(position + 1..).unwrap_or_default()) {
        None => false,
        Some(condition) => {
            !matches!(condition.concat().as_str(), "1=1" | "1" | "true" | "?=?" | "2>1" | "0=0")
        }
    };
    let all_rows = !picks && at("limit").is_none();
    if all_rows && at("delete").is_some_and(|delete| after(delete) == "from") {
        return Some("DELETE without WHERE");
    }
    (all_rows && words.first().is_some_and(|word| word == "update") && at("set").is_some())
        .then_some("UPDATE without WHERE")
}

/// The first statement of a text that changes accounts or rights; `None` if there is none.
pub fn changes_accounts(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    if !["user", "role", "grant", "revoke", "password"].iter().any(|word| lower.contains(word)) {
        return None;
    }
    statements(&lower).find_map(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).take(4).collect();
        match words.as_slice() {
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
        }
    })
}

/// The words of each statement, without strings and comments.
fn statements(text: &str) -> impl Iterator<Item = Vec<String>> {
    let mut all: Vec<Vec<String>> = vec![vec![]];
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    let end_word = |word: &mut String, all: &mut Vec<Vec<String>>| {
        if !word.is_empty()
            && let Some(last) = all.last_mut()
        {
            last.push(std::mem::take(word));
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' | '`' => {
                end_word(&mut word, &mut all);
                // Any text of this statement; a doubled quote only begins another one.
                while chars.next_if(|next| *next != c).is_some() {}
                chars.next();
                word.push('?');
                end_word(&mut word, &mut all);
            }
            '-' if chars.peek() == Some(&'-') => while chars.next_if(|next| *next != '\n').is_some() {},
            '#' if word.is_empty() => while chars.next_if(|next| *next != '\n').is_some() {},
            '/' if chars.peek() == Some(&'*') => {
                end_word(&mut word, &mut all);
                let mut before = ' ';
                chars.next();
                // MySQL runs the content of `/*! … */`.
                if chars.next_if_eq(&'!').is_some() {
                    while chars.next_if(char::is_ascii_digit).is_some() {}
                    continue;
                }
                for inside in chars.by_ref() {
                    if before == '*' && inside == '/' {
                        break;
                    }
                    before = inside;
                }
            }
            '*' if chars.peek() == Some(&'/') => {
                chars.next();
            }
            ';' => {
                end_word(&mut word, &mut all);
                all.push(vec![]);
            }
            // A command of the client, such as `.tables`, ends with the line.
            '\n' if all
                .last()
                .is_some_and(|words| words.first().map_or(&word, |first| first).starts_with('.')) =>
            {
                end_word(&mut word, &mut all);
                all.push(vec![]);
            }
            _ if c.is_whitespace() || matches!(c, '(' | ')' | ',') => end_word(&mut word, &mut all),
            _ => word.push(c),
        }
    }
    end_word(&mut word, &mut all);
    all.into_iter().filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_destructive_statements_from_mentions() {
        for (text, expected) in [
            ("DROP TABLE users", Some("DROP")),
            ("drop database shop;", Some("DROP DATABASE")),
            ("select 1; DROP\n  TABLE x", Some("DROP")),
            ("DROP/**/TABLE x", Some("DROP")),
            ("/*!50000 DROP */ TABLE x", Some("DROP")),
            ("ALTER TABLE x DROP COLUMN y", Some("DROP")),
            ("TRUNCATE events", Some("TRUNCATE")),
            ("DELETE FROM events", Some("DELETE without WHERE")),
            ("DELETE FROM events WHERE id = 3", None),
            ("UPDATE users SET name = 'x'", Some("UPDATE without WHERE")),
            ("UPDATE users SET name = 'x' WHERE id = 1", None),
            ("SELECT 'DROP TABLE x'", None),
            ("SELECT 'it''s; DROP TABLE x'", None),
            ("SELECT * FROM t -- DROP TABLE x", None),
            ("SELECT dropped, truncated FROM deliveries", None),
            ("SELECT truncate(1.234, 2)", None),
            ("INSERT INTO log VALUES ('delete from x')", None),
            ("DELETE FROM events WHERE 1=1", Some("DELETE without WHERE")),
            ("DELETE FROM events WHERE 1 = 1;", Some("DELETE without WHERE")),
            ("DELETE FROM events WHERE 1=1 AND id = 3", None),
        ] {
            assert_eq!(destroys(text), expected, "{text}");
        }
    }

    #[test]
    fn distinguishes_changes_of_accounts_from_queries() {
        for (text, expected) in [
            ("ALTER ROLE app PASSWORD 'x'", Some("ALTER USER")),
            ("create user x; grant all on y to x", Some("CREATE USER")),
            ("GRANT SELECT ON t TO x", Some("GRANT")),
            ("SET PASSWORD FOR x = 'y'", Some("SET PASSWORD")),
            ("DROP ROLE x", Some("DROP USER")),
            ("SHOW GRANTS", None),
            ("SELECT user, password FROM mysql.user", None),
            ("ALTER TABLE users ADD COLUMN role text", None),
        ] {
            assert_eq!(changes_accounts(text), expected, "{text}");
        }
    }
}
