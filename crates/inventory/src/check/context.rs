//! The files that sessions load when they start.

use crate::spanned::Spanned;

use super::values::{check_model, tier_slot};
use crate::error::{Checked, Mistake, Mistakes};
use crate::yaml::context::{ContextWire, RoleWire};
use crate::yaml::forms::entries;
use crate::yaml::values::texts;
use opsctl_policy::model::installation::context::{ContextPolicy, Role, is_role};

/// The valid sizes of a context window, in tokens.
const WINDOWS: std::ops::RangeInclusive<u32> = 1_000..=100_000_000;

/// Checks the entries. Whether their files exist is checked when a session starts.
pub fn check(wire: ContextWire, found: &mut Mistakes) -> ContextPolicy {
    let mut policy = ContextPolicy { files: texts(wire.files), ..ContextPolicy::default() };
    for (number, files) in entries(wire.tiers) {
        if let Some(slot) = found.keep(tier_slot(&mut policy.tiers, &number)) {
            *slot = texts(files);
        }
    }
    policy.roles = entries(wire.roles).map(|(name, role)| check_role(name, role, found)).collect();
    policy.role_folder = wire.role_folder.map(|folder| folder.0);
    policy.windows =
        found.keep_all(entries(wire.windows).map(|(model, window)| check_window(&model, &window)));
    policy
}

fn check_role(name: Spanned<String>, wire: RoleWire, found: &mut Mistakes) -> Role {
    let remedy =
        "start with a letter or digit, and use letters, digits, `.`, `_` and `-`, at most 64 characters";
    found.keep(Mistake::unless(is_role(&name.value), &name, "is not a role name", remedy));
    Role { name: name.value, file: wire.file.map(|file| file.0), files: texts(wire.files) }
}

fn check_window(model: &Spanned<String>, window: &Spanned<u32>) -> Checked<(String, u32)> {
    check_model(model)?;
    if !WINDOWS.contains(&window.value) {
        let what = format!("`{}` is not a valid context window", window.value);
        let remedy = format!("write a number of tokens from {} to {}", WINDOWS.start(), WINDOWS.end());
        return Err(Mistake::at(window.referenced, what, remedy));
    }
    Ok((model.value.clone(), window.value))
}
