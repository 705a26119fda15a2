//! The commands that a script of `sed` runs: `e command`, `e`, and the flag `e` of `s`.

use crate::languages::names::sed;
use crate::languages::sed::{Run, edits};
use crate::languages::sources::Sources;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::script::Construct;
use crate::shell::text::is_known;

/// Maximum number of characters that are skipped in search of a command.
const MOST_SKIPPED: usize = 65_536;

pub(crate) fn run(evaluator: &mut Evaluator, started: &Started<'_>) {
    let Started { shell, invocation, usage, texts, .. } = *started;
    let sources = Sources::of(usage, texts, sed::CODE_OPTIONS.0, sed::FILE_OPTIONS.0, false).or_first_word();
    let files = sources.files.iter().filter_map(|at| at.of(texts));
    let files = files.filter_map(|file| evaluator.file_content(shell, file));
    let scripts = sources.scripts.iter().filter_map(|at| at.of(texts));
    let scripts: Vec<String> = scripts.map(str::to_owned).chain(files).collect();
    let input = invocation.stdin.as_deref().unwrap_or_default();
    let commands = commands(&scripts.join("\n"), input);
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

/// The commands that a script runs on this input. What is not understood is skipped.
fn commands(script: &str, input: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = script;
    for _ in 0..MOST_SKIPPED {
        let mut stopped = "";
        for edit in edits(rest) {
            match edit.map(|edit| edit.runs) {
                Ok(Some(Run::Text(text))) => match text.trim_end_matches([';', '}']).trim() {
                    "" => found.extend(input.lines().map(str::to_owned)),
                    command => found.push(command.to_owned()),
                },
                Ok(Some(Run::Substituted { pattern, replacement })) => {
                    found.extend(substituted(pattern, replacement, input));
                }
                Ok(None) => {}
                Err(text) => stopped = text,
            }
        }
        let mut chars = stopped.chars();
        match chars.next() {
            None | Some('s' | 'y') => break,
            Some(_) => rest = chars.as_str(),
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
