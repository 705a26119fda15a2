//! Programs that write all files of a folder: `find … -delete`, archives that are unpacked.

use super::access::{Access, Touch};
use crate::lists::WRITING_PROGRAMS;
use crate::paths::archive::Operation;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::program::{FileHow, Role, Words};
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::shell::{Command, Word};

/// `find DIR … -delete`, `find DIR … -exec rm {} +`.
pub fn find(command: &Command, usage: &Usage, catalogue: Catalogue, into: &mut Vec<Access>) {
    let texts = command.texts();
    let expression = usage.expression(&texts);
    let runs: Vec<&[&str]> = expression.runs.iter().filter_map(|run| texts.get(run.words.clone())).collect();
    let programs = || runs.iter().filter_map(|run| run.first()).map(|name| base_name(name));
    let certain = expression.changes
        || runs.iter().any(|run| writes_words(run, catalogue))
        || programs().any(|program| WRITING_PROGRAMS.contains(&program));
    let writes = certain || programs().any(|program| matches!(program, "sh" | "bash"));
    let mut places: Vec<Word> =
        expression.places.iter().filter_map(|at| command.words.get(*at)).cloned().collect();
    if places.is_empty() {
        places.push(Word::literal("."));
    }
    if writes {
        let wanted = expression.names.iter().filter(|name| !name.is_path && !name.negated);
        let wanted: Vec<&str> = wanted.map(|name| name.glob).collect();
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
    if !runs.is_empty() {
        into.extend(places.iter().map(|word| Access::new(Touch::Read, word)));
    }
    let written = expression.outputs.iter().filter_map(|at| command.words.get(*at));
    into.extend(written.map(|file| Access::new(Touch::Write, file)));
}

/// Whether a program writes files that its words name, or changes who may use them.
fn writes_words(texts: &[&str], catalogue: Catalogue) -> bool {
    let Some(usage) = catalogue.usage(texts, &|_| false) else { return false };
    let files = usage.files();
    let is_needed = files.writes_with.is_empty() || usage.has(texts, &files.writes_with);
    (files.writes != Words::None && is_needed)
        || matches!(files.how, Some(FileHow::Rights | FileHow::Dd | FileHow::Mount))
}

/// An archive that is unpacked may contain any file; what is packed may be removed.
pub fn unpack(
    command: &Command,
    operation: Operation<'_>,
    (usage, given): (&Usage, &Operands<'_>),
    into: &mut Vec<Access>,
) {
    let words = || given.words.iter().filter_map(|index| command.words.get(*index));
    if given.has(Role::Removes) {
        into.extend(words().map(|word| Access::new(Touch::WriteAll, word)));
    }
    // An option that runs a program may unpack, too.
    let changes = usage.form.effect.map(|terms| terms.changes_with).unwrap_or_default();
    let mode = command.words.get(1).map_or("", |word| word.text.as_str());
    if given.states(&changes) && (mode.contains('x') || mode.starts_with("--")) {
        into.push(Access::named(Touch::WriteAll, ".", false));
    }
    match operation {
        Operation::Unpacks => {}
        Operation::Packs(file) => {
            let word = command.words.iter().rev().find(|word| word.text.ends_with(file));
            let unknown = word.is_none_or(|word| word.unknown.is_some());
            return into.push(Access::named(Touch::Write, file.to_owned(), unknown));
        }
        // In doubt, it unpacks.
        Operation::Unclear if given.has(Role::Unpacks) => {}
        Operation::Looks | Operation::Unclear => return,
    }
    let mut folders: Vec<Word> = given.places(Role::Folder).filter_map(|at| command.value(at)).collect();
    let stated = words().nth(1).filter(|_| usage.files().writes == Words::Only(1));
    folders.extend(stated.cloned());
    // Names that begin at the root are unpacked there.
    folders.extend(given.has(Role::Absolute).then(|| Word::literal("/")));
    if folders.is_empty() {
        folders.push(Word::literal("."));
    }
    into.extend(folders.iter().map(|folder| Access::new(Touch::WriteAll, folder)));
}
