//! What the values of options are: text, a file that is written, or something that makes the program run or load more.
//!
//! The catalogue states it by the roles of options. Of all others the name decides.

use super::access::{Access, Touch};
use crate::lists::{
    CONFIGURING_WORDS, LOGGING_WORDS, NAMING_OPTIONS, NEGATING_WORDS, REVEALED_FILES, STARTING_WORDS,
    TEXT_OPTIONS, WRITING_WORDS,
};
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{At, Item, Name, Scanner};
use opsctl_reader::catalogue::program::{Form, Options, Place, Role};
use opsctl_reader::shell::{Command, glob};

/// In `changes_with` and as `flag`, all options that are not listed; in `unknown_values`, each option.
pub const ANY_OPTION: &str = "-*";

/// What the value of an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text, a number or a file that is only read; checked elsewhere where that matters.
    Text,
    /// A program, a command, code or a library.
    Starts,
    /// A file, a folder or an address whose content can make the program run something.
    Configures,
    /// A file or a folder that is written.
    Writes,
    /// A file or a folder that is written in a dry run, too.
    AlwaysWrites,
    /// A host, whose address may carry a command.
    Host,
    /// Not stated, and the name says nothing.
    Open,
}

/// The files that options write by their names alone: `kubectl get pods --cache-dir DIR`. The options of a wrapper end where
/// its command begins.
pub fn outputs(command: &Command, usage: &Usage, is_wrapper: bool, into: &mut Vec<Access>) {
    let texts = command.texts();
    if usage.has(&texts, &usage.files().keeps) {
        return;
    }
    if let Some(before) = before(usage) {
        suggested_outputs(command, &before, (texts.get(..before.rest).unwrap_or_default(), true), into);
    }
    suggested_outputs(command, usage, (&texts, is_wrapper), into);
}

/// What stands before the words of another program: `podman --root DIR compose ps`.
pub fn before(usage: &Usage) -> Option<Usage> {
    let (program, rest) = usage.before?;
    let form = &program.form;
    Some(Usage { program, form, before: None, start: 1, verb: vec![], starred: vec![], rest })
}

/// The options with a value that a form and its program list, and those without.
pub fn listed(usage: &Usage) -> [Vec<&'static str>; 2] {
    let own = [usage.value(), usage.program.value.unwrap_or_default()];
    let flags = [usage.form.flags, usage.program.form.flags];
    [own, flags].map(|lists| lists.iter().flat_map(|list| list.iter().copied()).collect())
}

fn suggested_outputs(
    command: &Command,
    usage: &Usage,
    (texts, up_to_word): (&[&str], bool),
    into: &mut Vec<Access>,
) {
    let is_always = |form: &Form| form.options.iter().any(|(role, _)| *role == Role::Written);
    if !texts.iter().any(|text| text.contains(['/', '~', '$']))
        && ![usage.form, &usage.program.form].into_iter().any(is_always)
    {
        return;
    }
    let [own, flags] = listed(usage);
    let mut items = Scanner::new(texts, usage.start, &own).with_flags(&flags).peekable();
    while let Some(item) = items.next() {
        match item {
            Item::Option(name, at) => {
                let kind = kind(usage, name);
                let is_output = match kind {
                    Kind::Writes | Kind::AlwaysWrites => !name.is_any(&usage.files().outputs),
                    Kind::Open => matches!(name, Name::Short('o' | 'O')) && !has_flags_only(usage.form),
                    // The program states it, and its verb states only what its words are.
                    Kind::Text => {
                        let is_text = usage.form.options.iter().any(|(_, options)| name.is_any(options));
                        let stated = usage.program.form.files.map(|files| files.outputs).unwrap_or_default();
                        matches!(name, Name::Long(_))
                            && name.is_any(&stated)
                            && !is_text
                            && !name.is_any(&usage.files().outputs)
                    }
                    _ => false,
                };
                let is_listed = name.is_any(&own) || name.is_any(&flags);
                // The value of an option that is not listed may be the next word.
                let next = || match items.peek() {
                    Some(Item::Positional(index)) if !is_listed => Some(At { index: *index, offset: 0 }),
                    _ => None,
                };
                let Some(value) = at.or_else(next).and_then(|at| command.value(at)) else { continue };
                if is_output && (kind == Kind::AlwaysWrites || is_path(&value.text)) {
                    into.push(Access::new(Touch::Write, &value));
                } else if !is_output && kind != Kind::Host && !names_only(name) && is_revealed(&value.text) {
                    into.push(Access::new(Touch::Read, &value));
                }
            }
            Item::Positional(index) if up_to_word && index >= usage.rest => return,
            Item::Positional(_) => {}
            Item::Dashes(_) => return,
        }
    }
}

/// Whether every program may print a line of this file in a message.
fn is_revealed(path: &str) -> bool {
    REVEALED_FILES.iter().any(|one| glob(one, path))
}

/// Whether an option only states a name, of which no file is read: `--exclude`, `-newer`.
fn names_only(name: Name<'_>) -> bool {
    let Name::Long(name) = name else { return false };
    NAMING_OPTIONS.iter().any(|one| glob(one, name))
}

/// Whether the value of an option has the form of a path.
pub fn is_path(value: &str) -> bool {
    let is_dotted = value.starts_with('.') && !value.starts_with("./") && !value.starts_with("../");
    !value.contains("://") && !is_dotted && (value.starts_with(['~', '$']) || value.contains('/'))
}

/// What the catalogue states of an option, or what its name suggests.
pub fn kind(usage: &Usage, name: Name<'_>) -> Kind {
    let forms = [usage.form, &usage.program.form];
    let with_role = |is: fn(Role) -> bool| {
        // `-o*` has its value in the same word.
        let is_one = |options: &Options| options.iter().any(|one| name.is(one.trim_end_matches('*')));
        forms.iter().any(|form| form.options.iter().any(|(role, options)| is(*role) && is_one(options)))
    };
    let abbreviates_role = |is: fn(Role) -> bool| {
        let of_role = forms.iter().flat_map(|form| form.options.iter()).filter(|(role, _)| is(*role));
        of_role.into_iter().any(|(_, options)| abbreviates(usage, name, options))
    };
    // A command follows, or with `=` stands in the same word.
    if abbreviates_role(|role| matches!(role, Role::Starts)) {
        return Kind::Starts;
    }
    if abbreviates_role(|role| role == Role::Configures) {
        return Kind::Configures;
    }
    if with_role(|role| matches!(role, Role::Starts | Role::RunsEach | Role::RunsOnce)) {
        return Kind::Starts;
    }
    if with_role(|role| role == Role::Configures) {
        return Kind::Configures;
    }
    // `psql -l --outp FILE`, too.
    if forms
        .iter()
        .flat_map(|form| form.options.iter())
        .any(|(role, options)| *role == Role::Written && (name.is_any(options) || name.begins(options)))
    {
        return Kind::AlwaysWrites;
    }
    if name.is_any(&usage.program.host) {
        return Kind::Host;
    }
    let has_word = |list: &[&str]| matches!(name, Name::Long(long) if long.split(['-', '_', '.']).any(|word| list.contains(&word)));
    let is_output = forms.iter().any(|form| form.files.is_some_and(|files| name.is_any(&files.outputs)));
    // A dry run writes its log, too.
    if has_word(&LOGGING_WORDS) && is_output {
        return Kind::Writes;
    }
    if with_role(|role| role != Role::Flag) {
        return Kind::Text;
    }
    let Name::Long(long) = name else {
        return if is_known_otherwise(usage, &forms, name) { Kind::Text } else { Kind::Open };
    };
    if long.split('-').next().is_some_and(|first| NEGATING_WORDS.contains(&first)) {
        return Kind::Text;
    }
    let suggests = match suggested(&long.to_ascii_lowercase()) {
        Kind::Open => suggested(&separated(long)),
        kind => kind,
    };
    // That a file is read says nothing of what its content does.
    if suggests == Kind::Configures && !is_output {
        return Kind::Configures;
    }
    let is_text = suggests == Kind::Open && TEXT_OPTIONS.contains(&long);
    if is_text || is_known_otherwise(usage, &forms, name) { Kind::Text } else { suggests }
}

/// Whether a long option that the program does not list is the beginning of one of these, which many programs take for it.
pub fn abbreviates(usage: &Usage, name: Name<'_>, options: &[&str]) -> bool {
    let forms = [usage.form, &usage.program.form];
    let is_listed = || {
        forms.iter().any(|form| {
            let lists = [form.valued, form.flags, form.quiet, form.value.unwrap_or_default()];
            lists.iter().any(|list| name.is_any(list))
        })
    };
    name.begins(options) && !is_listed()
}

/// Whether the next word is no value of an option that no key names: `flag: ["-*"]`.
pub fn has_flags_only(form: &Form) -> bool {
    form.options.iter().any(|(role, options)| *role == Role::Flag && options.contains(&ANY_OPTION))
}

/// Whether a form states what an option is, or the reader follows its value.
fn is_known_otherwise(usage: &Usage, forms: &[&Form], name: Name<'_>) -> bool {
    let is_command = |(place, _): &(Place, _)| matches!(place, Place::OptionValue(option) if name.is(option));
    forms.iter().any(|form| is_stated(form, name)) || usage.program.commands.iter().any(is_command)
}

/// A name whose words begin with capitals, with dashes: `outputFile` is `output-file`.
pub fn separated(name: &str) -> String {
    let mut separated = String::with_capacity(name.len() + 4);
    let mut is_small = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && is_small {
            separated.push('-');
        }
        is_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        separated.push(letter.to_ascii_lowercase());
    }
    separated
}

/// What the words in a name suggest.
pub fn suggested(name: &str) -> Kind {
    let words = || name.split(['-', '_', '.', ':']).chain([name]);
    let has = |list: &[&str]| words().any(|word| list.contains(&word));
    if has(&STARTING_WORDS) {
        Kind::Starts
    } else if has(&CONFIGURING_WORDS) {
        Kind::Configures
    } else if has(&WRITING_WORDS) {
        Kind::Writes
    } else {
        Kind::Open
    }
}

/// Whether a form states what an option is: a file that is written or read, a condition or a statement.
fn is_stated(form: &Form, name: Name<'_>) -> bool {
    let files = form.files.map(|files| [files.outputs, files.inputs, files.keys]);
    let terms =
        form.effect.map(|terms| [terms.flags.unwrap_or_default(), terms.reads_with, terms.statements]);
    files.iter().chain(&terms).flatten().any(|options| name.is_any(options))
        || name.is_any(&form.quiet)
        || form.runs.is_some_and(|runs| runs.takes_script(name))
}
