//! What the options of a command say about its effect.

use super::proof::Proof;
use super::reason::Why;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{Item, Name, Scanner};
use opsctl_reader::catalogue::program::{EffectTerms, Form, Options};
use opsctl_reader::shell::glob;
use opsctl_reader::terms::effect::Effect;

/// The first option whose value may run or write something, in any form of the program.
pub fn doubtful_option(usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Option<String> {
    Scanner::new(texts, usage.rest, &usage.value()).find_map(|item| match item {
        Item::Option(name, at) => {
            let text = at.and_then(|at| at.of(texts));
            is_doubtful(name, text, terms).then(|| written(name))
        }
        _ => None,
    })
}

/// What the program's own terms say of the options before the verb, where these are not harmless.
pub fn before_verb(usage: &Usage, texts: &[&str]) -> Option<Proof> {
    let terms = usage.program.form.effect.filter(|_| usage.rest > usage.start)?;
    let value = usage.program.value.unwrap_or_default();
    let until = usage.verb.first().copied().unwrap_or(usage.rest);
    let before = texts.get(..until).unwrap_or_default();
    let flags = terms.flags.unwrap_or_default();
    Scanner::new(before, usage.start, &value).with_flags(&flags).find_map(|item| {
        let Item::Option(name, at) = item else { return None };
        let text = at.and_then(|at| at.of(texts));
        let listed = |flags: &Options| {
            [flags, &usage.program.form.quiet, &value, &usage.program.host]
                .iter()
                .any(|list| name.is_any(list))
                && !only_reads_file(&usage.program.form, name)
        };
        if name.is_any(&terms.changes_with) {
            Some((Effect::Changes, Why::Option(written(name))))
        } else if is_doubtful(name, text, &terms) {
            Some((Effect::Unknown, Why::Option(written(name))))
        } else {
            (!terms.flags.is_none_or(|flags| listed(&flags)))
                .then(|| (Effect::Unknown, Why::UnknownOption(written(name))))
        }
    })
}

/// `PROGRAM --version`: a program that the catalogue does not know is asked about itself, and nothing else.
pub fn asks_about_itself(texts: &[&str]) -> bool {
    matches!(texts, [_, "--version" | "--help" | "-V" | "version"])
}

/// `PROGRAM --help` or `PROGRAM VERB --help`: nothing is there whose value or argument it could be.
pub fn asks_for_help(usage: &Usage, texts: &[&str]) -> bool {
    if matches!(texts, [_, "--version" | "--help"]) {
        return true;
    }
    let form = usage.form;
    let words = usage.verb.len().max(1);
    texts.last() == Some(&"--help")
        && texts.len() == words + 2
        && !usage.program.verbs.is_empty()
        && form.runs.is_none()
        && form.effect.is_none_or(|terms| terms.check.is_none())
}

/// Whether all that is stated of an option is that its value is a file that is read.
pub fn only_reads_file(form: &Form, name: Name<'_>) -> bool {
    let is_role = form.options.iter().any(|(_, options)| name.is_any(options));
    !is_role
        && !name.is_any(&form.value.unwrap_or_default())
        && form.files.is_some_and(|files| name.is_any(&files.inputs) || name.is_any(&files.keys))
}

/// Whether an option has a value with which the effect is unknown.
pub fn is_doubtful(name: Name<'_>, value: Option<&str>, terms: &EffectTerms) -> bool {
    let mut of_option = terms.unknown_values.iter().filter(|(option, _)| name.is(option));
    of_option.any(|(_, values)| value.is_some_and(|value| fits(value, values)))
}

/// Whether an option may be the beginning of one with whose values the effect can be unknown.
pub fn may_be_doubtful(name: Name<'_>, terms: &EffectTerms) -> bool {
    terms.unknown_values.iter().any(|(option, _)| !name.is(option) && name.begins(&[*option]))
}

pub fn written(name: Name<'_>) -> String {
    match name {
        Name::Short(letter) => format!("-{letter}"),
        Name::Long(name) => format!("--{name}"),
    }
}

/// Whether a word matches one of the globs, and none of those that begin with `!`.
pub fn fits(word: &str, globs: &[&str]) -> bool {
    let (not, of): (Vec<&str>, Vec<&str>) = globs.iter().partition(|one| one.starts_with('!'));
    let excluded = not.iter().filter_map(|one| one.strip_prefix('!')).any(|one| glob(one, word));
    !excluded && (of.is_empty() || of.iter().any(|one| glob(one, word)))
}
