//! Expressions of `jq` and `yq` that print only values with harmless names.
//!
//! Of the stages of an expression the last one that picks a value decides: `.items[] | select(.kind == "Pod") | .metadata.name`.
//! Anything that is not known to pass on, or to pick, is taken for more.

use super::lines::is_harmless_name;
use crate::lists::{CARRYING_CALLS, COUNTING_CALLS, FORMATS, INERT_CALLS, NAMING_CALLS};

/// The characters of an expression outside of texts.
const PLAIN: &str = "._[](){}|, \n\t\"@:?/+-=!<>";

/// Whether an expression prints only values whose names are no secrets': `.[0].Config.Image`,
/// `"\(.metadata.name) \(.status.phase)"`.
pub fn picks_harmless(expression: &str) -> bool {
    let Some(code) = without_texts(expression) else { return false };
    if counts(&code) {
        return true;
    }
    let code = code.replace("[-", "[");
    let compared = ["==", "!=", "<=", ">="].iter().fold(code.clone(), |text, one| text.replace(one, " "));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    if code.contains("..") || compared.contains('=') || !code.chars().all(is_plain) {
        return false;
    }
    let stages = stages(&code);
    let named = stages.iter().rposition(|stage| !carries(stage));
    let Some((last, earlier)) = named.and_then(|at| stages.get(..=at)?.split_last()) else { return false };
    let feeds = |stage: &&str| {
        let calls = [&INERT_CALLS[..], &CARRYING_CALLS[..], &NAMING_CALLS[..]];
        let mut words = words(stage);
        !stage.contains('{') && words.all(|(_, word, _)| calls.iter().any(|list| list.contains(&word)))
    };
    earlier.iter().all(feeds) && is_picked(last, earlier.iter().any(|stage| stage.starts_with("to_entries")))
}

/// Whether an expression prints only a number, however it finds what it counts.
fn counts(code: &str) -> bool {
    let stages = stages(code);
    // The message of a sum that fails has what it was to add.
    let calculates = code.replace("//", " ").contains(['+', '-', '*', '/', '%', '#', ';']);
    // `$name` of `--arg name VALUE`.
    let is_given =
        |before: &str, word: &str| before.ends_with('$') && word != "ENV" && !word.starts_with('_');
    let counts =
        |(before, word, _): (&str, &str, &str)| COUNTING_CALLS.contains(&word) || is_given(before, word);
    stages.len() > 1
        && stages.last() == Some(&"length")
        && !calculates
        && stages.iter().all(|stage| words(stage).all(counts))
}

/// The expression without what stands in quotes, except for what is computed there: `"\(.a) b"` as `"(.a)"`. `None` if it does
/// not end.
fn without_texts(expression: &str) -> Option<String> {
    let mut code = String::new();
    // The open brackets of what is computed in a text.
    let mut computed: Vec<usize> = vec![];
    let mut in_text = false;
    let mut letters = expression.chars();
    while let Some(c) = letters.next() {
        if in_text {
            match c {
                '\\' if letters.next()? == '(' => {
                    computed.push(0);
                    code.push('(');
                    in_text = false;
                }
                '"' => {
                    code.push('"');
                    in_text = false;
                }
                _ => {}
            }
            continue;
        }
        // `["a.b"]` and `."a.b"` are paths.
        let is_index =
            c == '"' && code.ends_with('[') && !code.trim_end_matches('[').ends_with([' ', '(', ',', '|']);
        if c == '"' && (is_index || code.ends_with('.')) {
            let (name, after) = letters.as_str().split_once('"')?;
            letters = if is_index { after.strip_prefix(']')? } else { after }.chars();
            let end = code.trim_end_matches(['[', '.']).len();
            code.truncate(end);
            code.push('.');
            code.extend(name.chars().map(|c| if is_letter(c) || c.is_ascii_digit() { c } else { '_' }));
            continue;
        }
        code.push(c);
        match (c, computed.last_mut()) {
            ('"', _) => in_text = true,
            ('(', Some(open)) => *open += 1,
            (')', Some(0)) => {
                computed.pop();
                in_text = true;
            }
            (')', Some(open)) => *open -= 1,
            _ => {}
        }
    }
    (!in_text && computed.is_empty()).then_some(code)
}

/// The stages that `|` divides, outside of brackets.
fn stages(code: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let divided = code.split(|c| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        c == '|' && depth == 0
    });
    divided.map(str::trim).collect()
}

/// The words of a stage that are no part of a path, with what stands before and after each.
fn words(stage: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = stage.get(at..)?;
            let start = at + rest.find(is_name)?;
            let end = stage.get(start..)?.find(|c| !is_name(c)).map_or(stage.len(), |length| start + length);
            at = end;
            let (before, word, after) = (stage.get(..start)?, stage.get(start..end)?, stage.get(end..)?);
            if !before.ends_with('.') && !word.chars().all(|c| c.is_ascii_digit()) {
                return Some((before, word, after));
            }
        }
    })
}

/// Whether a stage passes on all that it gets: `.[]`, `sort`, `select(.a == "b")`, `@tsv`.
fn carries(stage: &str) -> bool {
    let selects = stage.starts_with("select(") && stages(stage.trim_end_matches(')')).len() == 1;
    let mut all = words(stage);
    let is_bare =
        !stage.contains(['{', '"']) && !stage.split('.').skip(1).any(|part| part.starts_with(is_letter));
    let carried = |(before, word, _): (&str, &str, &str)| {
        if before.ends_with('@') { FORMATS.contains(&word) } else { CARRYING_CALLS.contains(&word) }
    };
    selects && closes_last(stage) || (is_bare || stage.starts_with("join(")) && all.all(carried)
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Whether the first bracket is closed by the last character.
fn closes_last(stage: &str) -> bool {
    let mut depth = 0_usize;
    let end = stage.find(|c| {
        depth += usize::from(c == '(');
        depth = depth.saturating_sub(usize::from(c == ')'));
        c == ')' && depth == 0
    });
    end.is_some_and(|end| end + 1 == stage.len())
}

/// Whether a stage prints only values with harmless names, or names of values.
fn is_picked(stage: &str, has_entries: bool) -> bool {
    if NAMING_CALLS.contains(&stage.trim_end_matches(['[', ']', '?'])) {
        return true;
    }
    let mut calls = words(stage);
    let is_call = |(before, word, after): (&str, &str, &str)| {
        let before = before.trim_end();
        if before.ends_with('@') {
            FORMATS.contains(&word)
        } else if word == "to_entries" {
            is_of_entry(after)
        } else if before.ends_with('|') {
            CARRYING_CALLS.contains(&word) || NAMING_CALLS.contains(&word)
        } else {
            // The names of what an object gets.
            before.ends_with(['{', ',']) && (after.trim_start().starts_with(':') || is_harmless_name(word))
                || word == "map" && after.starts_with('(')
        }
    };
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_.[]?".contains(c);
    let mut paths = stage.split(|c| !is_path(c)).filter(|path| path.contains('.'));
    let is_plain = |path: &str| {
        let mut names = path.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let last = names.rfind(|name| name.starts_with(is_letter));
        let of_entry = path
            .strip_prefix("to_entries")
            .is_some_and(|rest| is_of_entry(rest) && path.rsplit('.').next() == Some("key"));
        // Labels of objects of Kubernetes are at most 63 letters and digits, by which others find them.
        let is_label = path.contains(".metadata.labels.");
        last.is_some_and(|name| {
            is_harmless_name(name) || has_entries && path == ".key" || of_entry || is_label
        })
    };
    stage.contains('.') && calls.all(is_call) && paths.all(is_plain)
}

/// Whether what follows `to_entries` is a part of one entry: `[0].key`, `[0].value.reason`.
fn is_of_entry(after: &str) -> bool {
    let parts = after.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    parts.is_some_and(|(index, rest)| {
        index.chars().all(|c| c.is_ascii_digit()) && (rest.starts_with(".value.") || rest.starts_with(".key"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_that_picks_a_value_decides() {
        for (harmless, expression) in [
            (true, ".[0].Config.Image"),
            (true, ".items[] | .metadata.name"),
            (true, ".items[] | [.metadata.name, .status.podIP] | @tsv"),
            (true, ".items[] | select(.status.phase != \"Running\") | .metadata.name"),
            (true, ".services | to_entries[] | \"\\(.key) \\(.value.image)\""),
            (true, ".data | keys[]"),
            (true, "[.items[].spec.nodeName] | sort | unique | join(\", \")"),
            (true, ".items[] | {name: .metadata.name, phase: .status.phase}"),
            (true, ".items | map(.metadata.name) | .[]"),
            (true, ".[0].Config.Env | length"),
            (true, ".[0].State.Health.Log[-1].Output"),
            (true, "[.items[].spec | .. | objects | select(.a == \"b\")] | length"),
            (true, "[.items[] | select(.spec.name == $name)] | length"),
            (false, "[.items[] | select(.spec.name == $ENV.TOKEN)] | length"),
            (false, "[.items[] | select(.spec.name == $name)] | .[]"),
            (false, "[.items[] | select(.spec.name == $name)] | length, $name"),
            (false, "[.items[].spec | ..] | length, ."),
            (false, "[.items[].spec | .. | debug] | length"),
            (false, "def length: .; . | length"),
            (true, ".state | to_entries[0].value.reason"),
            (true, "\"\\(.metadata.name) \\(.state | to_entries[0].key // \"x\")\""),
            (false, ".env | to_entries[0].value"),
            (false, ".env | to_entries[0], .name"),
            (false, ".env | to_entries[].value.password"),
            (true, ".items[] | \"\\(.metadata.labels.app) \\(.spec.nodeName)\""),
            (false, ".[0].Config.Labels.app"),
            (false, ".[0].Config.Env[]"),
            (false, ".Name, ."),
            (false, ".Name, .[]"),
            (false, ".. | .name"),
            (false, ".Env[], (.x | .Name)"),
            (false, ".items[] | select(.status.phase == \"Running\")"),
            (false, ".x | (select(.status))"),
            (false, ".Config.Env | map({name: .}) | .[0].name"),
            (false, ".Env | [first, .name?]"),
            (false, ".Config | to_entries | .[4].value"),
            (false, "[.Config.Image, .Config.Env] | .[1]"),
            (false, ".Config.Env | .[0:1]"),
            (true, ".data[\"tls.crt\"]"),
            (false, ".data[\"tls.key\"]"),
            (false, ".data[\"x\", \"tls.crt\"]"),
            (false, ".[\"Config\"][\"Env\"]"),
            (false, ".Config.\"Env\""),
            (false, ".Env[] | debug | .name"),
            (false, ".Env as $x | .name, $x"),
            (false, "env.NAME"),
            (false, ".ssh.key"),
            (false, ".Config.Env | join(\",\")"),
            (false, ".Name + (.Config.Env | join(\"\"))"),
            (false, "select(.name).Config.Env"),
            (false, "select(.a == \"b\") , .Config.Env"),
        ] {
            assert_eq!(picks_harmless(expression), harmless, "{expression}");
        }
    }
}
