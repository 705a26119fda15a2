//! Where a shell is: `cd`, `pushd`, and the folders that variables lead it to.

use super::invocation::Invocation;
use crate::shell::evaluator::Evaluator;
use crate::shell::shared::Shared;
use crate::shell::state::Shell;
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
    shell.enter_one_of(found);
    shell.old_cwd = before;
}

/// The folders that a word may name: below the working folder, or one of `CDPATH`, or the value of a variable.
fn meant(evaluator: &Evaluator, shell: &Shell, folder: &str) -> Vec<Option<String>> {
    if !is_known(folder) {
        // The last name in `cd "$DIR/jellyfin"` is known.
        let last = folder.rsplit('/').next().unwrap_or_default();
        let at_home = evaluator.path_of(shell, folder).filter(|path| path.starts_with('/'));
        let keeps_name = folder.contains('/') && !last.is_empty() && is_known(last) && last != "..";
        let shown = evaluator.unknowns.show(folder);
        // Where `..` leads behind a part that is not known, is not known.
        if folder.split('/').any(|name| name.ends_with("..")) {
            return vec![None];
        }
        return vec![at_home.or_else(|| Some(shown).filter(|shown| keeps_name || shown.starts_with("$(")))];
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
