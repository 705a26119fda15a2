//! The files that a program accesses, according to the catalogue.

use super::access::{Access, Touch};
use super::transfer::{cloned, copied, copied_folder, homes_packed, mounted, packed, transfer};
use super::{code, environment, explained, mount, remove, search, sqlite, values};
use crate::lists::DISKS;
use crate::paths::archive;
use crate::paths::archive::Operation;
use crate::paths::glob;
use crate::paths::word_paths::LocalMachine;
use crate::selection::programs;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::options::{Item, Name, Scanner};
use opsctl_reader::catalogue::program::{Check, FileHow, Files, How, Role, Stated, Words};
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::languages::names::shell::{PACKED_ENDINGS, PACKERS};
use opsctl_reader::languages::sed;
use opsctl_reader::shell::{Command, Word};
use opsctl_reader::terms::class::Class;

/// Adds the files that a script of `sed` writes.
pub fn edited(command: &Command, catalogue: Catalogue, into: &mut Vec<Access>) {
    let program = command.words.first().and_then(|name| catalogue.find(base_name(&name.text)));
    if program.and_then(|program| program.form.effect?.check) == Some(Check::SedScript) {
        let scripts = programs(command, catalogue);
        let written = scripts.iter().filter_map(|text| sed::written(text)).flatten();
        into.extend(written.map(|path| Access::named(Touch::Write, path, false)));
    }
}

/// Adds the accesses of a command. `inner` is false for a wrapper, of which only the words before its command count.
pub fn accesses(
    command: &Command,
    inner: bool,
    catalogue: Catalogue,
    machine: &dyn LocalMachine,
    into: &mut Vec<Access>,
) {
    let Some(name) = command.words.first() else { return };
    let texts = command.texts();
    let Some(usage) = catalogue.usage(&texts, &|_| false) else {
        return read(command, &Files::PLAIN, 1, None, catalogue, into);
    };
    let (files, rest) = (usage.files(), usage.rest);
    // The words of `ansible` are hosts.
    let how = usage.form.runs.map(|runs| runs.how);
    let is_wrapper = !inner && how != Some(How::Ansible);
    named(command, &usage, (&files.inputs, Touch::Read), is_wrapper, into);
    values::outputs(command, &usage, is_wrapper, into);
    item_files(command, how, into);
    let given = usage.operands(&texts);
    match files.how {
        Some(FileHow::Search) => return remove::find(command, &usage, catalogue, into),
        Some(FileHow::ContainerMounts | FileHow::ContainerCopy)
            if usage.program.host_variables.iter().any(|name| command.variable(name).is_some()) =>
        {
            return;
        }
        Some(FileHow::ContainerMounts) => {
            named(command, &usage, (&files.outputs, Touch::Write), is_wrapper, into);
            return mounted(command, &given, into);
        }
        Some(FileHow::ContainerCopy) => return copied(command, &given, into),
        Some(FileHow::InCode) => {
            let language = if let Some(How::Code(language)) = how { Some(language) } else { None };
            code::accesses(command, language, into);
        }
        _ => {}
    }
    if !inner {
        // Beside a script in an option, the words are the wrapper's own.
        let runs = usage.form.runs.filter(|runs| runs.how != How::Shell);
        let is_script = |name: &Name<'_>| runs.is_some_and(|runs| runs.takes_script(*name));
        if how == Some(How::Make) || given.options.iter().any(|(name, _)| is_script(name)) {
            read(command, &files, rest, Some(&given), catalogue, into);
            written(command, &files, &given, into);
        }
        left(command, &usage, &given, is_wrapper, into);
        return named(command, &usage, (&files.outputs, Touch::Write), is_wrapper, into);
    }
    let before = into.len();
    let program = base_name(&name.text);
    match files.how {
        Some(FileHow::Sqlite) => return sqlite::accesses(command, &usage, &texts, into),
        Some(FileHow::Copy | FileHow::Move | FileHow::Link | FileHow::Install) => {
            transfer(command, &usage, &given, machine, into);
        }
        Some(FileHow::Archive | FileHow::Unpacking | FileHow::Packing) => {
            let operation = archive::operation(&usage, &given);
            if given.has(Role::Packs) || files.how == Some(FileHow::Packing) {
                packed(command, &given, into);
            }
            remove::unpack(command, operation, (&usage, &given), into);
            match operation {
                Operation::Looks => search::packed(&given, into),
                Operation::Packs(_) => homes_packed(command, &given, machine, into),
                Operation::Unpacks | Operation::Unclear => {}
            }
        }
        Some(FileHow::TextSearch | FileHow::FolderSearch) => {
            search::texts(command, &usage, &given, into);
        }
        Some(FileHow::Folders) if given.has(Role::Recursive) || usage.role(Role::Recursive).is_empty() => {
            let words: Vec<_> = given.words.iter().filter_map(|index| command.words.get(*index)).collect();
            into.extend(chosen(files.reads, &words).iter().flat_map(|word| copied_folder(word)));
        }
        Some(FileHow::Dd) => copied_blocks(command, into),
        Some(FileHow::Mount) => mount::accesses(command, &given, into),
        Some(FileHow::Downloads) => downloaded(command, &usage, &given, into),
        Some(FileHow::Clone) => cloned(command, &usage, &given, into),
        Some(FileHow::WorkingTree) => working_tree(command, &usage, &given, into),
        Some(FileHow::Repository) => changed_repository(command, &usage, &given, into),
        Some(FileHow::Explained) => {
            let shown = |command: &Command, inner: bool, into: &mut Vec<Access>| {
                accesses(command, inner, catalogue, machine, into);
            };
            explained::accesses(command, &given, catalogue, &shown, into);
        }
        Some(FileHow::Environment) => environment::accesses(command, program, &given, into),
        _ => {}
    }
    let checks_sql = usage.form.effect.and_then(|terms| terms.check);
    if matches!(checks_sql, Some(Check::Sql | Check::SqlWords)) {
        let words = || command.words.iter().skip(rest).chain(&command.stdin);
        words().for_each(|word| sqlite::named(word, into));
        words().for_each(|word| sqlite::written(word, into));
    }
    written(command, &files, &given, into);
    left(command, &usage, &given, false, into);
    // In a dry run or a listing, only files that options name are written.
    if usage.has(&texts, &usage.form.quiet) {
        let mut at = 0;
        into.retain(|access| {
            at += 1;
            at <= before || !access.touch.writes()
        });
    }
    if !usage.has(&texts, &files.keeps) {
        named(command, &usage, (&files.outputs, Touch::Write), false, into);
    }
    read(command, &files, rest, Some(&given), catalogue, into);
}

/// `parallel COMMAND :::: FILE`: the items are lines of these files.
fn item_files(command: &Command, how: Option<How>, into: &mut Vec<Access>) {
    if how != Some(How::Parallel) {
        return;
    }
    let mut is_file = false;
    for word in &command.words {
        match word.text.as_str() {
            "::::" | "::::+" => is_file = true,
            ":::" | ":::+" => is_file = false,
            _ if is_file => into.push(Access::new(Touch::Read, word)),
            _ => {}
        }
    }
}

/// `dd if=FILE of=FILE`.
fn copied_blocks(command: &Command, into: &mut Vec<Access>) {
    // What goes nowhere is read by no one, as in a test of a disk.
    let mut outputs = command.words.iter().filter_map(|word| word.known()?.strip_prefix("of=")).rev();
    let is_lost = outputs.next() == Some("/dev/null") && !command.words.iter().any(Word::may_be_several);
    let is_disk = |word: &Word| {
        let disk = word.known().and_then(|word| word.strip_prefix("if="));
        disk.is_some_and(|disk| DISKS.iter().any(|one| glob::matches(one, disk) && !disk.contains("..")))
    };
    for word in command.words.iter().filter(|word| !(is_lost && is_disk(word))) {
        let of = |prefix: &str, touch| {
            word.text.starts_with(prefix).then(|| Access::new(touch, &word.tail(prefix.len())))
        };
        into.extend(of("of=", Touch::Write));
        into.extend(of("if=", Touch::Read));
    }
}

/// `curl -O ADDRESS` and `wget ADDRESS`: the file has the last name of the address, in the working directory or in the
/// folder of an option.
fn downloaded(command: &Command, usage: &Usage, given: &Operands<'_>, into: &mut Vec<Access>) {
    let always = usage.role(Role::NamesFiles).is_empty();
    let is_other = given.has(Role::ReadsOnly) || given.places(Role::NamesOutput).next().is_some();
    if is_other || !(always || given.has(Role::NamesFiles)) {
        return;
    }
    let folder = given.places(Role::Folder).last().and_then(|at| command.value(at));
    let folder = folder.unwrap_or_else(|| Word::literal("."));
    if given.has(Role::Recursive) {
        into.push(Access::new(Touch::WriteAll, &folder));
        return;
    }
    for word in given.words.iter().filter_map(|index| command.words.get(*index)) {
        let last = word.text.rsplit('/').next().unwrap_or_default();
        let path = if folder.text == "." {
            last.to_owned()
        } else {
            format!("{}/{last}", folder.text.trim_end_matches('/'))
        };
        into.push(Access::named(Touch::Write, path, word.unknown.is_some() || folder.unknown.is_some()));
    }
}

/// The folder that a program works in: the value of an option such as `-C`, of a variable, or the working directory.
fn working_tree(command: &Command, usage: &Usage, given: &Operands<'_>, into: &mut Vec<Access>) {
    let texts = command.texts();
    let reads_with = usage.form.effect.map(|terms| terms.reads_with).unwrap_or_default();
    if usage.has(&texts, &reads_with) {
        return;
    }
    let mut folders = repository(command, usage, given);
    let removes = usage.form.effect.is_some_and(|terms| {
        !matches!(terms.stated, Stated::Reads | Stated::Changes(Class::Plain | Class::Work | Class::Other))
    });
    if folders.is_empty() {
        folders.push(Word::literal("."));
    }
    for folder in folders {
        // The session's own project may be changed by git, and no other folder by the files of any repository.
        let is_other = texts.iter().any(|word| word.starts_with("--work-tree"))
            || command.variable("GIT_WORK_TREE").is_some();
        if removes || is_other || command.host().is_some() {
            into.push(Access::new(Touch::WriteAll, &folder));
        }
        into.push(inside(&folder));
    }
}

/// The repository that a program changes; on this machine without one that is named, that of the working directory.
fn changed_repository(command: &Command, usage: &Usage, given: &Operands<'_>, into: &mut Vec<Access>) {
    let mut folders = repository(command, usage, given);
    let is_here = folders.is_empty() && command.host().is_none();
    folders.extend(is_here.then(|| Word::literal(".")));
    into.extend(folders.iter().map(inside));
}

/// The folders of a repository that options before the verb, or variables, name.
fn repository(command: &Command, usage: &Usage, given: &Operands<'_>) -> Vec<Word> {
    let texts = command.texts();
    let before = usage.operands_before(&texts);
    let named =
        before.places(Role::Folder).chain(before.places(Role::Configures)).chain(given.places(Role::Folder));
    let variables =
        command.env.iter().filter(|variable| matches!(variable.0.as_str(), "GIT_WORK_TREE" | "GIT_DIR"));
    let named = named.filter_map(|at| command.value(at)).collect::<Vec<_>>();
    named.into_iter().chain(variables.map(|variable| variable.1.clone())).collect()
}

/// A file in a folder, which is written.
fn inside(folder: &Word) -> Access {
    let file = format!("{}/x", folder.text.trim_end_matches('/'));
    Access::named(Touch::Write, file, folder.unknown.is_some())
}

/// The selected words of these.
fn chosen<T>(words: Words, items: &[T]) -> &[T] {
    match words {
        Words::From(first) => items.get(first..).unwrap_or_default(),
        Words::Only(index) => items.get(index..=index).unwrap_or_default(),
        Words::Last => items.last().map(std::slice::from_ref).unwrap_or_default(),
        Words::None | Words::Starred | Words::OwnName | Words::Constant(_) | Words::ValueOf(_) => &[],
    }
}

/// The files that these options name, before the verb and behind it. The options of a wrapper end where its command begins.
fn named(
    command: &Command,
    usage: &Usage,
    (options, touch): (&[&str], Touch),
    is_wrapper: bool,
    into: &mut Vec<Access>,
) {
    if options.is_empty() {
        return;
    }
    // `--archive=` has its file in the same word alone.
    let is_named = |name: Name<'_>| {
        let attached = options.iter().filter_map(|option| option.strip_suffix('='));
        name.is_any(options)
            || attached.into_iter().any(|option| name.is(option))
            || values::abbreviates(usage, name, options)
    };
    // The value of an abbreviated option is the next word.
    let mut is_open = false;
    let texts = command.texts();
    let before = texts.get(..usage.rest).unwrap_or(&texts);
    let value = usage.value();
    let outer = usage.program.value.unwrap_or_default();
    let before = Scanner::new(before, usage.start, &outer).filter(|item| matches!(item, Item::Option(..)));
    for item in before.chain(Scanner::new(&texts, usage.rest, &value).with_flags(&usage.form.flags)) {
        match item {
            Item::Option(name, Some(at)) if is_named(name) => match (command.value(at), touch) {
                (Some(word), Touch::Read) => into.extend(held(&word)),
                (word, touch) => into.extend(word.map(|word| Access::new(touch, &word))),
            },
            Item::Option(name, None) => is_open = values::abbreviates(usage, name, options),
            Item::Positional(index) => {
                let word = command.words.get(index).filter(|_| std::mem::take(&mut is_open));
                into.extend(word.map(|word| Access::new(touch, word)));
                if is_wrapper {
                    return;
                }
            }
            _ => is_open = false,
        }
    }
}

/// The files that words name as output.
fn written(command: &Command, files: &Files, given: &Operands<'_>, into: &mut Vec<Access>) {
    let has =
        |options: &[&str]| given.options.iter().any(|(name, _)| name.is_any(options) || name.begins(options));
    if files.writes == Words::None || !(files.writes_with.is_empty() || has(&files.writes_with)) {
        return;
    }
    let touch = match files.how {
        Some(FileHow::Rights) => Touch::Shared,
        _ if has(&files.deep) => Touch::WriteAll,
        _ => Touch::Write,
    };
    let words: Vec<&Word> = given.words.iter().filter_map(|index| command.words.get(*index)).collect();
    let meant =
        if first_is_file(files, command, Some(given)) { &words } else { chosen(files.writes, &words) };
    // `-` is standard output.
    let meant = meant.iter().filter(|word| word.text != "-");
    into.extend(meant.clone().map(|word| Access::new(touch, word)));
    let program = command.words.first().map_or("", |word| base_name(&word.text));
    if PACKERS.0.iter().any(|(packer, unpackers)| *packer == program || unpackers.has(program)) {
        let endings = || PACKED_ENDINGS.0.iter().flat_map(|(_, endings)| endings.iter());
        // The file that a packed one becomes.
        into.extend(meant.filter_map(|word| {
            let unpacked = endings().find_map(|ending| word.text.strip_suffix(ending))?;
            Some(Access::named(touch, unpacked.to_owned(), word.unknown.is_some()))
        }));
    }
}

/// The files that a program writes in its working directory where its words and options name none.
fn left(command: &Command, usage: &Usage, given: &Operands<'_>, is_wrapper: bool, into: &mut Vec<Access>) {
    let files = usage.files();
    let mut stated = Vec::new();
    named(command, usage, (&files.outputs, Touch::Write), is_wrapper, &mut stated);
    let is_stated = !stated.is_empty() || !chosen(files.writes, &given.words).is_empty();
    if !is_stated && !usage.has(&command.texts(), &usage.form.quiet) {
        into.extend(files.leaves.iter().map(|name| Access::named(Touch::Write, (*name).to_owned(), false)));
    }
}

/// Whether an option replaces the first word: `sed -e SCRIPT FILE`, also in a cluster, `jq -rf FILE`.
fn first_is_file(files: &Files, command: &Command, given: Option<&Operands<'_>>) -> bool {
    let begins = |word: &Word| files.first_is_file.iter().any(|option| word.text.starts_with(option));
    command.words.iter().skip(1).any(begins) || given.is_some_and(|given| given.states(&files.first_is_file))
}

/// The words that may be files that are read.
fn read(
    command: &Command,
    files: &Files,
    rest: usize,
    given: Option<&Operands<'_>>,
    catalogue: Catalogue,
    into: &mut Vec<Access>,
) {
    if files.reads == Words::None {
        return;
    }
    let mut skip_next = false;
    let mut words = Vec::new();
    for word in command.words.iter().skip(rest) {
        let text = word.text.as_str();
        if std::mem::take(&mut skip_next) {
            continue;
        }
        if text.starts_with('-') && text.len() > 1 {
            skip_next = files.keys.contains(&text) || files.outputs.contains(&text);
            let is_key = text.split_once('=').is_some_and(|(name, _)| files.keys.contains(&name));
            // What a search leaves out is not read.
            let is_name =
                ["--exclude", "--include", "--glob", "--ignore"].iter().any(|one| text.starts_with(one));
            if let Some(equals) = text.find('=').filter(|_| !is_key && !is_name) {
                into.extend(read_of(&word.tail(equals + 1)));
            } else if !text.starts_with("--")
                && !is_key
                && !files.keys.iter().any(|key| text.starts_with(key))
            {
                // `-d@FILE`, `-fFILE`.
                into.extend(read_of(&word.tail(2)).filter(|access| access.path.contains(['/', '.'])));
            }
            continue;
        }
        words.push(word);
    }
    let first_is_file = first_is_file(files, command, given);
    let mut meant = if first_is_file { words } else { chosen(files.reads, &words).to_vec() };
    // Values of options are no operands, but they may be files.
    let operands = given.map(|given| given.words.as_slice()).unwrap_or_default();
    let operands: Vec<&Word> = operands.iter().filter_map(|index| command.words.get(*index)).collect();
    for word in chosen(files.reads, &operands) {
        if !meant.contains(word) {
            meant.push(word);
        }
    }
    for word in meant {
        into.extend(read_of(word));
        search::printed(word, catalogue, into);
    }
}

/// The file in `x`, `@x`, `name=@x`, and `x` in `HEAD:x`, `file:x`, `host:x`, not in `http://host/?q=name:x`.
fn read_of(word: &Word) -> impl Iterator<Item = Access> {
    let at = word
        .text
        .find('@')
        .filter(|at| *at == 0 || word.text.get(..*at).is_some_and(|head| head.ends_with('=')));
    let is_request = ["http://", "https://"].iter().any(|scheme| word.text.starts_with(scheme));
    let known = word.known().filter(|_| !is_request);
    let colon = known.and_then(|text| text.rfind(':')).filter(|colon| at.is_none_or(|at| at < *colon));
    let starts = std::iter::once(at.map_or(0, |at| at + 1)).chain(colon.map(|colon| colon + 1));
    starts
        .map(|start| Access::new(Touch::Read, &word.tail(start)))
        .filter(|access| !access.path.is_empty())
        .collect::<Vec<_>>()
        .into_iter()
}

/// The files in the value of an option, which may hold several: `src=x dest=y`, `lookup('file', 'x')`.
fn held(value: &Word) -> Vec<Access> {
    let mut found: Vec<Access> = read_of(value).collect();
    for part in value.text.split_whitespace().filter_map(|part| part.split_once('=')) {
        found.push(Access::named(Touch::Read, part.1.to_owned(), part.1.contains('$')));
    }
    sqlite::named(value, &mut found);
    found
}
