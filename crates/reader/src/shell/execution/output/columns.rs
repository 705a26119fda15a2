//! What programs print that put the lines of several files side by side or compare them, and what `m4` prints.

use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::state::Shell;
use crate::shell::text::is_known;

/// Maximum number of files and of lines of each.
const MOST: usize = 256;

/// The output for files whose content is known; `None` where it cannot be determined.
pub(super) fn of(
    evaluator: &Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    program: &str,
) -> Option<String> {
    let (mut letters, mut separator, mut texts) = (String::new(), None, Vec::new());
    let mut words = invocation.args().map(|field| field.text.as_str());
    while let Some(word) = words.next() {
        match word.strip_prefix('-').filter(|own| !own.is_empty()) {
            None if word == "-" => texts.push(None),
            None => texts.push(Some(evaluator.file_content(shell, word)?)),
            Some(own) => match own.find(['d', 't']) {
                Some(at) => {
                    letters.push_str(own.get(..at)?);
                    let attached = own.get(at + 1..).filter(|value| !value.is_empty());
                    separator =
                        Some(attached.or_else(|| words.next())?.replace("\\n", "\n").replace("\\t", "\t"));
                }
                None => letters.push_str(own),
            },
        }
    }
    if texts.is_empty() {
        texts.push(None);
    }
    let input = invocation.stdin.as_deref().unwrap_or_default();
    let known = |text: &Option<String>| is_known(text.as_deref().unwrap_or(input));
    let is_long = |text: &Option<String>| text.as_deref().unwrap_or(input).lines().nth(MOST).is_some();
    if texts.len() > MOST || !texts.iter().all(known) || texts.iter().any(is_long) {
        return None;
    }
    let columns: Vec<Vec<&str>> =
        texts.iter().map(|text| text.as_deref().unwrap_or(input).lines().take(MOST).collect()).collect();
    match (program, columns.as_slice()) {
        ("paste", _) => paste(&columns, &texts, separator.as_deref().unwrap_or("\t"), &letters),
        ("join", [first, second]) if letters.is_empty() => {
            let split = separator.as_deref();
            let parts = |line: &'_ str| -> Vec<String> {
                match split {
                    Some(split) => line.split(split).map(str::to_owned).collect(),
                    None => line.split_whitespace().map(str::to_owned).collect(),
                }
            };
            let mut out = String::new();
            for left in first.iter().map(|line| parts(line)) {
                let rows =
                    second.iter().map(|line| parts(line)).filter(|right| right.first() == left.first());
                for right in rows {
                    let row: Vec<String> = left.iter().chain(right.iter().skip(1)).cloned().collect();
                    out.push_str(&(row.join(split.unwrap_or(" ")) + "\n"));
                }
            }
            Some(out)
        }
        ("comm", [first, second]) => {
            let column = match letters.as_str() {
                "12" => (first, second, true),
                "23" => (first, second, false),
                "13" => (second, first, false),
                _ => return None,
            };
            let lines = column.0.iter().filter(|line| column.1.contains(line) == column.2);
            Some(lines.flat_map(|line| [*line, "\n"]).collect())
        }
        _ => None,
    }
}

fn paste(columns: &[Vec<&str>], texts: &[Option<String>], separators: &str, letters: &str) -> Option<String> {
    let separators: Vec<char> = separators.chars().collect();
    let joined = |line: &[&str]| {
        let mut out = String::new();
        for (at, part) in line.iter().enumerate() {
            if at > 0 && !separators.is_empty() {
                out.extend(separators.get((at - 1) % separators.len()).filter(|one| **one != '\0'));
            }
            out.push_str(part);
        }
        out + "\n"
    };
    match letters {
        "s" => Some(columns.iter().map(|lines| joined(lines)).collect()),
        // Standard input gives one line to each of several dashes.
        "" if texts.len() > 1 && texts.iter().all(Option::is_none) => {
            Some(columns.first()?.chunks(texts.len()).map(joined).collect())
        }
        "" => {
            let most = columns.iter().map(Vec::len).max()?;
            let line = |at: usize| {
                columns.iter().map(|lines| lines.get(at).copied().unwrap_or_default()).collect::<Vec<_>>()
            };
            Some((0..most).map(|at| joined(&line(at))).collect())
        }
        _ => None,
    }
}

/// The output of `m4` with macros of options (`-DNAME=VALUE`) and of the text, which are plain texts.
pub(super) fn expanded(input: Option<&str>, args: &[&str]) -> Option<String> {
    let mut text = input.filter(|text| is_known(text))?.to_owned();
    let mut macros: Vec<(String, String)> = Vec::new();
    for arg in args.iter().filter(|arg| **arg != "-") {
        let (name, value) = arg.strip_prefix("-D")?.split_once('=')?;
        macros.push((name.to_owned(), value.to_owned()));
    }
    while let Some((before, rest)) = text.split_once("define(`") {
        let (name, rest) = rest.split_once("',")?;
        let (value, rest) = rest.trim_start().strip_prefix('`')?.split_once("')")?;
        macros.push((name.to_owned(), value.to_owned()));
        text = format!("{before}{}", rest.strip_prefix("dnl").unwrap_or(rest));
    }
    let is_plain = |text: &str| !text.contains(['`', '(']);
    if macros.len() > MOST || !is_plain(&text) || !macros.iter().all(|(_, value)| is_plain(value)) {
        return None;
    }
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split_inclusive(|c| !inside(c)).map(|part| {
        let word = part.trim_end_matches(|c| !inside(c));
        let value = macros.iter().rev().find(|(name, _)| name == word).map(|(_, value)| value.as_str());
        value.map_or_else(
            || part.to_owned(),
            |value| format!("{value}{}", part.get(word.len()..).unwrap_or_default()),
        )
    });
    Some(words.collect())
}
