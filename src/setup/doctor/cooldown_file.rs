//! The check of `cooldown.json`.

use super::examined::Examined;
use super::finding::Finding;
use opsctl_ledger::cooldown::cooldown_file::{CooldownFile, CooldownFileError};
use opsctl_policy::model::rights::policy::OnFailure;

const CHECK: &str = "cooldown file";

/// Checks that `cooldown.json` can be read, if it exists.
pub fn cooldown_file(examined: &Examined<'_>) -> Finding {
    if examined.environment.guard.is_some() {
        return Finding::ok(CHECK, "the guard has it; run `opsctl doctor` on its side");
    }
    let path = examined.environment.cooldown_file();
    let error = match CooldownFile::read(&path) {
        Ok(_) => return Finding::ok(CHECK, path.display().to_string()),
        Err(error @ (CooldownFileError::Missing(_) | CooldownFileError::Empty(_))) => {
            return Finding::ok(CHECK, error.to_string());
        }
        Err(error) => error.to_string(),
    };
    let (what, remedy) = error.split_once("; ").unwrap_or((&error, "fix it or move it away"));
    match examined.policy.installation.policy.on_failure {
        OnFailure::Closed => Finding::failed(
            CHECK,
            format!("{what}: actions are denied, because on_failure is closed"),
            remedy,
        ),
        OnFailure::Open => {
            Finding::warning(CHECK, format!("{what}: actions are counted from the ledger alone"), remedy)
        }
    }
}
