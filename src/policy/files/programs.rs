//! The files that a program accesses, according to the catalogue.

use super::access::{Access, Touch};
use super::transfer::{engine, transfer};
use super::{code, remove, sqlite};
use crate::catalogue::Catalogue;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Name, Scanner};
use crate::catalogue::program::{FileHow, Files, Words};
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
    match files.how {
        Some(FileHow::Search) => return remove::find(command, &texts, into),
        Some(FileHow::Engine) => return engine(command, &texts, into),
        Some(FileHow::InCode) => code::accesses(command, into),
        _ => {}
    }
    let rest = usage.as_ref().map_or(1, |usage| usage.rest);
    let value = usage.as_ref().map(Usage::value);
    let value = value.as_deref().unwrap_or_default();
    if !inner {
        return outputs(command, &files, (rest, value), &texts, true, into);
    }
    let before = into.len();
    let program = crate::catalogue::base_name(&name.text);
    match files.how {
        Some(FileHow::Sqlite) => return sqlite::accesses(command, into),
        Some(FileHow::Copy) => transfer(command, program, &texts, machine, into),
        Some(FileHow::Archive) => remove::unpack(command, program, &texts, into),
        Some(FileHow::Dd) => copied_blocks(command, into),
        Some(FileHow::Downloads) => {
            let value = usage.as_ref().map(crate::catalogue::lookup::Usage::value).unwrap_or_default();
            downloaded(command, program, &texts, &value, into);
        }
        Some(FileHow::WorkingTree) => {
            into.push(Access { touch: Touch::WriteAll, path: ".".to_owned(), unknown: false });
        }
        _ => {}
    }
    written(command, &files, (rest, value), &texts, into);
    let has = |options: &[&str]| usage.as_ref().is_some_and(|usage| has_any(usage, &texts, options));
    // In a dry run or a listing, only files that options name are written.
    if usage.as_ref().is_some_and(|usage| has(&usage.form.quiet)) {
        let mut at = 0;
        into.retain(|access| {
            at += 1;
            at <= before || access.touch == Touch::Read
        });
    }
    if !has(&files.keeps) {
        outputs(command, &files, (rest, value), &texts, false, into);
    }
    read(command, &files, rest, &texts, into);
}

/// Whether one of these options is given.
fn has_any(usage: &Usage, texts: &[&str], options: &[&str]) -> bool {
    let value = usage.value();
    let from = if usage.is_mixed() { usage.start } else { usage.rest };
    let mut items = Scanner::new(texts, from, &value).with_flags(options);
    items.any(|item| matches!(item, Item::Option(name, _) if name.is_any(options)))
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
        into.push(Access {
            touch: Touch::Write,
            path,
            unknown: word.unknown.is_some() || folder.unknown.is_some(),
        });
    }
}

/// The selected words of these.
fn chosen<T>(words: Words, items: &[T]) -> &[T] {
    match words {
        Words::From(first) => items.get(first..).unwrap_or_default(),
        Words::Only(index) => items.get(index..=index).unwrap_or_default(),
        Words::Last => items.last().map(std::slice::from_ref).unwrap_or_default(),
        Words::Nowhere | Words::Starred | Words::OwnName | Words::ValueOf(_) => &[],
    }
}

/// The files that options name as output. The options of a wrapper end where its command begins.
fn outputs(
    command: &Command,
    files: &Files,
    (rest, value): (usize, &[&str]),
    texts: &[&str],
    is_wrapper: bool,
    into: &mut Vec<Access>,
) {
    // `--archive=` takes its file in the same word only.
    let is_output = |name: Name<'_>| {
        name.is_any(&files.outputs)
            || files
                .outputs
                .iter()
                .filter_map(|option| option.strip_suffix('='))
                .any(|option| name.is(option))
    };
    let outputs = files.outputs.iter().filter(|option| !option.ends_with('='));
    let value: Vec<&str> = value.iter().chain(outputs).copied().collect();
    for item in Scanner::new(texts, rest, &value) {
        match item {
            Item::Option(name, Some(at)) if is_output(name) => {
                let word = command.words.get(at.index);
                into.extend(word.map(|word| Access::new(Touch::Write, &word.tail(at.offset))));
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
    if files.writes == Words::Nowhere {
        return;
    }
    let value: Vec<&str> = value.iter().chain(files.outputs.iter()).copied().collect();
    let (mut needed, mut deep) = (files.writes_with.is_empty(), false);
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
    if files.reads == Words::Nowhere {
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
            if let Some(equals) = text.find('=').filter(|_| !is_key) {
                into.push(read_of(&word.tail(equals + 1)));
            }
            continue;
        }
        words.push(word);
    }
    let meant = if first_is_file(files, texts) { &words } else { chosen(files.reads, &words) };
    into.extend(meant.iter().map(|word| read_of(word)));
}

/// The file in `x`, `@x`, `name=@x`.
fn read_of(word: &Word) -> Access {
    let at = word
        .text
        .find('@')
        .filter(|at| *at == 0 || word.text.get(..*at).is_some_and(|head| head.ends_with('=')));
    match at {
        Some(at) => Access::new(Touch::Read, &word.tail(at + 1)),
        None => Access::new(Touch::Read, word),
    }
}
