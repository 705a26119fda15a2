//! The client's extensions: whether one of them is a mod, and the user's own ones in the home of a rehearsed session.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::report::{GuaranteeStatus, Seen};
use crate::setup::doctor::client::{bare, folder, locations};
use crate::setup::doctor::hooks::mods::{self, CATALOGUES, FOLDERS};
use crate::setup::doctor::hooks::survey;
use crate::setup::doctor::{Condition, Finding};

/// The key of the user's settings that enables installed plugins.
const ENABLED: &str = "enabledPlugins";

/// Looks for mods among the extensions of the user and of `project`.
pub fn find_mods(project: &Path) -> Seen {
    let found = Finding::of(mods::CHECK, mods::check(&survey(&locations(project), bare())));
    let failed = found.condition == Condition::Failed;
    let outcome = if failed { GuaranteeStatus::Fail } else { GuaranteeStatus::Pass };
    let remedy = found.remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
    (outcome, format!("{}{remedy}", found.what))
}

/// Copies the user's extensions, and which of them are enabled, to the client folder of a session. Credentials stay.
pub fn copy_to(client_folder: &Path) -> io::Result<()> {
    let Some(user) = folder() else { return Ok(()) };
    fs::create_dir_all(client_folder)?;
    for name in FOLDERS {
        copy(&user.join(name), &client_folder.join(name))?;
    }
    let settings = fs::read(user.join("settings.json")).unwrap_or_default();
    let mut settings: Map<String, Value> = serde_json::from_slice(&settings).unwrap_or_default();
    settings.retain(|key, _| key == ENABLED);
    fs::write(client_folder.join("settings.json"), Value::Object(settings).to_string())
}

/// Copies a folder with links as links. What is not there, or may not be read by this user, is left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir_all(to)?;
    for entry in entries.flatten() {
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() {
            let target: PathBuf = fs::read_link(&path)?;
            symlink(from.join(target), copied)?;
        } else if kind.is_dir() {
            if entry.file_name() != CATALOGUES && entry.file_name() != ".git" {
                copy(&path, &copied)?;
            }
        } else if kind.is_file() && fs::File::open(&path).is_ok() {
            fs::copy(&path, &copied)?;
        }
    }
    Ok(())
}
