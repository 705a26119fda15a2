//! The commands that a script of `sed` runs: `e command`, `e`, and the flag `e` of `s`.

use crate::shell::evaluator::Evaluator;
use crate::shell::execution::invocation::Invocation;
use crate::shell::script::Construct;
use crate::shell::state::Shell;
use crate::shell::text::is_known;

/// Maximum number of commands of one script that are looked at.
const MOST_COMMANDS: usize = 65_536;

pub(crate) fn run(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) {
    let texts = invocation.texts();
    let mut scripts: Vec<String> = Vec::new();
    let mut words = texts.iter().skip(1);
    let mut first = None;
    while let Some(word) = words.next() {
        match *word {
            "-e" | "--expression" => scripts.extend(words.next().map(|script| (*script).to_owned())),
            "-f" | "--file" => {
                scripts.extend(words.next().and_then(|file| evaluator.file_content(shell, file)));
            }
            word if word.starts_with("--expression=") => {
                scripts.extend(word.split_once('=').map(|(_, script)| script.to_owned()));
            }
            word if word.starts_with("-e") => scripts.extend(word.get(2..).map(str::to_owned)),
            // A cluster that ends in `e`: `-ne script`.
            word if word.starts_with('-') && !word.starts_with("--") && word.ends_with('e') => {
                scripts.extend(words.next().map(|script| (*script).to_owned()));
            }
            word if word.starts_with('-') && word.len() > 1 => {}
            word => first = first.or(Some(word.to_owned())),
        }
    }
    if scripts.is_empty() {
        scripts.extend(first);
    }
    let input = invocation.stdin.as_deref().unwrap_or_default();
    let commands: Vec<String> = scripts.iter().flat_map(|script| commands(script, input)).collect();
    if commands.is_empty() {
        return;
    }
    let mut inner = shell.child().through("sed");
    inner.stdin = None;
    evaluator.inside(Construct::Embedded("sed".to_owned()), |this| {
        for command in commands {
            this.run_text(&mut inner.clone(), &command);
        }
    });
}

/// The commands that a script runs on this input.
fn commands(script: &str, input: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = script;
    for _ in 0..MOST_COMMANDS {
        rest = without_address(rest.trim_start_matches(|c: char| c.is_whitespace() || ";{}!".contains(c)));
        let Some(command) = rest.chars().next() else { break };
        let body = rest.get(command.len_utf8()..).unwrap_or_default();
        let line = body.find('\n').unwrap_or(body.len());
        match command {
            's' => {
                let Some((pattern, replacement, after)) = parts(body) else { break };
                let end = after.find([';', '\n', '}']).unwrap_or(after.len());
                let flags = after.get(..end).unwrap_or_default();
                if flags.contains('e') && !flags.contains('w') {
                    found.extend(substituted(pattern, replacement, input));
                }
                rest = after.get(end..).unwrap_or_default();
            }
            'y' => rest = parts(body).map_or("", |(_, _, after)| after),
            'e' => {
                let end = body.find('\n').unwrap_or(body.len());
                let written = body.get(..end).unwrap_or_default().trim();
                match written.trim_end_matches([';', '}']).trim() {
                    "" => found.extend(input.lines().map(str::to_owned)),
                    command => found.push(command.to_owned()),
                }
                rest = body.get(end..).unwrap_or_default();
            }
            // The rest of the line is text, a file or a label.
            'a' | 'i' | 'c' | 'r' | 'R' | 'w' | 'W' | '#' | ':' => {
                rest = body.get(line..).unwrap_or_default();
            }
            _ => rest = body,
        }
    }
    found
}

/// What the flag `e` runs: the lines of known input after the substitution, otherwise the replacement.
fn substituted(pattern: &str, replacement: &str, input: &str) -> Vec<String> {
    match pattern {
        ".*" | "^.*$" | "^.*" | ".*$" if !input.is_empty() => {
            return input.lines().map(|line| replacement.replace('&', line)).collect();
        }
        "^" if !input.is_empty() => {
            return input.lines().map(|line| format!("{replacement}{line}")).collect();
        }
        "$" if !input.is_empty() => {
            return input.lines().map(|line| format!("{line}{replacement}")).collect();
        }
        _ => {}
    }
    let is_literal = !pattern.is_empty() && !pattern.contains(['.', '*', '[', '^', '$', '\\']);
    let hit = input.lines().filter(|line| is_literal && is_known(line) && line.contains(pattern));
    let lines: Vec<String> =
        hit.map(|line| line.replacen(pattern, &replacement.replace('&', pattern), 1)).collect();
    match (lines.is_empty(), replacement.trim()) {
        (false, _) => lines,
        (true, "" | "&") => input.lines().map(str::to_owned).collect(),
        (true, replacement) => vec![replacement.replace("\\/", "/")],
    }
}

/// The pattern and the replacement of `s`, and the script after them.
fn parts(body: &str) -> Option<(&str, &str, &str)> {
    let mark = body.chars().next()?;
    let body = body.get(mark.len_utf8()..)?;
    let first = unescaped(body, mark)?;
    let rest = body.get(first + mark.len_utf8()..)?;
    let second = unescaped(rest, mark)?;
    Some((body.get(..first)?, rest.get(..second)?, rest.get(second + mark.len_utf8()..)?))
}

/// The position of the first `mark` without a backslash before it.
fn unescaped(text: &str, mark: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let was_escaped = escaped;
        escaped = c == '\\' && !was_escaped;
        (c == mark && !was_escaped).then_some(at)
    })
}

/// The script after the address of its first command: `1,3`, `$`, `/pattern/`.
fn without_address(script: &str) -> &str {
    let mut rest = script;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '0'..='9' | '$' | ',' | '+' | '~' | ' ' | '!' => rest.get(1..).unwrap_or_default(),
            '/' => {
                let body = rest.get(1..).unwrap_or_default();
                let after = unescaped(body, '/').map_or(body.len(), |at| at + 1);
                body.get(after..).unwrap_or_default().trim_start_matches(['I', 'M'])
            }
            _ => break,
        };
    }
    rest
}
