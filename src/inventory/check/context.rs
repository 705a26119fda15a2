//! The files that sessions are given.

use serde_saphyr::Spanned;

use super::{Checked, entries, wrong};
use crate::inventory::error::Mistake;
use crate::inventory::wire_context::{ContextWire, RoleWire};
use crate::model::context::{ContextPolicy, Role, is_role};
use crate::model::policy::is_model;
use crate::policy::file_entry;

/// The smallest and the largest window that can be meant, in tokens.
const WINDOWS: std::ops::RangeInclusive<u32> = 1_000..=100_000_000;

/// Checks what is listed. Whether the files exist is told to each session, for they come and go.
pub fn check(wire: ContextWire) -> Checked<ContextPolicy> {
    let mut policy = ContextPolicy { files: check_files(wire.files)?, ..ContextPolicy::default() };
    for (number, files) in entries(wire.tiers) {
        let slot = number.value.parse().ok().and_then(|n: usize| n.checked_sub(1));
        let Some(slot) = slot.and_then(|n| policy.tiers.get_mut(n)) else {
            return Err(wrong(&number, "is not a tier", "the tiers are `1`, `2` and `3`"));
        };
        *slot = check_files(files)?;
    }
    policy.roles = entries(wire.roles).map(|(name, role)| check_role(name, role)).collect::<Checked<_>>()?;
    policy.role_folder = wire.role_folder.map(check_entry).transpose()?;
    policy.windows =
        entries(wire.windows).map(|(model, window)| check_window(&model, &window)).collect::<Checked<_>>()?;
    Ok(policy)
}

fn check_role(name: Spanned<String>, wire: RoleWire) -> Checked<Role> {
    if !is_role(&name.value) {
        return Err(wrong(
            &name,
            "is not the name of a role",
            "begin with a letter or digit and go on with letters, digits, `.`, `_` and `-`, 64 at most",
        ));
    }
    Ok(Role {
        name: name.value,
        file: wire.file.map(check_entry).transpose()?,
        files: check_files(wire.files)?,
    })
}

fn check_files(files: Vec<Spanned<String>>) -> Checked<Vec<String>> {
    files.into_iter().map(check_entry).collect()
}

fn check_entry(entry: Spanned<String>) -> Checked<String> {
    match file_entry::check(&entry.value) {
        Ok(()) => Ok(entry.value),
        Err(error) => Err(wrong(
            &entry,
            &format!("is no file that a session can be given: {error}"),
            "write a path or a glob such as `docs/network.md`, `runbooks/**/*.md` or `${PROJECT_PATH}/CLAUDE.md`",
        )),
    }
}

fn check_window(model: &Spanned<String>, window: &Spanned<u32>) -> Checked<(String, u32)> {
    if !is_model(&model.value) {
        return Err(wrong(
            model,
            "is not the name of a model",
            "write one such as `claude-opus-5`, or its beginning",
        ));
    }
    if !WINDOWS.contains(&window.value) {
        let what = format!("`{}` tokens are no window of a model", window.value);
        return Err(Mistake::at(window.referenced, what, "write a number such as 200000".to_owned()));
    }
    Ok((model.value.clone(), window.value))
}
