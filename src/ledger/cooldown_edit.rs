//! Editing `cooldown.json` in place: unknown keys, the order of keys and the formatting stay.

use std::fs::{Metadata, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use rustix::fs::Access;
use rustix::io::Errno;

use super::cooldown_file::MAX_BYTES;
use super::folder_lock::{folder_of, turn_in_folder_of};
use super::lock_timeout::BUSY_TIMEOUT;
use super::time;
use crate::plain_file::{self, Content};
use crate::write_limit;

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
}

/// Why the file is not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It cannot be read or written.
    #[error("{path} cannot be written ({error}); the ledger has recorded it")]
    Io {
        /// The file.
        path: String,
        /// What went wrong.
        error: io::Error,
    },
    /// Its content is not a cooldown file; overwriting it would lose the content.
    #[error("{path} is not changed, because it is not a cooldown file ({error}); fix it or move it away")]
    Foreign {
        /// The file.
        path: String,
        /// What is wrong with its content.
        error: ContentError,
    },
}

/// What is wrong with the content of a cooldown file.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// It is larger than [`MAX_BYTES`].
    #[error("it has {0} bytes")]
    TooLarge(u64),
    /// It is not UTF-8.
    #[error(transparent)]
    NotUtf8(#[from] std::string::FromUtf8Error),
    /// It is not strict JSON.
    #[error(transparent)]
    NotJson(#[from] serde_json::Error),
    /// The editor cannot read it.
    #[error(transparent)]
    NotEditable(#[from] ParseError),
    /// The file is JSON, but not an object.
    #[error("it is not an object")]
    NotAnObject,
    /// A key does not hold an object.
    #[error("its `{0}` is not an object")]
    KeyNotAnObject(String),
    /// A list of a service does not hold a list.
    #[error("a list of `{0}` is not a list")]
    NotAList(String),
}

/// Applies each edit to its service and replaces the file atomically, under the folder lock. An empty or missing file
/// is created.
pub fn edit(path: &Path, edits: &[(&str, Edit)]) -> Result<(), EditError> {
    if edits.is_empty() {
        return Ok(());
    }
    write_limit::fail_beyond();
    let fail = |error| EditError::Io { path: path.display().to_string(), error };
    let foreign = |error| EditError::Foreign { path: path.display().to_string(), error };
    let _turn = turn_in_folder_of(path, BUSY_TIMEOUT).map_err(fail)?;
    let path = &behind_link(path).map_err(fail)?;
    let before = existing(path).map_err(fail)?;
    let text = match plain_file::read(path, MAX_BYTES) {
        Ok(Content::Bytes(bytes)) => String::from_utf8(bytes).map_err(|error| foreign(error.into()))?,
        Ok(Content::TooLarge(bytes)) => return Err(foreign(ContentError::TooLarge(bytes))),
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fail(error)),
    };
    let edited = apply(&text, edits).map_err(foreign)?;
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
fn apply(text: &str, edits: &[(&str, Edit)]) -> Result<String, ContentError> {
    let text = if text.trim().is_empty() { "{\n  \"services\": {}\n}\n" } else { text };
    // Strict JSON: content that other readers reject must not be accepted here.
    serde_json::from_str::<serde::de::IgnoredAny>(text)?;
    let root = CstRootNode::parse(text, &ParseOptions::default())?;
    let file = root.object_value().ok_or(ContentError::NotAnObject)?;
    let services = object_of(&file, "services")?;
    let objects = uses_objects(&services);
    for (name, edit) in edits {
        let service = object_of(&services, name)?;
        change(&service, *edit, objects).ok_or_else(|| ContentError::NotAList((*name).to_owned()))?;
    }
    Ok(root.to_string())
}

/// The object under a key, created if the key is missing.
fn object_of(parent: &CstObject, key: &str) -> Result<CstObject, ContentError> {
    parent.object_value_or_create(key).ok_or_else(|| ContentError::KeyNotAnObject(key.to_owned()))
}

/// Whether the file stores objects (`restarts`) rather than plain timestamps (`restart_timestamps`).
fn uses_objects(services: &CstObject) -> bool {
    let has = |name: &str| {
        services
            .properties()
            .iter()
            .filter_map(jsonc_parser::cst::CstObjectProp::object_value)
            .any(|service| service.get(&format!("{name}s")).is_some())
    };
    has("restart") || has("redeployment")
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
        Edit::Streak(count) => set_number(service, "consecutive_healthy", count),
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

fn set_number(service: &CstObject, name: &str, number: u32) {
    let number = CstInputValue::Number(number.to_string());
    match service.get(name) {
        Some(property) => property.set_value(number),
        None => {
            service.append(name, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(success: bool) -> Edit {
        Edit::Add { kind: "restart", at: "2026-03-21T14:22:00Z".parse().unwrap(), success }
    }

    #[test]
    fn adds_the_entry_and_keeps_every_other_byte() {
        let text = "{ \"last_run\" : 7,\n\t\"services\": {\n\t\t\"jellyfin\": {\"note\":\"x\", \"restart_timestamps\": [ \"2026-03-21T14:00:00Z\" ]}\n\t}}";
        let edited = apply(text, &[("jellyfin", add(true))]).unwrap();
        assert_eq!(edited, text.replace("14:00:00Z\" ]", "14:00:00Z\", \"2026-03-21T14:22:00Z\" ]"),);
    }

    #[test]
    fn a_new_service_uses_the_shape_of_the_other_services() {
        let objects = r#"{"services": {"a": {"restarts": [], "redeployments": []}}}"#;
        let edited = apply(objects, &[("b", add(false))]).unwrap();
        let json: serde_json::Value = serde_json::from_str(&edited).unwrap();
        assert_eq!(
            json["services"]["b"]["restarts"],
            serde_json::json!([{"timestamp": "2026-03-21T14:22:00Z", "success": false}])
        );
        let fresh: serde_json::Value =
            serde_json::from_str(&apply("", &[("b", add(true))]).unwrap()).unwrap();
        assert_eq!(fresh["services"]["b"]["restart_timestamps"], serde_json::json!(["2026-03-21T14:22:00Z"]));
    }

    #[test]
    fn clears_counters_and_sets_streaks_in_place() {
        let text = r#"{"services":{"a":{"restarts":[{"timestamp":"x"}],"consecutive_healthy":1,"z":[1]}}}"#;
        let edited = apply(text, &[("a", Edit::Clear), ("a", Edit::Streak(0))]).unwrap();
        assert_eq!(edited, r#"{"services":{"a":{"restarts":[],"consecutive_healthy":0,"z":[1]}}}"#);
    }

    #[test]
    fn refuses_content_that_is_not_a_cooldown_file() {
        for text in [
            "{",
            "[]",
            "7",
            r#"{"services":[]}"#,
            r#"{"services":{"a":7}}"#,
            "{} // note",
            r#"{"services":{"a":{"restart_timestamps":"x"}}}"#,
        ] {
            assert!(apply(text, &[("a", add(true))]).is_err(), "{text}");
        }
    }
}
