//! Programs that copy or move files: `cp` and similar programs, and containers that mount folders of this machine.

use super::access::{Access, Touch};
use super::search::search;
use crate::catalogue::options::{Item, Scanner};
use crate::policy::word_paths::{LocalMachine, word_paths};
use crate::shell::{Command, Word};

/// `cp`, `mv` and similar programs: the file that is written is the last word, or the value of `-t`.
pub(super) fn transfer(
    command: &Command,
    program: &str,
    texts: &[&str],
    machine: &dyn LocalMachine,
    into: &mut Vec<Access>,
) {
    let valued: &[&str] = match program {
        "rsync" => &[
            "-e",
            "--rsh",
            "--exclude",
            "--include",
            "--filter",
            "-f",
            "--exclude-from",
            "--port",
            "--chown",
            "--chmod",
        ],
        "scp" => &["-i", "-P", "-F", "-o", "-J", "-c", "-l", "-S"],
        "install" => &["-m", "--mode", "-o", "--owner", "-g", "--group", "-t", "--target-directory", "-S"],
        _ => &["-t", "--target-directory", "-S", "--suffix"],
    };
    let mut words = Vec::new();
    let mut folder: Option<Word> = None;
    let mut deep = program != "install" && program != "ln";
    let (mut deletes, mut takes) = (false, false);
    for item in Scanner::new(texts, 1, valued) {
        match item {
            Item::Positional(index) => words.extend(command.words.get(index).cloned()),
            Item::Option(name, Some(at)) if name.is_any(&["-t", "--target-directory"]) => {
                folder = command.words.get(at.index).map(|word| word.tail(at.offset));
            }
            Item::Option(name, _) => {
                takes |= name.is_any(&["--remove-source-files", "--remove-sent-files"]);
                deletes |= name.is_any(&["--delete", "--delete-after", "--delete-excluded"]);
            }
            Item::Dashes(_) => {}
        }
    }
    deep |= deletes || takes;
    let remote = |word: &Word| {
        matches!(program, "scp" | "rsync")
            && word.text.split('/').next().is_some_and(|head| head.contains(':'))
    };
    let is_folder = folder.is_some();
    let copies_folders = texts.iter().skip(1).any(|text| {
        matches!(*text, "--recursive" | "--archive")
            || text
                .strip_prefix('-')
                .is_some_and(|letters| !letters.starts_with('-') && letters.contains(['r', 'R', 'a']))
    });
    if folder.is_none() && program == "ln" && words.len() == 1 {
        folder = Some(Word::literal("."));
    }
    let Some(target) = folder.or_else(|| words.pop()) else { return };
    for source in &words {
        if copies_folders
            && matches!(program, "cp" | "rsync" | "scp")
            && !remote(source)
            && is_home(source, command, machine)
        {
            into.push(all_below(source));
        }
        if program == "mv" || (takes && !remote(source)) {
            into.push(Access::new(Touch::WriteAll, source));
        } else if program == "ln" {
            // It could be written through a second name.
            into.push(Access::new(Touch::Write, source));
        }
    }
    if remote(&target) {
        return;
    }
    let into_folder = is_folder
        || words.len() > 1
        || target.text.ends_with('/')
        || word_paths(&target, command, machine).paths.iter().any(|path| machine.is_folder(path));
    if !into_folder {
        let touch = if deep { Touch::WriteAll } else { Touch::Write };
        into.push(Access::new(touch, &target));
        return;
    }
    for source in &words {
        let unknown = target.unknown.is_some() || source.unknown.is_some();
        let below = |name: &str| format!("{}/{name}", target.text.trim_end_matches('/'));
        let mut names =
            vec![source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()];
        // The names of the files in a copied folder are unknown.
        if (program == "rsync" && source.text.ends_with('/'))
            || source.text.ends_with("/.")
            || source.text == "."
        {
            names = vec![".".to_owned()];
        } else if source.text.contains(['*', '?', '[']) {
            let found = word_paths(source, command, machine).paths;
            names.extend(found.iter().filter_map(|path| path.rsplit('/').next()).map(str::to_owned));
        }
        let touch = if deep { Touch::WriteAll } else { Touch::Write };
        into.extend(names.iter().map(|name| Access::named(touch, below(name), unknown)));
    }
}

/// An archiver that packs the home of a user.
pub(super) fn homes_packed(
    command: &Command,
    texts: &[&str],
    machine: &dyn LocalMachine,
    into: &mut Vec<Access>,
) {
    // `tar -C FOLDER .`, also as one word.
    let folder = texts.iter().enumerate().find_map(|(index, text)| {
        let value = text.strip_prefix("--directory=").or_else(|| text.strip_prefix("-C"))?;
        if value.is_empty() { texts.get(index + 1).copied() } else { Some(value) }
    });
    for word in command.words.iter().skip(1).filter(|word| !word.text.starts_with('-')) {
        let below = folder.map(|folder| Word::literal(format!("{folder}/{}", word.text)));
        for source in std::iter::once(word).chain(&below) {
            if is_home(source, command, machine) {
                into.push(all_below(source));
            }
        }
    }
}

/// All files of a folder: of `~/.` those of `~`.
fn all_below(folder: &Word) -> Access {
    let place = match folder.text.trim_end_matches(['/', '.']) {
        "" if folder.text.starts_with('/') => "/",
        "" => ".",
        place => place,
    };
    search(place, "*", true)
}

/// Whether the word names the home of a user, or a folder that contains homes. A copy of other folders, such as a backup
/// of a service with its `.env`, is no disclosure.
fn is_home(word: &Word, command: &Command, machine: &dyn LocalMachine) -> bool {
    let own = machine.variable("HOME");
    word.text.trim_end_matches(['/', '.']) == "~"
        || word_paths(word, command, machine).paths.iter().any(|path| {
            matches!(path.as_str(), "/" | "/home" | "/root")
                || path.strip_prefix("/home/").is_some_and(|name| !name.contains('/'))
                || own.as_ref() == Some(path)
        })
}

/// `git -C FOLDER clone ADDRESS [TARGET]`: without a target, the folder has the last name of the address.
pub(super) fn cloned(command: &Command, texts: &[&str], rest: usize, value: &[&str], into: &mut Vec<Access>) {
    let words = positionals(command, texts, value, rest);
    let Some(word) = words.get(1).or(words.first()) else { return };
    let address = word.text.trim_end_matches('/');
    let last = address.rsplit(['/', ':']).next().unwrap_or(address);
    let target = if words.len() > 1 { &word.text } else { last.trim_end_matches(".git") };
    let before = command.words.iter().take(rest).zip(command.words.iter().skip(1));
    let folder = before.rev().find(|(option, _)| option.text == "-C").map(|(_, folder)| folder);
    let path = match folder {
        Some(folder) if !target.starts_with(['/', '~', '$']) => format!("{}/{target}", folder.text),
        _ => target.to_owned(),
    };
    let unknown = word.unknown.is_some() || folder.is_some_and(|folder| folder.unknown.is_some());
    into.push(Access::named(Touch::Write, path, unknown));
}

/// Folders of this machine that a container mounts, and files that are copied into or out of a container.
pub(super) fn engine(command: &Command, texts: &[&str], into: &mut Vec<Access>) {
    if command.variable("DOCKER_HOST").is_some() {
        return;
    }
    let verb =
        texts.iter().skip(1).position(|text| matches!(*text, "run" | "create" | "cp")).map(|at| at + 1);
    let Some(verb) = verb else { return };
    if texts.get(verb) == Some(&"cp") {
        let valued =
            ["-n", "--namespace", "-c", "--container", "--context", "--kubeconfig", "--index", "--retries"];
        let words = positionals(command, texts, &valued, verb + 1);
        if let [source, target] = words.as_slice() {
            let inside = |word: &Word| word.text.split('/').next().is_some_and(|head| head.contains(':'));
            let path = source.text.find(':').filter(|_| inside(source)).map_or(0, |colon| colon + 1);
            into.push(Access::new(Touch::Read, &source.tail(path)));
            // An archive on the standard output touches no file.
            let target = if target.text == "-" { &Word::literal("/dev/stdout") } else { *target };
            into.extend((!inside(target)).then(|| Access::new(Touch::WriteAll, target)));
        }
        return;
    }
    for (at, word) in command.words.iter().enumerate().skip(verb) {
        let next = || command.words.get(at + 1).cloned();
        let value = match word.text.as_str() {
            "-v" | "--volume" | "--mount" => next(),
            text if text.starts_with("--volume=") => Some(word.tail("--volume=".len())),
            text if text.starts_with("--mount=") => Some(word.tail("--mount=".len())),
            text if text.starts_with("-v") && text.len() > 2 => Some(word.tail(2)),
            _ => None,
        };
        let Some(value) = value else { continue };
        let source = if value.text.contains("src=") || value.text.contains("source=") {
            value
                .text
                .split(',')
                .find_map(|part| part.strip_prefix("src=").or_else(|| part.strip_prefix("source=")))
        } else {
            value.text.split(':').next()
        };
        // A name without a slash is a volume.
        let Some(source) =
            source.filter(|source| source.contains('/') || source.starts_with(['~', '.', '$']))
        else {
            continue;
        };
        let read_only =
            value.text.ends_with(":ro") || value.text.contains(":ro,") || value.text.contains("readonly");
        let access = |touch| Access::named(touch, source.to_owned(), value.unknown.is_some());
        into.push(access(Touch::Read));
        into.extend((!read_only).then(|| access(Touch::WriteAll)));
    }
}

/// The words that are neither options nor values of options.
fn positionals<'a>(command: &'a Command, texts: &[&str], valued: &[&str], from: usize) -> Vec<&'a Word> {
    Scanner::new(texts, from, valued)
        .filter_map(|item| if let Item::Positional(index) = item { command.words.get(index) } else { None })
        .collect()
}
