//! TOML, as far as a manifest needs it: tables, texts, lists.

use super::value::{Map, Value};

/// Maximum nesting of values.
const DEEPEST: usize = 16;

/// The tables of a text; what is not understood is left out.
pub(super) fn read(text: &str) -> Value {
    let mut root = Map::default();
    let mut table: Vec<String> = Vec::new();
    let mut rest = text;
    loop {
        rest = without_blanks(rest);
        let Some(first) = rest.chars().next() else { break };
        if first == '[' {
            let (head, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let name = head.split('#').next().unwrap_or(head).trim().trim_matches(['[', ']']);
            table = keys(name);
            rest = after;
            continue;
        }
        let Some((key, after)) = rest.split_once('=').filter(|(key, _)| !key.contains('\n')) else {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
            continue;
        };
        let (value, after) = value(after.trim_start_matches([' ', '\t']), 0);
        let path: Vec<String> = table.iter().cloned().chain(keys(key)).collect();
        put(&mut root, &path, value);
        rest = after.split_once('\n').map_or("", |(_, after)| after);
    }
    Value::Map(root)
}

/// The names of a key: `tasks."a.b".run`.
fn keys(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut quote = None;
    for c in text.trim().chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '.') => names.push(String::new()),
            (None, ' ' | '\t') => {}
            (_, c) => names.last_mut().into_iter().for_each(|name| name.push(c)),
        }
    }
    names
}

fn put(map: &mut Map, path: &[String], value: Value) {
    match path {
        [] => {}
        [name] => map.insert(name.clone(), value),
        [name, rest @ ..] => {
            if let Some(inner) = map.inner(name) {
                put(inner, rest, value);
            }
        }
    }
}

/// The text without blanks, line breaks and comments at its beginning.
fn without_blanks(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, after)| after).trim_start();
    }
    rest
}

/// The value at the beginning of a text, and what follows it.
fn value(text: &str, depth: usize) -> (Value, &str) {
    for (mark, escapes) in [("\"\"\"", true), ("'''", false), ("\"", true), ("'", false)] {
        if let Some(rest) = text.strip_prefix(mark) {
            let (inside, after) = quoted(rest, mark, escapes);
            let inside = if mark.len() == 3 {
                inside.strip_prefix('\n').unwrap_or(&inside).to_owned()
            } else {
                inside
            };
            return (Value::Text(inside), after);
        }
    }
    let is_list = text.starts_with('[');
    if (!is_list && !text.starts_with('{')) || depth >= DEEPEST {
        let end = text.find([',', ']', '}', '\n', '#']).unwrap_or(text.len());
        return (Value::Plain(true), text.get(end..).unwrap_or_default());
    }
    let (mut list, mut map) = (Vec::new(), Map::default());
    let mut rest = text.get(1..).unwrap_or_default();
    loop {
        rest = without_blanks(rest).trim_start_matches([',', ' ']);
        rest = without_blanks(rest);
        if let Some(after) = rest.strip_prefix([']', '}']) {
            return (if is_list { Value::List(list) } else { Value::Map(map) }, after);
        }
        if rest.is_empty() {
            return (Value::Plain(true), "");
        }
        let before = rest.len();
        if is_list {
            let (item, after) = value(rest, depth + 1);
            list.push(item);
            rest = after;
        } else {
            let Some((key, after)) = rest.split_once('=') else { return (Value::Plain(true), "") };
            let (item, after) = value(after.trim_start(), depth + 1);
            put(&mut map, &keys(key), item);
            rest = after;
        }
        if rest.len() == before {
            return (Value::Plain(true), "");
        }
    }
}

/// The text up to the mark that ends it, and what follows.
fn quoted<'t>(text: &'t str, mark: &str, escapes: bool) -> (String, &'t str) {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(mark) {
            return (out, after);
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        if c != '\\' || !escapes {
            out.push(c);
            continue;
        }
        let next = rest.chars().next().unwrap_or('\\');
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
        match next {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            '\n' => rest = rest.trim_start(),
            other => out.push(other),
        }
    }
    (out, "")
}
