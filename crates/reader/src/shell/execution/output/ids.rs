//! Programs that print nothing but numbers and ids, as their words state.

use super::jq;
use crate::languages::names::{Names, shell as names};
use crate::shell::text::is_known;

/// Whether `jq` with these words prints nothing but numbers.
pub(super) fn counts(args: &[&str]) -> bool {
    jq_code(args).is_some_and(|code| {
        // With these, the last step is that of a part of the code, or does something else.
        let mut words = code.split(|c: char| !c.is_ascii_alphanumeric());
        let binds = words.any(|word| names::BINDING.has(word));
        let steps = jq::split(code, '|');
        !binds && steps.last().is_some_and(|step| names::COUNTING_STEPS.has(step.trim()))
    })
}

/// Whether a program prints fields of the JSON of another one that hold numbers and ids: `restic snapshots --json | jq -r '.[0].id'`.
/// `before` shows the commands before it in a pipeline.
pub(super) fn are_picked(program: &str, texts: &[&str], before: &str) -> bool {
    let args = texts.get(1..).unwrap_or_default();
    if program == "jq" {
        // It reads a file instead of the pipe.
        let has_file = args.iter().filter(|arg| !arg.starts_with('-')).count() > 1;
        let is_one = !has_file && !before.contains([';', '&', '|', '<', '$', '`']);
        let remote = before.strip_prefix("ssh ").and_then(|rest| rest.split_once(' '));
        let before = remote.filter(|(host, _)| !host.starts_with('-')).map_or(before, |(_, run)| run);
        let fields = names::ID_FIELDS.get_prefix(before).filter(|_| is_one);
        return fields.zip(jq_code(args)).is_some_and(|(fields, code)| picks(code, fields));
    }
    // A client runs such code itself.
    let code = texts.windows(2).find_map(|pair| match pair {
        ["-q" | "--jq", code] => Some(*code),
        _ => None,
    });
    let forms = args.iter().filter(|arg| {
        let letters = arg.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        letters.contains(['q', 't']) || arg.starts_with("--jq") || arg.starts_with("--t")
    });
    let is_one = program == "gh" && forms.count() == 1;
    let fields = names::ID_FIELDS.get_prefix(&texts.join(" ")).filter(|_| is_one);
    fields.zip(code).is_some_and(|(fields, code)| picks(code, fields))
}

/// The code of `jq`, where it gets no more than files beside it.
fn jq_code<'a>(args: &[&'a str]) -> Option<&'a str> {
    let is_listed = |arg: &&str| !arg.starts_with('-') || names::JQ_OPTIONS.has(arg);
    let code = args.iter().copied().find(|arg| !arg.starts_with('-'))?;
    // A comment hides the last step.
    (args.iter().all(is_listed) && is_known(code) && !code.contains('#')).then_some(code)
}

/// Whether code of `jq` only picks one of these fields of each value.
fn picks(code: &str, fields: Names) -> bool {
    let is_path = |step: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._[]:-".contains(c);
        step.starts_with('.') && step.chars().all(is_part)
    };
    let is_step = |step: &&str| {
        let key = step.strip_prefix("sort_by(").and_then(|rest| rest.strip_suffix(')'));
        is_path(key.unwrap_or(step)) || names::PICKING_STEPS.has(step)
    };
    let steps: Vec<&str> = code.split('|').map(str::trim).collect();
    let last = steps.last().copied().filter(|step| is_path(step)).unwrap_or_default();
    let field = last.rsplit('.').next().unwrap_or_default();
    fields.has(field) && steps.iter().all(is_step)
}

/// Whether `git` with these words prints nothing but ids of commits and objects, and times of commits.
pub(super) fn of_git(texts: &[&str]) -> bool {
    let mut words = texts.iter().copied().skip(1).peekable();
    while let Some(option) = words.next_if(|word| word.starts_with('-')) {
        if option == "-C" {
            words.next();
        } else if !names::ID_OPTIONS.has(option) {
            return false;
        }
    }
    let verb = words.next().unwrap_or_default();
    let words: Vec<&str> = words.take_while(|word| *word != "--").collect();
    let Some(listed) = names::ID_VERBS.get(verb) else { return false };
    let is_count = |word: &str| word.get(1..).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
    let is_listed = |word: &&str| {
        let is_one = |one: &str| one.strip_suffix('*').map_or(one == *word, |begin| word.starts_with(begin));
        !word.starts_with('-') || listed.iter().any(is_one) || is_count(word) && verb != "hash-object"
    };
    let has = |begin: &str| words.iter().any(|word| word.starts_with(begin));
    let states_form = || {
        let mut forms = words.iter().filter_map(|word| {
            let value = word.strip_prefix("--format=").or(word.strip_prefix("--pretty="))?;
            Some(value.trim_start_matches('t').trim_start_matches("format:"))
        });
        let is_id = |form: &str| form.split(' ').all(|one| names::ID_PLACEHOLDERS.has(one));
        let count = words.iter().filter(|word| word.starts_with("--format") || word.starts_with("--pretty"));
        count.count() == 1 && forms.next().is_some_and(is_id)
    };
    words.iter().all(is_listed)
        && match verb {
            "log" => states_form(),
            "rev-parse" if has("--verify") || has("--short=") || words.contains(&"--short") => {
                words.iter().all(|word| is_known(word))
            }
            // Without words it prints nothing; behind `--`, files.
            "rev-parse" => !texts.contains(&"--") && words.iter().all(|word| is_revision(word)),
            _ => true,
        }
}

/// Whether a word names a commit: `HEAD~2`, `origin/main`, `@{u}`.
fn is_revision(word: &str) -> bool {
    // It prints a word that it does not find.
    let (word, place) = word.split_once("@{").unwrap_or((word, "u}"));
    let place = place.strip_suffix('}').unwrap_or("-");
    let is_place = matches!(place, "u" | "upstream") || place.chars().all(|c| c.is_ascii_digit());
    let end = word.find(['~', '^']).unwrap_or(word.len());
    let (name, generation) = word.split_at(end);
    let is_below = || {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-".contains(c);
        names::REVISION_FOLDERS.begin(name) && name.chars().all(is_plain)
    };
    let is_named = names::REVISIONS.has(name) || is_below() || word.is_empty();
    is_named && is_place && generation.chars().all(|c| c.is_ascii_digit() || matches!(c, '~' | '^'))
}
