//! Programs that copy or move files: `cp` and similar programs, and containers that mount folders of this machine.

use super::access::{Access, Touch};
use super::search::search;
use crate::lists::{ANSIBLE_FILE_MODULES, ANSIBLE_PATHS};
use crate::paths::word_paths::{LocalMachine, word_paths};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::program::{FileHow, HostWords, How, Role};
use opsctl_reader::shell::{AnsibleCall, Command, Word, host_of};
use std::sync::Arc;

/// `cp`, `mv` and similar programs: the file that is written is the last word, or below the value of an option.
pub(super) fn transfer(
    command: &Command,
    usage: &Usage,
    given: &Operands<'_>,
    machine: &dyn LocalMachine,
    into: &mut Vec<Access>,
) {
    let how = usage.files().how;
    let (moves, links) = (how == Some(FileHow::Move), how == Some(FileHow::Link) || given.has(Role::Links));
    let takes = given.has(Role::Removes);
    let deep = takes || !(links || how == Some(FileHow::Install));
    let mut words: Vec<Word> =
        given.words.iter().filter_map(|index| command.words.get(*index)).cloned().collect();
    let names_hosts = usage.program.host_words == Some(HostWords::Remote);
    let remote =
        |word: &Word| names_hosts && word.text.split('/').next().is_some_and(|head| head.contains(':'));
    let copies_folders = given.has(Role::Recursive);
    let mut folders: Vec<Word> = given.places(Role::Folder).filter_map(|at| command.value(at)).collect();
    let is_folder = !folders.is_empty();
    if !is_folder && links && words.len() == 1 {
        folders.push(Word::literal("."));
    }
    if folders.is_empty() {
        folders.extend(words.pop());
    }
    if keeps_links(usage, given) {
        let local = words.iter().filter(|source| !remote(source));
        into.extend(local.map(|source| Access::new(Touch::Linked, source)));
    }
    if links {
        into.extend(words.iter().flat_map(|source| targets_of_link(source, &folders)));
    }
    for source in &words {
        if copies_folders && remote(source) {
            into.extend(copied_folder(source));
        } else if copies_folders {
            into.extend(is_home(source, command, machine).then(|| all_below(source)));
            into.push(Access::new(Touch::ReadAll, source));
        }
        if moves || (takes && !remote(source)) {
            into.push(Access::new(Touch::WriteAll, source));
        } else if links {
            // It, and what lies below it, could be written through a second name.
            into.push(Access::new(Touch::WriteAll, source));
        }
    }
    let touch = if deep { Touch::WriteAll } else { Touch::Write };
    for target in folders.iter().filter(|target| !remote(target)) {
        let into_folder = is_folder
            || given.has(Role::KeepsPaths)
            || words.len() > 1
            || target.text.ends_with('/')
            || word_paths(target, command, machine).paths.iter().any(|path| machine.is_folder(path));
        if !into_folder {
            into.push(Access::new(touch, target));
            continue;
        }
        for source in &words {
            let unknown = target.unknown.is_some() || source.unknown.is_some();
            let below = |name: &str| format!("{}/{name}", target.text.trim_end_matches('/'));
            let mut names =
                vec![source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()];
            if given.has(Role::KeepsPaths) {
                // `rsync -R /tmp/./etc/x /`: behind the dot.
                let kept = source.text.rsplit("/./").next().unwrap_or_default();
                names.push(kept.trim_matches('/').to_owned());
            }
            // The names of the files in a copied folder are unknown.
            if (usage.program.key == "rsync" && source.text.ends_with('/'))
                || source.text.ends_with("/.")
                || source.text == "."
            {
                names = vec![".".to_owned()];
            } else if source.text.contains(['*', '?', '[']) {
                let found = word_paths(source, command, machine).paths;
                names.extend(found.iter().filter_map(|path| path.rsplit('/').next()).map(str::to_owned));
            }
            into.extend(names.iter().map(|name| Access::named(touch, below(name), unknown)));
        }
    }
}

/// Whether links are copied as links: of several options, the last one decides.
fn keeps_links(usage: &Usage, given: &Operands<'_>) -> bool {
    let (keeps, follows) = (usage.role(Role::KeepsLinks), usage.role(Role::FollowsLinks));
    let decisive = given.options.iter().rev().map(|(name, _)| name);
    let mut decisive = decisive.filter(|name| name.is_any(&keeps) || name.is_any(&follows));
    decisive.next().is_some_and(|name| name.is_any(&keeps))
}

/// What a new link leads to: a relative path begins at the folder of the link.
fn targets_of_link(source: &Word, folders: &[Word]) -> Vec<Access> {
    let is_relative = !source.text.starts_with(['/', '~', '$']);
    let below = |folder: &Word| {
        let parent = folder.text.rsplit_once('/').map_or("", |(parent, _)| parent);
        let unknown = folder.unknown.is_some() || source.unknown.is_some();
        let from = |folder: &str| Access::named(Touch::Linked, format!("{folder}/{}", source.text), unknown);
        [from(parent), from(folder.text.trim_end_matches('/'))]
    };
    let placed = folders.iter().filter(|folder| is_relative && folder.text.contains('/')).flat_map(below);
    let is_there = !is_relative || folders.iter().all(|folder| !folder.text.contains('/'));
    placed.chain(is_there.then(|| Access::new(Touch::Linked, source))).collect()
}

/// What a module of Ansible writes, as a command on its hosts.
fn module_files(command: &Command, usage: &Usage) -> Option<Command> {
    let texts = command.texts();
    let call = AnsibleCall::of(&texts, usage);
    let pattern = call.pattern.filter(|_| !call.quiet && ANSIBLE_FILE_MODULES.contains(&call.name()))?;
    let paths = ANSIBLE_PATHS.iter().filter_map(|key| call.argument(key));
    let mut words: Vec<Word> = std::iter::once("tee").chain(paths).map(Word::literal).collect();
    if words.len() == 1 {
        // Its arguments are in a file.
        words.push(Word::literal("/"));
    }
    let hosts = Arc::new(command.hosts.iter().cloned().chain([pattern.to_owned()]).collect());
    Some(Command { words, hosts, cwd: Some("~".to_owned()), redirections: vec![], ..command.clone() })
}

/// A copy to another host as a command there: `scp x nas:/etc/y` writes `/etc/y` on `nas`.
pub fn received(command: &Command, catalogue: Catalogue) -> Option<Command> {
    let usage = catalogue.usage(&command.texts(), &|_| false)?;
    if usage.form.runs.is_some_and(|runs| runs.how == How::Ansible) {
        return module_files(command, &usage);
    }
    let (target, before) = command.words.split_last()?;
    let (head, path) = target.text.split_once(':')?;
    let names_hosts = usage.program.host_words == Some(HostWords::Remote);
    let host = host_of(head).filter(|_| names_hosts && !head.contains('/') && target.unknown.is_none())?;
    let words = before.iter().cloned().chain([Word::literal(path.trim_start_matches(':'))]).collect();
    let hosts = Arc::new(command.hosts.iter().cloned().chain([host]).collect());
    Some(Command { words, hosts, cwd: Some("~".to_owned()), redirections: vec![], ..command.clone() })
}

/// An archiver that packs the home of a user.
pub(super) fn homes_packed(
    command: &Command,
    given: &Operands<'_>,
    machine: &dyn LocalMachine,
    into: &mut Vec<Access>,
) {
    for word in given.words.iter().filter_map(|index| command.words.get(*index)) {
        let below = given.values(Role::Folder).map(|folder| Word::literal(format!("{folder}/{}", word.text)));
        for source in std::iter::once(word.clone()).chain(below) {
            if is_home(&source, command, machine) {
                into.push(all_below(&source));
            }
        }
    }
}

/// What an archiver packs, with everything below it: below the folders in which it works, too.
pub(super) fn packed(command: &Command, given: &Operands<'_>, into: &mut Vec<Access>) {
    for word in given.words.iter().filter_map(|index| command.words.get(*index)) {
        into.push(Access::new(Touch::ReadAll, word));
        into.extend(given.places(Role::Folder).filter_map(|at| command.value(at)).map(|folder| {
            let unknown = folder.unknown.is_some() || word.unknown.is_some();
            Access::named(Touch::ReadAll, format!("{}/{}", folder.text, word.text), unknown)
        }));
    }
}

/// A file or a folder that is copied with everything below it: as it is written, on a host or in a container (`web:/etc`), and in a
/// guest (`web/etc`).
pub(super) fn copied_folder(word: &Word) -> Vec<Access> {
    let head = word.text.split('/').next().unwrap_or_default();
    let Some(colon) = head.rfind(':') else {
        let inside = word.text.find('/').filter(|at| *at > 0 && !word.text.starts_with(['.', '~', '$']));
        let inside = inside.map(|at| Access::new(Touch::ReadAll, &word.tail(at)));
        return std::iter::once(Access::new(Touch::ReadAll, word)).chain(inside).collect();
    };
    let path = word.tail(colon + 1);
    if path.text.starts_with(['/', '~', '$']) {
        return vec![Access::new(Touch::ReadAll, &path)];
    }
    vec![Access::named(Touch::ReadAll, format!("~/{}", path.text), path.unknown.is_some())]
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

/// Whether the word names the home of a user, or a folder that contains homes. Of other folders, files that are
/// secret by their name remain so in a copy: a backup of a service with its `.env` is no disclosure.
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
pub(super) fn cloned(command: &Command, usage: &Usage, given: &Operands<'_>, into: &mut Vec<Access>) {
    let texts = command.texts();
    let words: Vec<&Word> = given.words.iter().filter_map(|index| command.words.get(*index)).collect();
    let Some(word) = words.get(1).or(words.first()) else { return };
    let address = word.text.trim_end_matches('/');
    let last = address.rsplit(['/', ':']).next().unwrap_or(address);
    let target = if words.len() > 1 { &word.text } else { last.trim_end_matches(".git") };
    let folder = usage.operands_before(&texts).places(Role::Folder).last().and_then(|at| command.value(at));
    let path = match &folder {
        Some(folder) if !target.starts_with(['/', '~', '$']) => format!("{}/{target}", folder.text),
        _ => target.to_owned(),
    };
    let unknown = word.unknown.is_some() || folder.is_some_and(|folder| folder.unknown.is_some());
    into.push(Access::named(Touch::Write, path, unknown));
}

/// Files that are copied into or out of a container.
pub(super) fn copied(command: &Command, given: &Operands<'_>, into: &mut Vec<Access>) {
    let words: Vec<&Word> = given.words.iter().filter_map(|index| command.words.get(*index)).collect();
    let [source, target] = words.as_slice() else { return };
    let inside = |word: &Word| word.text.split('/').next().is_some_and(|head| head.contains(':'));
    // `NAMESPACE/POD:PATH`.
    let is_inside = !source.text.starts_with(['/', '.', '~']);
    let path = source.text.find(':').filter(|_| is_inside).map_or(0, |colon| colon + 1);
    let source = source.tail(path);
    let is_kept = path > 0 && target.text != "-" && !given.has(Role::FollowsLinks);
    into.extend(is_kept.then(|| Access::new(Touch::Linked, &source)));
    into.push(Access::new(Touch::ReadAll, &source));
    // A folder is read with everything below it. A name with an ending is that of a file.
    let last = source.text.trim_end_matches(['/', '.']).rsplit('/').next().unwrap_or_default();
    let is_file = last.trim_start_matches('.').contains('.') && !source.text.ends_with(['/', '.']);
    let is_read = path > 0 && target.text == "-" && !is_file;
    into.extend(is_read.then(|| Access { is_inside: true, ..all_below(&source) }));
    // In a container, a path begins at the root or in a folder that its image states.
    let relative = Some(&source).filter(|source| path > 0 && !source.text.starts_with('/'));
    into.extend(
        relative.map(|source| {
            Access::named(Touch::ReadAll, format!("/{}", source.text), source.unknown.is_some())
        }),
    );
    // An archive on the standard output touches no file.
    let target = if target.text == "-" { &Word::literal("/dev/stdout") } else { *target };
    into.extend((!inside(target)).then(|| Access::new(Touch::WriteAll, target)));
}

/// Folders of this machine that a container mounts.
pub(super) fn mounted(command: &Command, given: &Operands<'_>, into: &mut Vec<Access>) {
    for value in given.places(Role::Mounts).filter_map(|at| command.value(at)) {
        let source = if value.text.contains("src=") || value.text.contains("source=") {
            let mut parts = value.text.split(',');
            parts.find_map(|part| part.strip_prefix("src=").or_else(|| part.strip_prefix("source=")))
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
        into.extend((!read_only).then(|| access(Touch::Shared)));
    }
}
