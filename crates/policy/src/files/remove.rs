//! Programs that write all files of a folder: `find … -delete`, archives that are unpacked.

use super::access::{Access, Touch};
use crate::catalogue::Catalogue;
use crate::catalogue::options::{Item, Scanner};
use crate::catalogue::program::{FileHow, Words};
use crate::policy::archive::{self, Operation};
use crate::shell::{Command, Word};

/// `find DIR … -delete`, `find DIR … -exec rm {} +`.
pub fn find(command: &Command, texts: &[&str], catalogue: Catalogue, into: &mut Vec<Access>) {
    let starts = || {
        let words = command.words.iter().skip(1);
        words.take_while(|word| !word.text.starts_with(['-', '(', '!']) || word.text == "-")
    };
    let runs = texts
        .iter()
        .position(|text| matches!(*text, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec"));
    let run = runs.and_then(|at| texts.get(at + 1..)).unwrap_or_default();
    let program = run.first().map(|name| name.rsplit('/').next().unwrap_or(name));
    let certain = texts.contains(&"-delete")
        || writes_words(run, catalogue)
        || program.is_some_and(|program| {
            matches!(
                program,
                "rm" | "mv"
                    | "shred"
                    | "truncate"
                    | "tee"
                    | "cp"
                    | "sed"
                    | "perl"
                    | "chmod"
                    | "chown"
                    | "unlink"
                    | "ln"
                    | "install"
            )
        });
    let writes = certain || program.is_some_and(|program| matches!(program, "sh" | "bash"));
    let any = || [Word::literal(".")];
    let none = starts().next().is_none();
    let places: Vec<Word> = if none { any().to_vec() } else { starts().cloned().collect() };
    if writes {
        let wanted = wanted(texts);
        for word in &places {
            if wanted.is_empty() {
                into.push(Access::new(Touch::WriteAll, word));
            }
            into.extend(wanted.iter().map(|name| {
                Access::named(
                    Touch::WriteFound { certain },
                    format!("{}/{name}", word.text.trim_end_matches('/')),
                    word.unknown.is_some(),
                )
            }));
        }
    }
    if runs.is_some() {
        into.extend(places.iter().map(|word| Access::new(Touch::Read, word)));
    }
    // `-fprint FILE`.
    for pair in command.words.windows(2) {
        if let [option, file] = pair
            && matches!(option.text.as_str(), "-fprint" | "-fprint0" | "-fls" | "-fprintf")
        {
            into.push(Access::new(Touch::Write, file));
        }
    }
}

/// Whether a program writes files that its words name, or changes who may use them.
fn writes_words(texts: &[&str], catalogue: Catalogue) -> bool {
    let Some(usage) = catalogue.usage(texts, &|_| false) else { return false };
    let Some(files) = usage.form.files.or(usage.program.form.files) else { return false };
    let is_needed = files.writes_with.is_empty() || usage.has(texts, &files.writes_with);
    (files.writes != Words::None && is_needed)
        || matches!(files.how, Some(FileHow::Rights | FileHow::Dd | FileHow::Mount))
}

/// The names to which a search is limited; empty for any name.
fn wanted<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    let pairs = texts.windows(2).filter_map(|pair| match pair {
        ["-name" | "-iname", name] => Some(*name),
        _ => None,
    });
    pairs.collect()
}

/// `zip -m`, `tar --remove-files`, `7z a -sdel`: what is packed is removed.
fn moved_into(command: &Command, texts: &[&str], into: &mut Vec<Access>) {
    let removes = |text: &str| {
        matches!(text, "--move" | "--remove-files" | "-sdel")
            || (texts.first().is_some_and(|name| name.ends_with("zip")) && text.starts_with("-m"))
    };
    if texts.iter().any(|text| removes(text)) {
        let words = command.words.iter().skip(1).filter(|word| !word.text.starts_with('-'));
        into.extend(words.map(|word| Access::new(Touch::WriteAll, word)));
    }
}

/// An archive that is unpacked may contain any file.
pub fn unpack(command: &Command, program: &str, texts: &[&str], into: &mut Vec<Access>) {
    moved_into(command, texts, into);
    match archive::operation(program, texts) {
        Operation::Unpacks => {}
        Operation::Packs(file) => {
            let word = command.words.iter().rev().find(|word| word.text.ends_with(file));
            let unknown = word.is_none_or(|word| word.unknown.is_some());
            return into.push(Access::named(Touch::Write, file.to_owned(), unknown));
        }
        // In doubt, it unpacks.
        Operation::Unclear
            if texts.get(1).is_some_and(|mode| mode.contains('x') || mode.starts_with("--")) => {}
        Operation::Looks | Operation::Unclear => return,
    }
    let valued: &[&str] = match program {
        "unzip" => &["-d", "-x"],
        _ => &["-C", "--directory", "-f", "--file", "-D"],
    };
    let mut folder = Word::literal(".");
    for item in Scanner::new(texts, 1, valued) {
        if let Item::Option(name, Some(at)) = item
            && name.is_any(&["-C", "--directory", "-d", "-D"])
            && let Some(word) = command.words.get(at.index)
        {
            folder = word.tail(at.offset);
        }
    }
    if let Some(out) =
        command.words.iter().find(|word| program.starts_with("7z") && word.text.starts_with("-o"))
    {
        folder = out.tail(2);
    }
    into.push(Access::new(Touch::WriteAll, &folder));
}
