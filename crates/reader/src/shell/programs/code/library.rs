//! Files beside a Python script that stand for a module of its library: Python looks in the folder of a script first.

use crate::languages::names::python;
use crate::shell::disk::{Entry, LONGEST_LISTING};
use crate::shell::evaluator::Evaluator;
use crate::shell::script::Node;
use crate::shell::state::Shell;

/// A file that Python may load from `folder` in place of a module of its library, other than the script itself.
pub(super) fn replaced(evaluator: &Evaluator, shell: &Shell, folder: &str) -> Option<String> {
    let running = evaluator.on_disk.running.last();
    let is_other = |path: &str| running.is_none_or(|running| !running.ends_with(path));
    // What this text writes counts in any folder: it may be moved.
    let written = || {
        let mut paths = evaluator.files.keys().filter_map(|key| Some(key.split_once(':')?.1));
        paths.find(|path| is_module(path) && is_other(path)).map(str::to_owned)
    };
    let named = || {
        let mut found = None;
        evaluator.has_node(|node| {
            let Node::Command(command) = node else { return false };
            let texts = || command.words.iter().skip(1).map(|word| &word.text);
            let files = || command.redirections.iter().map(|file| &file.path.text);
            // `mv x /tmp/q/json`
            let is_folder = |text: &str| {
                text.strip_prefix(folder).is_some_and(|name| python::LIBRARY.has(name.trim_matches('/')))
            };
            let is_one = |text: &&String| (is_module(text) || is_folder(text)) && is_other(text);
            found = texts().chain(files()).find(is_one).cloned();
            found.is_some()
        });
        found
    };
    // A script that is a link counts in the folder that it leads to.
    let behind = evaluator.on_disk.reached.iter().filter_map(|path| Some(path.rsplit_once('/')?.0));
    let mut folders = std::iter::once(folder).chain(behind);
    written().or_else(named).or_else(|| folders.find_map(|folder| on_disk(evaluator, shell, folder)))
}

/// The first such file on the disk.
fn on_disk(evaluator: &Evaluator, shell: &Shell, folder: &str) -> Option<String> {
    let disk = evaluator.disk_of(shell)?;
    let entries = disk.list(folder);
    let is_package = |entry: &Entry| {
        let inside = || disk.list(&format!("{folder}/{}", entry.name));
        entry.is_folder
            && python::LIBRARY.has(&entry.name)
            && inside().iter().any(|inner| inner.name.starts_with("__init__."))
    };
    // A link is no folder here, and may lead to one.
    let is_file =
        |entry: &Entry| !entry.is_folder && (is_module(&entry.name) || python::LIBRARY.has(&entry.name));
    let is_running = |entry: &Entry| {
        evaluator.on_disk.running.last().is_some_and(|path| *path == format!("{folder}/{}", entry.name))
    };
    if entries.len() >= LONGEST_LISTING {
        return Some(folder.to_owned());
    }
    let found = entries.iter().find(|entry| (is_file(entry) || is_package(entry)) && !is_running(entry))?;
    let end = if found.is_folder { "/__init__.py" } else { "" };
    Some(format!("{folder}/{}{end}", found.name))
}

/// Whether a path is that of a module of the library: `json.py`, `json/__init__.py`, `_json.cpython-311-x86_64-linux-gnu.so`.
fn is_module(path: &str) -> bool {
    let mut names = path.rsplit('/');
    let file = names.next().unwrap_or_default();
    let (stem, end) = file.split_once('.').unwrap_or((file, ""));
    let name = if stem == "__init__" { names.next().unwrap_or_default() } else { stem };
    python::LIBRARY.has(name) && [".py", ".pyc", ".so"].iter().any(|one| format!(".{end}").ends_with(one))
}
