//! The files that a program accesses, according to the catalogue.

use super::access::{Access, Touch};
use super::transfer::{cloned, engine, homes_packed, transfer};
use super::{code, environment, explained, mount, remove, search, sqlite};
use crate::catalogue::Catalogue;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Name, Scanner};
use crate::catalogue::program::{Check, FileHow, Files, How, Words};
use crate::policy::archive::{self, Operation};
use crate::policy::word_paths::LocalMachine;
use crate::shell::{Command, Word};

/// Adds the accesses of a command. `inner` is false for a wrapper, of which only the words before its command count.
pub fn accesses(
    command: &Command,
    inner: bool,
    catalogue: Catalogue,
    machine: &dyn LocalMachine,
    into: &mut Vec<Access>,
) {
    let Some(name) = command.words.first() else { return };
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let usage = catalogue.usage(&texts, &|_| false);
    let files = usage.as_ref().and_then(|usage| usage.form.files.or(usage.program.form.files));
    let files = files.map_or(Files::PLAIN, |files| *files);
    let rest = usage.as_ref().map_or(1, |usage| usage.rest);
    let value = usage.as_ref().map(Usage::value);
    let value = value.as_deref().unwrap_or_default();
    // The words of `ansible` are hosts.
    let how = usage.as_ref().and_then(|usage| usage.form.runs).map(|runs| runs.how);
    let is_wrapper = !inner && how != Some(How::Ansible);
    named(command, (&files.inputs, Touch::Read), (rest, value), &texts, is_wrapper, into);
    match files.how {
        Some(FileHow::Search) => return remove::find(command, &texts, catalogue, into),
        Some(FileHow::Engine) => return engine(command, &texts, into),
        Some(FileHow::InCode) => code::accesses(command, into),
        _ => {}
    }
    if !inner {
        return named(command, (&files.outputs, Touch::Write), (rest, value), &texts, true, into);
    }
    let before = into.len();
    let program = crate::catalogue::base_name(&name.text);
    match files.how {
        Some(FileHow::Sqlite) => {
            usage.iter().for_each(|usage| sqlite::accesses(command, usage, &texts, into));
            return;
        }
        Some(FileHow::Copy) => transfer(command, program, &texts, machine, into),
        Some(FileHow::Archive) => {
            remove::unpack(command, program, &texts, into);
            match archive::operation(program, &texts) {
                Operation::Looks => search::packed(command, &texts, into),
                Operation::Packs(_) => homes_packed(command, &texts, machine, into),
                Operation::Unpacks | Operation::Unclear => {}
            }
        }
        Some(FileHow::TextSearch) => search::texts_search(&texts, false, into),
        Some(FileHow::Dd) => copied_blocks(command, into),
        Some(FileHow::Mount) => mount::accesses(command, (rest, value), &texts, into),
        Some(FileHow::Downloads) => {
            let value = usage.as_ref().map(crate::catalogue::lookup::Usage::value).unwrap_or_default();
            downloaded(command, program, &texts, &value, into);
        }
        Some(FileHow::Clone) => cloned(command, &texts, rest, value, into),
        Some(FileHow::WorkingTree) => {
            into.push(Access::named(Touch::WriteAll, ".".to_owned(), false));
        }
        Some(FileHow::Explained) => {
            let shown = |command: &Command, inner: bool, into: &mut Vec<Access>| {
                accesses(command, inner, catalogue, machine, into);
            };
            explained::accesses(command, (rest, value), catalogue, &shown, into);
        }
        Some(FileHow::Environment) => environment::accesses(command, program, &texts, value, into),
        _ => {}
    }
    let checks_sql = usage.as_ref().and_then(|usage| usage.form.effect).and_then(|terms| terms.check);
    if matches!(checks_sql, Some(Check::Sql | Check::SqlWords)) {
        command.words.iter().skip(rest).chain(&command.stdin).for_each(|word| sqlite::named(word, into));
    }
    written(command, &files, (rest, value), &texts, into);
    let has = |options: &[&str]| usage.as_ref().is_some_and(|usage| usage.has(&texts, options));
    // In a dry run or a listing, only files that options name are written.
    if usage.as_ref().is_some_and(|usage| has(&usage.form.quiet)) {
        let mut at = 0;
        into.retain(|access| {
            at += 1;
            at <= before || !access.touch.writes()
        });
    }
    if !has(&files.keeps) {
        named(command, (&files.outputs, Touch::Write), (rest, value), &texts, false, into);
    }
    read(command, &files, rest, &texts, into);
}

/// `dd if=FILE of=FILE`.
fn copied_blocks(command: &Command, into: &mut Vec<Access>) {
    for word in &command.words {
        let of = |prefix: &str, touch| {
            word.text.starts_with(prefix).then(|| Access::new(touch, &word.tail(prefix.len())))
        };
        into.extend(of("of=", Touch::Write));
        into.extend(of("if=", Touch::Read));
    }
}

/// `curl -O ADDRESS` and `wget ADDRESS`: the file has the last name of the address, in the working directory or in the
/// folder of an option.
fn downloaded(command: &Command, program: &str, texts: &[&str], value: &[&str], into: &mut Vec<Access>) {
    let is_wget = program.starts_with("wget");
    let (mut named, mut deep) = (is_wget, false);
    let mut folder = Word::literal(".");
    let mut addresses = Vec::new();
    for item in Scanner::new(texts, 1, value) {
        match item {
            Item::Option(name, at) => {
                if is_wget {
                    named &= !name.is_any(&["-O", "--output-document", "--spider", "--help", "--version"]);
                    deep |= name.is_any(&[
                        "-r",
                        "-m",
                        "-p",
                        "-i",
                        "--recursive",
                        "--mirror",
                        "--page-requisites",
                        "--input-file",
                    ]);
                } else {
                    named |= name.is_any(&["-O", "--remote-name", "--remote-name-all"]);
                }
                if name.is_any(&["-P", "--directory-prefix", "--output-dir"])
                    && let Some(word) = at.and_then(|at| Some(command.words.get(at.index)?.tail(at.offset)))
                {
                    folder = word;
                }
            }
            Item::Positional(index) => addresses.extend(command.words.get(index)),
            Item::Dashes(_) => {}
        }
    }
    if !named {
        return;
    }
    if deep {
        into.push(Access::new(Touch::WriteAll, &folder));
        return;
    }
    for word in addresses {
        let last = word.text.rsplit('/').next().unwrap_or_default();
        let path = if folder.text == "." {
            last.to_owned()
        } else {
            format!("{}/{last}", folder.text.trim_end_matches('/'))
        };
        into.push(Access::named(Touch::Write, path, word.unknown.is_some() || folder.unknown.is_some()));
    }
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

/// The files that these options name. The options of a wrapper end where its command begins.
fn named(
    command: &Command,
    (options, touch): (&[&str], Touch),
    (rest, value): (usize, &[&str]),
    texts: &[&str],
    is_wrapper: bool,
    into: &mut Vec<Access>,
) {
    if options.is_empty() {
        return;
    }
    // `--archive=` has its file in the same word alone.
    let is_named = |name: Name<'_>| {
        let attached = options.iter().filter_map(|option| option.strip_suffix('='));
        name.is_any(options) || attached.into_iter().any(|option| name.is(option))
    };
    let valued = options.iter().filter(|option| !option.ends_with('='));
    let value: Vec<&str> = value.iter().chain(valued).copied().collect();
    for item in Scanner::new(texts, rest, &value) {
        match item {
            Item::Option(name, Some(at)) if is_named(name) => {
                let word = command.words.get(at.index).map(|word| word.tail(at.offset));
                match (word, touch) {
                    (Some(word), Touch::Read) => into.extend(held(&word)),
                    (word, touch) => into.extend(word.map(|word| Access::new(touch, &word))),
                }
            }
            Item::Positional(_) if is_wrapper => return,
            _ => {}
        }
    }
}

/// The files that words name as output.
fn written(
    command: &Command,
    files: &Files,
    (rest, value): (usize, &[&str]),
    texts: &[&str],
    into: &mut Vec<Access>,
) {
    if files.writes == Words::None {
        return;
    }
    let value: Vec<&str> = value.iter().chain(files.outputs.iter()).copied().collect();
    let (mut needed, mut deep) = (files.writes_with.is_empty(), files.how == Some(FileHow::Rights));
    let mut words = Vec::new();
    for item in Scanner::new(texts, rest, &value) {
        match item {
            Item::Option(name, _) => {
                needed |= name.is_any(&files.writes_with);
                deep |= name.is_any(&files.deep);
            }
            Item::Positional(index) => words.extend(command.words.get(index)),
            Item::Dashes(_) => {}
        }
    }
    if needed {
        let touch = if deep { Touch::WriteAll } else { Touch::Write };
        let meant = if first_is_file(files, texts) { &words } else { chosen(files.writes, &words) };
        // `-` is standard output.
        let meant = meant.iter().filter(|word| word.text != "-");
        into.extend(meant.map(|word| Access::new(touch, word)));
    }
}

/// Whether an option replaces the first word: `sed -e SCRIPT FILE`.
fn first_is_file(files: &Files, texts: &[&str]) -> bool {
    let begins = |text: &&str| files.first_is_file.iter().any(|option| text.starts_with(option));
    texts.iter().skip(1).any(begins)
}

/// The words that may be files that are read.
fn read(command: &Command, files: &Files, rest: usize, texts: &[&str], into: &mut Vec<Access>) {
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
            skip_next = files.keys.contains(&text);
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
    let meant = if first_is_file(files, texts) { &words } else { chosen(files.reads, &words) };
    into.extend(meant.iter().flat_map(|word| read_of(word)));
    for word in meant {
        search::printed(word, into);
    }
}

/// The file in `x`, `@x`, `name=@x`, and `x` in `HEAD:x`, `file:x`, `host:x`.
fn read_of(word: &Word) -> impl Iterator<Item = Access> {
    let at = word
        .text
        .find('@')
        .filter(|at| *at == 0 || word.text.get(..*at).is_some_and(|head| head.ends_with('=')));
    let colon = word.known().and_then(|text| text.rfind(':')).filter(|colon| at.is_none_or(|at| at < *colon));
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
