//! Editing `cooldown.json` in place: unknown keys, the order of keys and the formatting stay.

use std::fs::{Metadata, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use rustix::fs::Access;
use rustix::io::Errno;

use super::cooldown_file::MAX_BYTES;
use crate::file::folder_lock::{folder_of, turn_in_folder_of};
use crate::file::lock_timeout::BUSY_TIMEOUT;
use crate::time;
use opsctl_machine::plain_file;
use opsctl_machine::plain_file::Content;
use opsctl_machine::write_limit;

/// The content of a new file: that with which Claude Ops begins.
const INITIAL: &str = "{\n  \"services\": {},\n  \"last_run\": null,\n  \"last_daily_digest\": null\n}\n";

const NOT_AN_OBJECT: &str = "it is not an object";

/// The temporary name of the file while it is written.
const UNFINISHED: &str = ".cooldown.json.new";

/// A change of one service's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// Adds an action.
    Add {
        /// `restart` or `redeployment`.
        kind: &'static str,
        /// When it ran.
        at: DateTime<Utc>,
        /// Whether it succeeded; only the shape with objects stores it.
        success: bool,
    },
    /// Sets the number of consecutive healthy checks.
    Streak(u32),
    /// Clears restarts and redeployments.
    Clear,
    /// Removes the entry.
    Remove,
}

opsctl_reader::words! {
    /// A time that the file states for the whole installation, with its key there.
    pub enum Moment {
        /// When all services were last checked.
        LastRun = "last_run",
        /// When the last daily digest was sent.
        LastDailyDigest = "last_daily_digest",
    }
}

/// Why the file is not changed. The text names the file, the cause and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EditError(String);

/// Applies each edit to its service and replaces the file atomically, under the folder lock. An empty or missing file
/// is created.
pub fn edit(path: &Path, edits: &[(&str, Edit)]) -> Result<(), EditError> {
    if edits.is_empty() {
        return Ok(());
    }
    rewrite(path, |text| apply(text, edits))
}

/// Sets a time.
pub fn note(path: &Path, moment: Moment, at: DateTime<Utc>) -> Result<(), EditError> {
    rewrite(path, |text| {
        let root = parsed(if text.trim().is_empty() { INITIAL } else { text })?;
        let file = root.object_value().ok_or(NOT_AN_OBJECT)?;
        set(&file, moment.as_str(), CstInputValue::String(time::write(at)));
        Ok(root.to_string())
    })
}

/// Creates the file, without any service, if it does not exist.
pub fn create_if_missing(path: &Path) -> Result<(), EditError> {
    // Readers report other errors.
    if path.symlink_metadata().err().is_none_or(|error| error.kind() != ErrorKind::NotFound) {
        return Ok(());
    }
    // Another process may have created it while this one waited for the lock.
    rewrite(path, |text| Ok(if text.is_empty() { INITIAL } else { text }.to_owned()))
}

/// Replaces the file atomically, under the folder lock, by what `change` makes of its content.
fn rewrite(path: &Path, change: impl FnOnce(&str) -> Result<String, String>) -> Result<(), EditError> {
    write_limit::fail_beyond();
    let named = path.display();
    let fail = |error: io::Error| EditError(format!("{named} cannot be written ({error})"));
    // Overwriting it would lose the content.
    let foreign = |why: String| {
        let why = format!("because it is not a cooldown file ({why}); fix it or move it away");
        EditError(format!("{named} is not changed, {why}"))
    };
    let _turn = turn_in_folder_of(path, BUSY_TIMEOUT).map_err(fail)?;
    let path = &behind_link(path).map_err(fail)?;
    let before = existing(path).map_err(fail)?;
    let text = match plain_file::read(path, MAX_BYTES) {
        Ok(Content::Bytes(bytes)) => String::from_utf8(bytes).map_err(|error| foreign(error.to_string()))?,
        Ok(Content::TooLarge(bytes)) => return Err(foreign(format!("it has {bytes} bytes"))),
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fail(error)),
    };
    let edited = change(&text).map_err(foreign)?;
    replace(path, before.as_ref(), &edited).map_err(fail)
}

/// The target of a symbolic link, which is replaced instead of the link; any other path as it is.
fn behind_link(path: &Path) -> io::Result<PathBuf> {
    match path.symlink_metadata() {
        Ok(entry) if entry.is_symlink() => path.canonicalize(),
        _ => Ok(path.to_owned()),
    }
}

/// The metadata of the file; `None` if it does not exist. An error if this process has no write permission, although
/// a replacement would not need it: the permission was removed on purpose.
fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    match rustix::fs::access(path, Access::WRITE_OK) {
        Ok(()) => std::fs::metadata(path).map(Some),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn replace(path: &Path, before: Option<&Metadata>, text: &str) -> io::Result<()> {
    let folder = folder_of(path);
    // Always the same name, so that a killed process leaves at most one such file.
    let leftover = folder.join(UNFINISHED);
    match std::fs::remove_file(&leftover) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut temporary = tempfile::Builder::new().prefix(UNFINISHED).rand_bytes(0).tempfile_in(folder)?;
    // The dashboard may run as another user: the file keeps its owner and mode.
    let mode = before.map_or_else(|| Permissions::from_mode(0o644), Metadata::permissions);
    if let Some(before) = before.filter(|file| file.uid() != rustix::process::geteuid().as_raw()) {
        // Only root may change the owner; otherwise the file belongs to this user, with the same mode.
        let _ = fchown(temporary.as_file(), Some(before.uid()), Some(before.gid()));
    }
    temporary.as_file().set_permissions(mode)?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// The text with the edits applied.
fn apply(text: &str, edits: &[(&str, Edit)]) -> Result<String, String> {
    let is_new = text.trim().is_empty();
    let root = parsed(if is_new { INITIAL } else { text })?;
    let file = root.object_value().ok_or(NOT_AN_OBJECT)?;
    let services = object_of(&file, "services")?;
    let objects = !is_new && uses_objects(&services);
    for (name, edit) in edits {
        if *edit == Edit::Remove {
            services.get(name).into_iter().for_each(CstObjectProp::remove);
            continue;
        }
        let service = object_of(&services, name)?;
        change(&service, *edit, objects).ok_or_else(|| format!("a list of `{name}` is not a list"))?;
    }
    Ok(root.to_string())
}

/// Parses strict JSON: content that other readers reject must not be accepted here.
fn parsed(text: &str) -> Result<CstRootNode, String> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| error.to_string())?;
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

/// The object under a key, created if the key is missing.
fn object_of(parent: &CstObject, key: &str) -> Result<CstObject, String> {
    parent.object_value_or_create(key).ok_or_else(|| format!("its `{key}` is not an object"))
}

/// Whether a new service stores objects (`restarts`) rather than plain timestamps (`restart_timestamps`): as another service
/// does. Where none has either, the file is one that Claude Ops has created, whose writers use objects.
fn uses_objects(services: &CstObject) -> bool {
    let has = |ending: &str| {
        let services = services.properties();
        let mut services = services.iter().filter_map(CstObjectProp::object_value);
        services.any(|service| {
            ["restart", "redeployment"].iter().any(|kind| service.get(&format!("{kind}{ending}")).is_some())
        })
    };
    has("s") || !has("_timestamps")
}

fn change(service: &CstObject, edit: Edit, objects: bool) -> Option<()> {
    match edit {
        Edit::Add { kind, at, success } => {
            let (plain, rich) = (format!("{kind}_timestamps"), format!("{kind}s"));
            let as_objects = service.get(&rich).is_some() || (objects && service.get(&plain).is_none());
            let at = CstInputValue::String(time::write(at));
            let (list, entry) = if as_objects {
                let fields =
                    vec![("timestamp".to_owned(), at), ("success".to_owned(), CstInputValue::Bool(success))];
                (rich, CstInputValue::Object(fields))
            } else {
                (plain, at)
            };
            service.array_value_or_create(&list)?.append(entry);
        }
        // The entry itself is removed, not something in it.
        Edit::Remove => {}
        Edit::Streak(count) => {
            set(service, "consecutive_healthy", CstInputValue::Number(count.to_string()));
        }
        Edit::Clear => {
            for list in ["restart_timestamps", "redeployment_timestamps", "restarts", "redeployments"] {
                if let Some(list) = service.get(list) {
                    list.set_value(CstInputValue::Array(vec![]));
                }
            }
        }
    }
    Some(())
}

fn set(object: &CstObject, key: &str, value: CstInputValue) {
    match object.get(key) {
        Some(property) => property.set_value(value),
        None => {
            object.append(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_keep_what_they_do_not_concern_and_refuse_other_content() {
        #[derive(serde::Deserialize)]
        struct Case {
            before: String,
            edits: Vec<(String, String)>,
            after: Option<String>,
            services: Option<serde_json::Value>,
        }
        let cases: Vec<Case> = serde_saphyr::from_str(include_str!("cooldown_edit.yaml")).unwrap();
        for Case { before, edits, after, services } in cases {
            let read = |(service, edit): &(String, String)| match edit.as_str() {
                "clear" => (service.clone(), Edit::Clear),
                "streak" => (service.clone(), Edit::Streak(0)),
                "remove" => (service.clone(), Edit::Remove),
                edit => {
                    let (at, success) = ("2026-03-21T14:22:00Z".parse().unwrap(), edit == "restart");
                    (service.clone(), Edit::Add { kind: "restart", at, success })
                }
            };
            let edits: Vec<(String, Edit)> = edits.iter().map(read).collect();
            let edits: Vec<_> = edits.iter().map(|(service, edit)| (service.as_str(), *edit)).collect();
            let edited = apply(&before, &edits).ok();
            match services {
                None => assert_eq!(edited, after, "{before}"),
                Some(services) => {
                    let file: serde_json::Value = serde_json::from_str(&edited.unwrap()).unwrap();
                    assert_eq!(file["services"], services, "{before}");
                }
            }
        }
    }
}
