//! What the values of options are: text, a file that is written, or something that makes the program run or load more.
//!
//! The catalogue states it by the roles of options. Of all others the name decides, and where that says nothing, the value:
//! a file that the session can write is not one that a program may load.

use crate::effects::options::{ANY_OPTION, written};
use crate::effects::proof::Proof;
use crate::effects::reason::Why;
use crate::lists::{
    CARRYING_VALUES, CONFIGURING_WORDS, HARMLESS_VALUES, LOGGING_WORDS, NEGATING_WORDS, STARTING_WORDS,
    WRITING_WORDS,
};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{Item, Name, Scanner};
use opsctl_reader::catalogue::program::{Form, HostWords, Options, Place, Role, Words};
use opsctl_reader::shell::{Command, Word, glob};
use opsctl_reader::terms::effect::Effect;

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

/// Questions about a file.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// Whether it may be written without changing anything that matters.
    pub harmless: &'a dyn Fn(&str) -> bool,
    /// Whether it is scratch.
    pub scratch: &'a dyn Fn(&str) -> bool,
    /// Whether the session may have written it.
    pub written: &'a dyn Fn(&str) -> bool,
}

/// Why a command that reads otherwise may run, load or write something by the value of an option.
///
/// `places` answers questions about files.
pub fn objection(command: &Command, runs: bool, catalogue: Catalogue, places: Places<'_>) -> Option<Proof> {
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let usage = catalogue.usage(&texts, &|_| false)?;
    // The shell of the host reads the path: `scp 'nas:$(…)' /tmp`.
    let is_script =
        |(_, path): (&str, &str)| path.contains("$(") || path.contains([';', '|', '&', '`', '<', '>', '\n']);
    let is_read_there =
        |word: &Word| word.known().and_then(|text| text.split_once(':')).is_some_and(is_script);
    if usage.program.host_words == Some(HostWords::Remote) && command.words.iter().skip(1).any(is_read_there)
    {
        return Some((Effect::Unknown, Why::Word));
    }
    // What stands before the words of another program: `k3s --data-dir DIR kubectl get pods`.
    let outer = usage.before.and_then(|(program, end)| {
        let form = &program.form;
        let before =
            Usage { program, form, before: None, start: 1, verb: vec![], starred: vec![], rest: end };
        values(places, &before, texts.get(..end)?, true)
    });
    outer.or_else(|| {
        // The words of a command that it runs are judged with that.
        values(places, &usage, &texts, runs || usage.form.runs.is_some())
    })
}

/// The objection to the options of a program up to its first word, or to all of its words.
fn values(
    Places { harmless: is_harmless, scratch: is_scratch, written: is_written }: Places<'_>,
    usage: &Usage,
    texts: &[&str],
    up_to_word: bool,
) -> Option<Proof> {
    let own: Vec<&str> = [usage.value(), usage.program.value.unwrap_or_default()]
        .iter()
        .flat_map(|list| list.iter().copied())
        .collect();
    let flags: Vec<&str> =
        [usage.form.flags, usage.program.form.flags].iter().flat_map(|list| list.iter().copied()).collect();
    // `@FILE` is the content of a file.
    let is_own = |path: &str| match path.strip_prefix('@') {
        Some(file) => is_written(file),
        None => is_path(path) && is_written(path),
    };
    // The next word may be no value at all.
    let may_be_own = |path: &str| is_path(path) && is_scratch(path);
    let takes_files = usage.files().reads != Words::None || usage.files().writes != Words::None;
    let next_is_word = takes_files || has_flags_only(usage.form) || has_flags_only(&usage.program.form);
    let unknown = |name| Some((Effect::Unknown, Why::OptionValue(written(name))));
    let mut open: Option<Name<'_>> = None;
    for item in Scanner::new(texts, usage.start, &own).with_flags(&flags) {
        match item {
            Item::Option(name, at) => {
                open = None;
                let text = at.and_then(|at| at.of(texts));
                let is_listed = name.is_any(&own) || name.is_any(&flags);
                // The value of an option that is not listed may be the next word.
                let next = || {
                    let attached = texts.iter().find_map(|text| attached(text, name));
                    let attached = attached.filter(|value| value.starts_with(['/', '~', '.']));
                    let index = || texts.iter().position(|text| is_named(text, name));
                    let next = || texts.get(index()? + 1).copied().filter(|next| !next.starts_with('-'));
                    attached.or_else(next)
                };
                let value = text.or_else(|| if is_listed { None } else { next() });
                let kind = kind(usage, name);
                let file = value.filter(|value| *value != "/dev/null");
                let is_path_of_own = match kind {
                    // `cd /tmp/x; rclone --config c`, too.
                    Kind::Configures => file.is_some_and(|file| !file.contains("://") && is_written(file)),
                    _ if text.is_none() => file.is_some_and(may_be_own),
                    _ => file.is_some_and(is_own),
                };
                if !is_path_of_own && value.is_some_and(|value| HARMLESS_VALUES.contains(&value)) {
                    continue;
                }
                let carries = text.is_some_and(carries);
                let is_output = kind == Kind::AlwaysWrites || name.is_any(&usage.files().outputs);
                // `-o '|command'`; `---FILE` loads settings.
                if is_output && value.is_some_and(|value| value.trim_start().starts_with('|'))
                    || matches!(name, Name::Long(long) if long.starts_with('-'))
                {
                    return unknown(name);
                }
                match kind {
                    // `fd -xPROGRAM`.
                    Kind::Starts if value.is_some() || !is_listed || in_word(texts, name) => return unknown(name),
                    Kind::Configures
                        // `--config KEY=VALUE` is a setting.
                        if value.is_some_and(|value| is_path_of_own || ["://", "="].iter().any(|part| value.contains(part)))
                            || carries =>
                    {
                        return unknown(name);
                    }
                    Kind::Writes
                        if value
                            .is_some_and(|value| is_path(value) && !is_path_of_own && !is_harmless(value)) =>
                    {
                        return Some((Effect::Changes, Why::Writes(value.unwrap_or_default().to_owned())));
                    }
                    Kind::AlwaysWrites if value.is_some_and(|value| !is_harmless(value)) => {
                        return Some((Effect::Changes, Why::Writes(value.unwrap_or_default().to_owned())));
                    }
                    Kind::Text | Kind::Writes | Kind::AlwaysWrites => {}
                    _ if carries => return unknown(name),
                    Kind::Open if text.is_some_and(is_own) => return unknown(name),
                    Kind::Open if !is_listed && !next_is_word => open = Some(name),
                    _ => {}
                }
            }
            Item::Positional(index) => {
                let text = texts.get(index).copied().unwrap_or_default();
                if let Some(name) = open.take().filter(|_| may_be_own(text)) {
                    return unknown(name);
                }
                if up_to_word && index >= usage.rest {
                    break;
                }
                if carries(text) {
                    return Some((Effect::Unknown, Why::Word));
                }
            }
            Item::Dashes(_) => break,
        }
    }
    None
}

fn is_path(value: &str) -> bool {
    let is_dotted = value.starts_with('.') && !value.starts_with("./") && !value.starts_with("../");
    !value.contains("://") && !is_dotted && (value.starts_with(['~', '$']) || value.contains('/'))
}

pub fn carries(value: &str) -> bool {
    CARRYING_VALUES.iter().any(|one| glob(one, value))
}

/// Whether a word is this option, without a value in it.
fn is_named(word: &str, name: Name<'_>) -> bool {
    match name {
        Name::Long(_) => name.is(word),
        Name::Short(letter) => word.starts_with('-') && !word.starts_with("--") && word.ends_with(letter),
    }
}

/// What stands behind a short option in the same word: `-c/tmp/x`.
fn attached<'t>(word: &'t str, name: Name<'_>) -> Option<&'t str> {
    let Name::Short(letter) = name else { return None };
    word.strip_prefix('-')?.strip_prefix(letter).filter(|value| !value.is_empty())
}

fn in_word(texts: &[&str], name: Name<'_>) -> bool {
    texts.iter().any(|text| attached(text, name).is_some())
}

/// What the catalogue states of an option, or what its name suggests.
fn kind(usage: &Usage, name: Name<'_>) -> Kind {
    let forms = [usage.form, &usage.program.form];
    let with_role = |is: fn(Role) -> bool| {
        // `-o*` has its value in the same word.
        let is_one = |options: &Options| options.iter().any(|one| name.is(one.trim_end_matches('*')));
        forms.iter().any(|form| form.options.iter().any(|(role, options)| is(*role) && is_one(options)))
    };
    // A command follows, or with `=` stands in the same word.
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
    let suggests = suggested(&long.to_ascii_lowercase());
    // That a file is read says nothing of what its content does.
    if suggests == Kind::Configures && !is_output {
        return Kind::Configures;
    }
    if is_known_otherwise(usage, &forms, name) { Kind::Text } else { suggests }
}

/// Whether the next word is no value of an option that no key names: `flag: ["-*"]`.
fn has_flags_only(form: &Form) -> bool {
    form.options.iter().any(|(role, options)| *role == Role::Flag && options.contains(&ANY_OPTION))
}

/// Whether a form states what an option is, or the reader follows its value.
fn is_known_otherwise(usage: &Usage, forms: &[&Form], name: Name<'_>) -> bool {
    let is_command = |(place, _): &(Place, _)| matches!(place, Place::OptionValue(option) if name.is(option));
    forms.iter().any(|form| is_stated(form, name)) || usage.program.commands.iter().any(is_command)
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
        || form.runs.is_some_and(|runs| name.is_any(&runs.script))
}
