//! The words with which a command prints a secret, as the description of its program states them.

use crate::paths::word_paths::without_variables;
use crate::rules::pattern::{self, Behind, Kind, Pattern};
use crate::selection::names::{picks_doubtful, picks_secret};
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::Program;
use opsctl_reader::shell::{Command, Script, Word};

/// In place of a command to use instead: it may run, because secrets in its output are replaced.
pub(super) const REDACTED: &str = "redacted";

/// The words with which a command shows a secret, and the command to use instead, if that is meant. A variable that is not
/// known may be empty.
pub(super) fn found(
    command: &Command,
    script: &Script,
    is_meant: fn(&str) -> bool,
) -> Option<(String, &'static str)> {
    let emptied = || {
        command.words.iter().any(|word| word.unknown.is_some()).then(|| {
            let words = command.words.iter().map(|word| Word::literal(without_variables(&word.text)));
            Command { words: words.filter(|word| !word.text.is_empty()).collect(), ..command.clone() }
        })
    };
    found_as_written(command, script, is_meant).or_else(|| found_as_written(&emptied()?, script, is_meant))
}

fn found_as_written(
    command: &Command,
    script: &Script,
    is_meant: fn(&str) -> bool,
) -> Option<(String, &'static str)> {
    let name = base_name(&command.words.first()?.text);
    let program = script.catalogue.find(name)?;
    if program.shows.is_empty() && !program.acts {
        return None;
    }
    let usage = script.catalogue.usage(&command.texts(), &|_| false)?;
    let next = usage.before.map(|_| (usage.program, usage.start));
    [(program, 1)]
        .into_iter()
        .chain(next)
        .find_map(|(program, start)| shown(command, program, start, &usage, script, is_meant))
}

/// The words with which a command shows a secret, and the command to use instead.
fn shown(
    command: &Command,
    program: &'static Program,
    start: usize,
    usage: &Usage,
    script: &Script,
    is_meant: fn(&str) -> bool,
) -> Option<(String, &'static str)> {
    let mut values = pattern::values(program, script.catalogue);
    values.push(usage.form.valued);
    let name = command.words.first().map(|word| base_name(&word.text)).unwrap_or_default();
    let behind = Behind { name, start, values: &values, vain: &[] };
    program.shows.iter().filter(|(instead, _)| is_meant(instead)).find_map(|(instead, patterns)| {
        let mut parsed = patterns.iter().filter_map(|pattern| Pattern::behind_program(pattern).ok());
        let found = parsed.find_map(|pattern| pattern.find_behind(command, behind, &is_kind))?;
        Some((found, *instead))
    })
}

/// Whether a word is of a kind, of those that the patterns of secrets mention.
fn is_kind(kind: Kind, word: &Word) -> bool {
    match kind {
        Kind::Secret => picks_secret(&word.text),
        Kind::Doubtful => picks_doubtful(&word.text),
        _ => false,
    }
}
