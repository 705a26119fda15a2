//! Writes the report to a file, atomically. Replaces only an earlier report.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::MARK;

/// Why a report cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file is not a report of opsctl.
    #[error("{0} is not a report of opsctl and is not replaced; remove it, or name another file with --html")]
    Other(String),
    /// The path is a folder.
    #[error("{0} is a folder; name a file in it with --html")]
    Folder(String),
    /// Reading or writing failed.
    #[error("{path} cannot be written ({error}); check its folder, or name another file with --html")]
    Io {
        /// The file.
        path: String,
        /// What went wrong.
        error: io::Error,
    },
}

/// Checks whether a report may be written to this path. Changes nothing.
pub fn check(path: &Path) -> Result<(), FileError> {
    let fail = |error| FileError::Io { path: path.display().to_string(), error };
    let kind = match path.metadata() {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fail(error)),
    };
    if kind.is_dir() {
        return Err(FileError::Folder(path.display().to_string()));
    }
    if is_stream(kind) {
        return Ok(());
    }
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MARK.len() as u64).read_to_end(&mut beginning));
    read.map_err(fail)?;
    if beginning.is_empty() || beginning == MARK.as_bytes() {
        return Ok(());
    }
    Err(FileError::Other(path.display().to_string()))
}

/// Writes the report atomically. The target of a symbolic link is replaced, not the link.
pub fn write(path: &Path, page: &str) -> Result<(), FileError> {
    check(path)?;
    try_write(path, page).map_err(|error| FileError::Io { path: path.display().to_string(), error })
}

fn try_write(path: &Path, page: &str) -> io::Result<()> {
    let target = match path.metadata() {
        Ok(found) if is_stream(found.file_type()) => {
            return File::options().write(true).open(path)?.write_all(page.as_bytes());
        }
        Ok(_) => path.canonicalize()?,
        Err(_) => path.to_owned(),
    };
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    // A web server may have to read it. The umask and the mode of an existing file apply.
    let mode = target.metadata().map_or(0o666, |found| found.permissions().mode() & 0o777);
    let mut ready = tempfile::Builder::new()
        .prefix(".opsctl-report-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    ready.write_all(page.as_bytes())?;
    ready.as_file().sync_all()?;
    ready.persist(&target).map(|_| ()).map_err(|failed| failed.error)
}

/// Whether it is a pipe, socket or device, such as `/dev/stdout`, which has no content to lose.
fn is_stream(kind: std::fs::FileType) -> bool {
    kind.is_fifo() || kind.is_char_device() || kind.is_socket()
}
