//! Where a shell is: `cd`, `pushd`, and the folders that variables lead it to.

use std::rc::Rc;
use std::sync::Arc;

use super::invocation::Invocation;
use crate::path::above_home;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::join::add_new;
use crate::shell::shared::Shared;
use crate::shell::state::{MOST_MISSED, Moved, Shell};
use crate::shell::text::is_known;

/// `cd FOLDER`, and `pushd FOLDER`, which keeps the folder before.
pub(super) fn change(evaluator: &Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let is_push = invocation.word(0) == Some("pushd");
    let mut words = invocation.args().map(|field| field.text.as_str());
    let target = words.rfind(|word| *word == "-" || !word.starts_with(['-', '+']));
    let before = shell.cwd.clone();
    let found = match target {
        // The other of the two, or one of them.
        Some("-") | None if is_push => shell.stack.to_vec(),
        // A `cd` that has failed has kept the folder before.
        Some("-") if !shell.missed.is_empty() => vec![shell.old_cwd.clone(), None],
        Some("-") => match Evaluator::variable_text(shell, "OLDPWD") {
            Some(folder) => vec![shell.follow(&folder)],
            None => vec![shell.old_cwd.clone()],
        },
        Some(folder) => meant(evaluator, shell, folder),
        None => vec![shell.is_elsewhere.then(|| "~".to_owned())],
    };
    if is_push {
        let kept = if invocation.args().any(|field| field.text == "-n") {
            found.clone()
        } else {
            vec![before.clone()]
        };
        Shared::make_mut(&mut shell.stack).extend(kept);
        if invocation.args().any(|field| field.text == "-n") {
            return;
        }
    }
    let first = target.unwrap_or_default();
    let is_certain = invocation.fields.len() <= 2 && ALWAYS_THERE.contains(&first) && !is_push;
    enter(shell, found, first, is_certain);
    shell.old_cwd = before;
}

impl Evaluator {
    /// The folder in which a program runs another one.
    pub fn go(&self, shell: &mut Shell, folder: &str) {
        if is_known(folder) {
            shell.go(folder);
        } else if let Some(paths) = self.behind_parents(shell, folder) {
            shell.enter_one_of(paths.into_iter().map(Some).collect());
        } else {
            shell.enter(Some(self.unknowns.show(folder)).filter(|shown| shown.contains('/')));
        }
    }
}

impl Evaluator {
    /// Where a path with parts that are not written out, and with `..`, leads; `None` where that is not known.
    pub fn behind_parents(&self, shell: &Shell, folder: &str) -> Option<Vec<String>> {
        folder.split('/').any(|name| name == "..").then_some(())?;
        let shown = self.unknowns.show(folder);
        let known = || self.path_of(shell, folder).filter(|path| path.starts_with('/'));
        let known = Some(()).filter(|()| !shown.starts_with("$(")).and_then(|()| known());
        known.map(|path| vec![path]).or_else(|| above_home(&shown))
    }
}

/// Folders that `cd` always finds.
const ALWAYS_THERE: [&str; 6] = ["", "-", "/", "/tmp", "/var/tmp", "/tmp/"];

/// `popd`.
pub(super) fn leave(shell: &mut Shell) {
    enter(shell, shell.stack.to_vec(), "/", false);
}

/// Enters one of these folders, to which a word leads, or stays where the shell is.
fn enter(shell: &mut Shell, folders: Vec<Option<String>>, word: &str, is_certain: bool) {
    let before = (shell.possible_folders(), Arc::clone(&shell.missed));
    let worked = before.1.iter().map(|folder| Shell::follow_from(folder.as_deref(), word));
    let mut worked: Vec<Option<String>> = worked.collect();
    shell.enter_one_of(folders);
    worked.retain(|folder| *folder != shell.cwd);
    shell.missed = Arc::new(worked);
    if is_certain {
        return;
    }
    let mut missed = shell.missed.to_vec();
    add_new(&mut missed, before.0.iter().chain(before.1.iter()).cloned().collect());
    missed.retain(|folder| folder.is_none() || *folder != shell.cwd);
    // Each relative `cd` doubles them.
    missed.truncate(MOST_MISSED + 1);
    let worked = std::mem::replace(&mut shell.missed, Arc::new(missed));
    shell.moved = Some(Rc::new(Moved { missed: worked, before, is_negated: false }));
}

/// The folders that a word may name: below the working folder, or one of `CDPATH`, or the value of a variable.
fn meant(evaluator: &Evaluator, shell: &Shell, folder: &str) -> Vec<Option<String>> {
    if !is_known(folder) {
        // The last name in `cd "$DIR/jellyfin"` is known.
        let last = folder.rsplit('/').next().unwrap_or_default();
        let keeps_name = folder.contains('/') && !last.is_empty() && is_known(last) && last != "..";
        let shown = evaluator.unknowns.show(folder);
        // What is printed may be a path from the root.
        let is_printed = shown.starts_with("$(");
        let at_home = evaluator.path_of(shell, folder).filter(|path| path.starts_with('/') && !is_printed);
        // Where `..` leads behind a part that is not known, is not known.
        if folder.split('/').any(|name| name.ends_with("..")) {
            let found = evaluator.behind_parents(shell, folder);
            return found.map_or_else(|| vec![None], |paths| paths.into_iter().map(Some).collect());
        }
        if let Some(earlier) = earlier(shell, &shown) {
            return earlier;
        }
        return vec![at_home.or_else(|| Some(shown).filter(|_| keeps_name || is_printed))];
    }
    let mut found = vec![shell.follow(folder)];
    if folder.starts_with(['/', '.']) {
        return found;
    }
    let others = Evaluator::variable_text(shell, "CDPATH").unwrap_or_default();
    let others = others.split(':').filter(|other| !other.is_empty());
    found.extend(others.map(|other| shell.follow(&format!("{other}/{folder}"))));
    if shell.enters_variables {
        found.extend(Evaluator::variable_text(shell, folder).map(|folder| shell.follow(&folder)));
    }
    found
}

/// The folders that `~-`, `~+` and `~1` may mean where that is not certain.
fn earlier(shell: &Shell, shown: &str) -> Option<Vec<Option<String>>> {
    let (name, rest) = shown.split_once('/').unwrap_or((shown, ""));
    let name = name.trim_start_matches(['$', '{']).trim_end_matches('}');
    let stack = match name {
        "OLDPWD" => vec![shell.old_cwd.clone()],
        "PWD" => vec![shell.cwd.clone()],
        _ if name.starts_with("DIRSTACK") => shell.stack.iter().chain([&shell.cwd]).cloned().collect(),
        _ => return None,
    };
    let below = |folder: &Option<String>| Shell::follow_from(folder.as_deref(), rest);
    let mut found: Vec<Option<String>> = stack.iter().chain(shell.missed.iter()).map(below).collect();
    found.push(None);
    Some(found)
}
