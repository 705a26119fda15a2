//! What the values of options make a program do. Where neither the catalogue nor the name of an option says it, the value
//! decides: a file that the session can write is not one that a program may load.

use crate::effects::options::written;
use crate::effects::proof::Proof;
use crate::effects::reason::Why;
use crate::files::values::{Kind, before, has_flags_only, is_path, kind, listed};
use crate::lists::{CARRYING_VALUES, HARMLESS_VALUES};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{Item, Name, Scanner};
use opsctl_reader::catalogue::program::{HostWords, Words};
use opsctl_reader::shell::{Command, Word, glob};
use opsctl_reader::terms::effect::Effect;

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
    let outer = before(&usage).and_then(|before| values(places, &before, texts.get(..before.rest)?, true));
    outer.or_else(|| {
        // The words of a command that it runs are judged with that.
        values(places, &usage, &texts, runs || usage.form.runs.is_some())
    })
}

/// Whether an option names the folder in which the command that a program runs starts.
fn is_folder_of_command(usage: &Usage, name: Name<'_>) -> bool {
    usage.form.runs.is_some_and(|runs| name.is_any(&runs.dir))
}

/// The objection to the options of a program up to its first word, or to all of its words.
fn values(
    Places { harmless: is_harmless, scratch: is_scratch, written: is_written }: Places<'_>,
    usage: &Usage,
    texts: &[&str],
    up_to_word: bool,
) -> Option<Proof> {
    let [own, flags] = listed(usage);
    // `@FILE` is the content of a file.
    // What a program is given as its input is the session's own, too.
    let is_input = |path: &str| {
        path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/")
    };
    let is_own = |path: &str| match path.strip_prefix('@') {
        Some(file) => is_written(file),
        None => is_path(path) && (is_written(path) || is_input(path)),
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
                    Kind::Configures => file.is_some_and(|file| {
                        !file.contains("://") && (is_written(file) || file == "-" || is_input(file))
                    }),
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
                        && !has_flags_only(usage.form)
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
                    // The command is judged in the folder where it runs.
                    Kind::Open if is_folder_of_command(usage, name) && text.is_some_and(|text| !text.contains('$')) => {}
                    Kind::Open if text.is_some_and(is_own) => return unknown(name),
                    // What is not described may be written.
                    Kind::Open
                        if !is_listed
                            && matches!(name, Name::Long(_))
                            && value.is_some_and(|value| is_file(value) && !is_harmless(value))
                            && (text.is_some() || !next_is_word && !is_device(value)) =>
                    {
                        return unknown(name);
                    }
                    // `--name=value FILE`: the next word is no value.
                    Kind::Open if !is_listed && !next_is_word && text.is_none() => open = Some(name),
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
            Item::Dashes(_) => {}
        }
    }
    None
}

/// Whether a value names a device, which is what many programs are asked about.
fn is_device(value: Option<&str>) -> bool {
    value.is_some_and(|value| value.starts_with("/dev/") && !value.contains("/../"))
}

/// Whether a value is a path, and nothing else.
fn is_file(value: &str) -> bool {
    let is_begun = ["/", "~", "./", "../"].iter().any(|one| value.starts_with(one));
    (is_begun || value.contains("/../")) && value != "/"
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

/// Whether something stands behind a short option in the same word, in a cluster, too: `-HxPROGRAM`.
fn in_word(texts: &[&str], name: Name<'_>) -> bool {
    let Name::Short(letter) = name else { return false };
    let clusters =
        texts.iter().filter_map(|text| text.strip_prefix('-').filter(|rest| !rest.starts_with('-')));
    clusters.filter_map(|cluster| cluster.split_once(letter)).any(|(_, value)| !value.is_empty())
}
