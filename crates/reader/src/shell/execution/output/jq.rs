//! What `jq` prints for a known text, for filters that pick and join texts.

use crate::manifest::value::Value;
use crate::shell::text::is_known;

/// Maximum length in bytes of a filter and of what is printed.
const LONGEST: usize = 16 * 1024;
/// Maximum nesting of filters.
const DEEPEST: usize = 12;
/// Maximum number of results of one filter.
const MOST_RESULTS: usize = 256;

/// A filter's variables, from `--arg`.
type Variables<'a> = [(&'a str, &'a str)];

/// The output for this input; `None` where it cannot be determined. `always_raw` is true for programs that print texts without quotes.
pub(super) fn printed(input: Option<&str>, args: &[&str], always_raw: bool) -> Option<String> {
    let (mut raw, mut no_input, mut filter) = (always_raw, false, None);
    let mut variables = Vec::new();
    let mut words = args.iter();
    while let Some(arg) = words.next() {
        match *arg {
            "--raw-output" => raw = true,
            "--null-input" => no_input = true,
            "--arg" => variables.push((*words.next()?, *words.next()?)),
            "--compact-output" | "--exit-status" | "--monochrome-output" | "--sort-keys" => {}
            _ if arg.starts_with("--") => return None,
            _ if arg.len() > 1 && arg.starts_with('-') => {
                if arg.contains(|c: char| !"-rncMSe".contains(c)) {
                    return None;
                }
                raw |= arg.contains('r');
                no_input |= arg.contains('n');
            }
            _ if filter.is_none() => filter = Some(*arg),
            _ => return None,
        }
    }
    let filter = filter.filter(|filter| is_known(filter) && filter.len() <= LONGEST)?;
    let lines = filter.lines().filter(|line| !line.trim_start().starts_with('#'));
    let filter = &lines.collect::<Vec<_>>().join("\n");
    let inputs = if no_input { vec![Value::Plain(false)] } else { values(input?)? };
    let mut out = String::new();
    for value in &inputs {
        for result in run(filter, value, &variables, 0)? {
            let text = result.as_str()?;
            if raw {
                out.push_str(text);
            } else if text.contains(['"', '\\', '\n']) {
                return None;
            } else {
                out.extend(["\"", text, "\""]);
            }
            out.push('\n');
            if out.len() > LONGEST {
                return None;
            }
        }
    }
    Some(out)
}

/// The values of a text: one, or one in each line.
fn values(text: &str) -> Option<Vec<Value>> {
    let one = |text: &str| serde_saphyr::from_str::<Value>(text).ok();
    let text = Some(text).filter(|text| is_known(text) && text.len() <= LONGEST)?;
    one(text).map(|value| vec![value]).or_else(|| text.lines().map(one).collect())
}

/// The results of a filter for a value.
fn run(filter: &str, input: &Value, variables: &Variables<'_>, depth: usize) -> Option<Vec<Value>> {
    if depth > DEEPEST {
        return None;
    }
    let mut inputs = vec![input.clone()];
    for stage in split(filter, '|') {
        let mut results = Vec::new();
        for input in &inputs {
            for part in split(stage, ',') {
                results.extend(sum(part, input, variables, depth)?);
            }
        }
        inputs = Some(results).filter(|results| results.len() <= MOST_RESULTS)?;
    }
    Some(inputs)
}

/// The results of a term, or the text of several terms with `+` between them.
fn sum(text: &str, input: &Value, variables: &Variables<'_>, depth: usize) -> Option<Vec<Value>> {
    let terms = split(text, '+');
    if let [only] = terms.as_slice() {
        return term(only.trim(), input, variables, depth);
    }
    let mut joined = String::new();
    for one in terms {
        let results = term(one.trim(), input, variables, depth)?;
        let [Value::Text(text)] = results.as_slice() else { return None };
        joined.push_str(text);
    }
    Some(vec![Value::Text(joined)])
}

fn term(text: &str, input: &Value, variables: &Variables<'_>, depth: usize) -> Option<Vec<Value>> {
    let inner = |filter: &str, input: &Value| run(filter, input, variables, depth + 1);
    let argument = |name: &str| text.strip_prefix(name)?.trim_start().strip_prefix('(')?.strip_suffix(')');
    if let Some(name) = text.strip_prefix('$') {
        let value = variables.iter().rev().find(|(known, _)| *known == name)?.1;
        return Some(vec![Value::Text(value.to_owned())]);
    }
    if let Some(rest) = text.strip_prefix("@text") {
        return term(rest.trim(), input, variables, depth);
    }
    let is_quoted = text.starts_with("@sh");
    let text = text.strip_prefix("@sh").map_or(text, str::trim);
    if let Some(body) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return Some(vec![Value::Text(literal(body, is_quoted, &|filter| inner(filter, input))?)]);
    }
    if is_quoted {
        return None;
    }
    if let Some(list) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Some(vec![Value::List(inner(list, input)?)]);
    }
    if let Some(filter) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return inner(filter, input);
    }
    let changed: Option<fn(&str) -> Option<String>> = match text {
        "ascii_downcase" => Some(|text| Some(text.to_ascii_lowercase())),
        "ascii_upcase" => Some(|text| Some(text.to_ascii_uppercase())),
        "@base64d" => Some(super::filters::decode_base64),
        _ => None,
    };
    if let Some(changed) = changed {
        return Some(vec![Value::Text(changed(input.as_str()?)?)]);
    }
    if let Some(separator) = argument("split") {
        let separator = inner(separator, input)?;
        let [Value::Text(separator)] = separator.as_slice() else { return None };
        let parts = input.as_str()?.split(separator.as_str());
        return Some(vec![Value::List(parts.map(|part| Value::Text(part.to_owned())).collect())]);
    }
    if let Some(separator) = argument("join") {
        let separator = inner(separator, input)?;
        let [Value::Text(separator)] = separator.as_slice() else { return None };
        let texts: Vec<&str> = input.as_list()?.iter().map(Value::as_str).collect::<Option<_>>()?;
        return Some(vec![Value::Text(texts.join(separator))]);
    }
    if let Some(filter) = argument("map") {
        let results = input.as_list()?.iter().map(|item| inner(filter, item)).collect::<Option<Vec<_>>>()?;
        return Some(vec![Value::List(results.concat())]);
    }
    if let Some(condition) = argument("select") {
        let (sign, sides) =
            ["==", "!="].iter().find_map(|sign| Some((*sign, condition.split_once(sign)?)))?;
        let (left, right) = (inner(sides.0, input)?, inner(sides.1, input)?);
        let ([Value::Text(left)], [Value::Text(right)]) = (left.as_slice(), right.as_slice()) else {
            return None;
        };
        let is_chosen = (left == right) == (sign == "==");
        return Some(if is_chosen { vec![input.clone()] } else { vec![] });
    }
    path(text, input)
}

/// The results of `.a.b`, `.a[0]`, `.[]`, `.["a"]`.
fn path(text: &str, input: &Value) -> Option<Vec<Value>> {
    let mut results = vec![input.clone()];
    let mut rest = text.strip_prefix('.')?;
    if rest.is_empty() {
        return Some(results);
    }
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        rest = rest.strip_prefix('?').unwrap_or(rest);
        if let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            rest = after;
            results = match (inside.trim(), inside.trim().parse::<usize>()) {
                ("", _) => results.iter().map(items).collect::<Option<Vec<_>>>()?.concat(),
                (_, Ok(at)) => {
                    results.iter().map(|one| one.as_list()?.get(at).cloned()).collect::<Option<_>>()?
                }
                (key, Err(_)) => {
                    let key = key.strip_prefix('"')?.strip_suffix('"')?;
                    results.iter().map(|one| one.get(key).cloned()).collect::<Option<_>>()?
                }
            };
            continue;
        }
        if rest.is_empty() {
            break;
        }
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (key, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(end),
        };
        if key.is_empty() {
            return None;
        }
        results = results.iter().map(|one| one.get(key).cloned()).collect::<Option<_>>()?;
        rest = after;
    }
    Some(results)
}

/// The items of a list or the values of a map.
fn items(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::List(items) => Some(items.clone()),
        Value::Map(map) => Some(map.iter().map(|(_, value)| value.clone()).collect()),
        _ => None,
    }
}

/// A text in quotes with the results of `\(…)`, which `@sh` quotes.
fn literal(body: &str, is_quoted: bool, filled: &dyn Fn(&str) -> Option<Vec<Value>>) -> Option<String> {
    let mut out = String::new();
    let mut rest = body;
    while let Some((before, after)) = rest.split_once('\\') {
        // The text must not end within the term.
        if before.contains('"') {
            return None;
        }
        out.push_str(before);
        let escaped = after.chars().next()?;
        rest = after.get(escaped.len_utf8()..)?;
        match escaped {
            '(' => {
                let inside = split(rest, ')').into_iter().next()?;
                let results = filled(inside)?;
                let [Value::Text(text)] = results.as_slice() else { return None };
                out.push_str(&if is_quoted {
                    format!("'{}'", text.replace('\'', "'\\''"))
                } else {
                    text.clone()
                });
                rest = rest.get(inside.len() + 1..)?;
            }
            'n' => out.push('\n'),
            't' => out.push('\t'),
            '"' | '\\' | '/' => out.push(escaped),
            _ => return None,
        }
    }
    out.push_str(rest);
    (!rest.contains('"')).then_some(out)
}

/// The parts of a text between separators outside of quotes and brackets.
pub(super) fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut open: Vec<char> = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let in_text = open.last() == Some(&'"');
        match c {
            _ if c == separator && open.is_empty() => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + c.len_utf8();
            }
            '\\' if in_text => {
                if let Some((_, '(')) = chars.next() {
                    open.push('(');
                }
            }
            '"' if in_text => drop(open.pop()),
            '"' => open.push('"'),
            '(' | '[' | '{' if !in_text => open.push(c),
            ')' | ']' | '}' if !in_text => drop(open.pop()),
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}
