//! Writes rendered files atomically.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::settings::{Existing, ExistingError};
use super::{LOCAL_SETTINGS, Rendered, SETTINGS, Weakening};
use opsctl_machine::plain_file;
use opsctl_policy::model::installation::client_setting::ClientSetting;

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Reading or writing this file failed.
    #[error("{0}: {1}; check the folder's owner and rights, or name another with --out")]
    Io(String, io::Error),
    /// This settings file exists, cannot be merged and must not be lost.
    #[error("{0} cannot be kept: {1}; correct it or move it away")]
    Existing(String, ExistingError),
}

impl FileError {
    fn io(path: &Path, error: io::Error) -> Self {
        Self::Io(path.display().to_string(), error)
    }
}

/// Reads existing settings; empty if the file does not exist.
pub fn existing_settings(path: &Path) -> Result<Existing, FileError> {
    match plain_file::text(path) {
        Ok(text) => {
            Existing::parse(&text).map_err(|error| FileError::Existing(path.display().to_string(), error))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Existing::default()),
        Err(error) => Err(FileError::io(path, error)),
    }
}

/// The settings of a project, as they are rendered.
pub struct Project {
    /// Its settings, without what was removed.
    pub settings: Existing,
    /// Its local settings, if something was removed from them.
    pub local: Option<Rendered>,
    /// What was removed from both.
    pub removed: Vec<Weakening>,
}

/// Reads existing settings, and removes what `stated` does not contain; see [`Existing::cleaned`].
pub fn cleaned(
    file: &Path,
    opsctl: &str,
    stated: &[ClientSetting],
) -> Result<(Existing, Vec<Weakening>), FileError> {
    let (settings, removed) = existing_settings(file)?.cleaned(opsctl, stated);
    let weakening = |(key, danger)| Weakening { key, file: file.to_owned(), danger };
    Ok((settings, removed.into_iter().map(weakening).collect()))
}

/// Reads the settings of the project in `out`, and removes what `stated` does not contain.
pub fn project(out: &Path, opsctl: &str, stated: &[ClientSetting]) -> Result<Project, FileError> {
    let (settings, mut removed) = cleaned(&out.join(SETTINGS), opsctl, stated)?;
    let (local, from_local) = cleaned(&out.join(LOCAL_SETTINGS), opsctl, &[])?;
    let mut rendered = None;
    if !from_local.is_empty() {
        let path = PathBuf::from(LOCAL_SETTINGS);
        let text = local
            .to_text()
            .map_err(|error| FileError::Existing(LOCAL_SETTINGS.to_owned(), ExistingError::Json(error)))?;
        rendered = Some(Rendered { path, text });
        removed.extend(from_local);
    }
    Ok(Project { settings, local: rendered, removed })
}

/// The files in `out` that differ from `files`.
pub fn differing(out: &Path, files: &[Rendered]) -> Result<Vec<PathBuf>, FileError> {
    let mut differing = Vec::new();
    for file in files {
        let path = out.join(&file.path);
        match plain_file::bytes(&path) {
            Ok(found) if found == file.text.as_bytes() => {}
            Ok(_) => differing.push(path),
            Err(error) if error.kind() == ErrorKind::NotFound => differing.push(path),
            Err(error) => return Err(FileError::io(&path, error)),
        }
    }
    Ok(differing)
}

/// Writes all files to `out`. All are written under temporary names before the first is renamed, so that a failure
/// changes nothing. Files that are up to date are not touched, because only root may be able to write them.
pub fn write(out: &Path, files: &[Rendered]) -> Result<(), FileError> {
    let mut ready = Vec::new();
    for file in files {
        let path = out.join(&file.path);
        if plain_file::bytes(&path).is_ok_and(|found| found == file.text.as_bytes()) {
            continue;
        }
        ready.push((prepare(&path, &file.text).map_err(|error| FileError::io(&path, error))?, path));
    }
    for (temporary, path) in ready {
        temporary.persist(&path).map_err(|failed| FileError::io(&path, failed.error))?;
    }
    Ok(())
}

fn prepare(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut temporary =
        tempfile::Builder::new().prefix(".opsctl-").permissions(readable()).tempfile_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// The mode of rendered files: readable by the client's user. The umask applies.
fn readable() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o644)
}
