//! Which files a command may write, as the catalogue describes it.

use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{At, Item, Name, Scanner};
use crate::catalogue::program::{FileHow, How, Language, Role, Stated, Stdin, Words};
use crate::catalogue::{Catalogue, base_name};
use crate::languages::names::shell as names;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::on_disk::GLOB;
use crate::shell::script::Command;
use crate::shell::text::is_known;

/// The files that a command may write in a way that is not followed.
pub(super) enum Written {
    /// These, and those below them.
    These(Vec<String>),
    Any,
}

impl Written {
    const NOTHING: Self = Self::These(vec![]);
}

/// The files that a command may write in a way that is not followed, as its words name them.
pub(super) fn written_by(
    invocation: &Invocation,
    command: &Command,
    program: &str,
    catalogue: Catalogue,
) -> Written {
    if names::KEEPERS.has(program) {
        return Written::NOTHING;
    }
    if let Some(options) = names::FOLLOWED_WRITERS.get(program) {
        // `of=x`
        let is_listed = |word: &str| {
            let name = word.split_inclusive('=').next().unwrap_or_default();
            options.has(name) || !word.starts_with('-') && (program != "dd" || !word.contains('='))
        };
        let is_followed = |word: &str| is_listed(word) && is_known(word) && !word.contains(GLOB);
        let mut words = invocation.args().map(|field| field.text.as_str());
        if !words.clone().all(is_followed) {
            return Written::Any;
        }
        let copies = matches!(program, "cp" | "install" | "mv" | "scp");
        let has_folders = copies && words.any(|word| names::COPYING_FOLDERS.has(word));
        let target = invocation.fields.last().filter(|_| has_folders);
        return Written::These(target.map(|target| target.text.clone()).into_iter().collect());
    }
    let texts = command.texts();
    let Some(usage) = catalogue.usage(&texts, &|_| false) else { return Written::Any };
    let words = || invocation.args().map(|field| field.text.as_str());
    if program == "sed" {
        // `-i *`, and `w x` in its script.
        let edits = words().any(|word| names::EDITING.begin(word));
        let is_any = |word: &str| word.contains(GLOB) || !is_known(word);
        let writes = words().any(|word| word.contains('w') || edits && is_any(word));
        return if writes { Written::Any } else { Written::NOTHING };
    }
    match usage.form.runs.map(|runs| runs.how) {
        Some(How::Code(Language::Awk)) => {
            let writes = words().any(|word| word.contains(['>', '|', '@']) || word.contains("system"));
            return if writes { Written::Any } else { Written::NOTHING };
        }
        Some(How::Code(_)) => return Written::Any,
        Some(_) => return outputs_of(&usage, &texts),
        None => {}
    }
    let files = usage.form.files.or(usage.program.form.files);
    match files.and_then(|files| files.how) {
        Some(FileHow::Rights | FileHow::Mount) => return Written::NOTHING,
        Some(FileHow::Downloads) => return downloads_of(&usage, &texts),
        _ if unpacks(&usage, &texts) => return Written::Any,
        _ if usage.form.stdin == Stdin::Statements => return Written::Any,
        _ if usage.form.does.is_some() => return Written::NOTHING,
        _ => {}
    }
    if usage
        .form
        .effect
        .is_some_and(|terms| terms.stated == Stated::Reads && !usage.has(&texts, &terms.changes_with))
    {
        outputs_of(&usage, &texts)
    } else {
        Written::Any
    }
}

/// Whether a program unpacks files of any names.
fn unpacks(usage: &Usage, texts: &[&str]) -> bool {
    let files = usage.form.files.or(usage.program.form.files);
    let how = files.and_then(|files| files.how);
    let given = || usage.operands(texts);
    matches!(how, Some(FileHow::Archive | FileHow::Unpacking))
        && (how == Some(FileHow::Unpacking) || given().has(Role::Unpacks))
        && !given().has(Role::ListsArchive)
        && !given().has(Role::ToOutput)
}

/// Whether a command has unpacked files of any names, which replace others.
pub(super) fn has_unpacked(command: &Command, catalogue: Catalogue) -> bool {
    let texts = command.texts();
    catalogue.usage(&texts, &|_| false).is_some_and(|usage| unpacks(&usage, &texts))
}

/// The files to which a program downloads.
fn downloads_of(usage: &Usage, texts: &[&str]) -> Written {
    let given = usage.operands(texts);
    let is_named = given.states(&usage.files().outputs);
    let names_itself = given.has(Role::NamesFiles) || texts.iter().any(|word| word.starts_with("--remote"));
    // `wget` gives files names of its own.
    if names_itself
        || given.has(Role::Folder)
        || !is_named && base_name(texts.first().copied().unwrap_or_default()) != "curl"
    {
        return Written::Any;
    }
    outputs_of(usage, texts)
}

/// The files that options of a program state which otherwise changes nothing.
fn outputs_of(usage: &Usage, texts: &[&str]) -> Written {
    let files = usage.files();
    let given = usage.operands(texts);
    if !files.leaves.is_empty()
        || given.states(&files.writes_with)
        || files.writes != Words::None && files.writes_with.is_empty()
    {
        return Written::Any;
    }
    let is_output = |name: &Name<'_>| name.is_any(&files.outputs) || name.begins(&files.outputs);
    let stated = given.options.iter().filter(|(name, _)| is_output(name));
    let values: Option<Vec<String>> =
        stated.map(|(_, at)| at.and_then(|at| at.of(texts)).map(str::to_owned)).collect();
    match values {
        Some(values) if values.iter().all(|value| is_known(value) && !value.contains(GLOB)) => {
            Written::These(values)
        }
        _ => Written::Any,
    }
}

/// Whether a command may write the file of one of its words, according to its description; without one, it may.
pub(super) fn overwrites(command: &Command, path: &str, catalogue: Catalogue) -> bool {
    let texts = command.texts();
    let Some(usage) = catalogue.usage(&texts, &|_| false) else { return !texts.is_empty() };
    if let Some(runs) = usage.form.runs {
        // Code gets the files that it works on after itself.
        let is_code = matches!(runs.how, How::Code(language) if language != Language::Awk);
        return is_code && texts.iter().skip(2).any(|text| *text == path);
    }
    let files = usage.files();
    let given = usage.operands(&texts);
    let of_option = |(name, at): &(Name<'_>, Option<At>)| {
        name.is_any(&files.outputs) && at.and_then(|at| at.of(&texts)) == Some(path)
    };
    (files.writes != Words::None && (files.writes_with.is_empty() || given.states(&files.writes_with)))
        || given.options.iter().any(of_option)
}

/// Whether a command may write one of the files that its words name. Rights and mount points are no content, and what a
/// wrapper runs is a command of its own.
pub(crate) fn may_write(command: &Command, means: impl Fn(&str) -> bool, catalogue: Catalogue) -> bool {
    let texts = command.texts();
    let Some(usage) = catalogue.usage(&texts, &|_| false) else { return !texts.is_empty() };
    let files = usage.form.files.or(usage.program.form.files);
    let copies = |how| matches!(how, FileHow::Copy | FileHow::Move | FileHow::Link | FileHow::Install);
    if files.and_then(|files| files.how).is_some_and(copies) {
        // The sources stay as they are.
        return texts.last().is_some_and(|last| means(last)) || usage.operands(&texts).has(Role::Folder);
    }
    if let Some(runs) = usage.form.runs {
        // Code gets the files that it works on after itself.
        let is_code = matches!(runs.how, How::Code(language) if language != Language::Awk);
        return is_code && texts.iter().skip(2).any(|text| means(text));
    }
    if files.is_some_and(|files| matches!(files.how, Some(FileHow::Rights | FileHow::Mount))) {
        return false;
    }
    let Some(terms) = usage.form.effect.filter(|terms| terms.stated == Stated::Reads) else { return true };
    let value = usage.value();
    let writing = |options: &[&str]| {
        Scanner::new(&texts, usage.rest, &value)
            .any(|item| matches!(item, Item::Option(name, _) if name.is_any(options)))
    };
    writing(&terms.changes_with)
        || files.is_some_and(|files| writing(&files.outputs) || writing(&files.writes_with))
}
