//! The socket file.

use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// The mode of the socket: every user may connect, and the user id of the peer decides.
const MODE: u32 = 0o666;

/// Binds the socket. A file that a guard has left behind is replaced; the socket of a running guard is an error.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    const ANOTHER: &str = "choose another path";
    let fail = |error: io::Error, what: &str, remedy: &str| {
        io::Error::new(error.kind(), format!("the socket {} {what} ({error}); {remedy}", path.display()))
    };
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(fail(error, "cannot be examined", ANOTHER)),
        Ok(file) if !file.file_type().is_socket() => {
            let error = io::Error::from(ErrorKind::AlreadyExists);
            return Err(fail(error, "cannot be created: another file has its name", ANOTHER));
        }
        Ok(_) => match UnixStream::connect(path) {
            Ok(_) => {
                let error = io::Error::from(ErrorKind::AddrInUse);
                return Err(fail(error, "belongs to a guard that is running", "end it first"));
            }
            Err(_) => std::fs::remove_file(path)
                .map_err(|error| fail(error, "cannot be replaced", "remove it, or choose another path"))?,
        },
    }
    let listener = UnixListener::bind(path).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::NotFound => "create its folder, or choose another path",
            ErrorKind::InvalidInput => "choose a path of at most 107 bytes",
            ErrorKind::PermissionDenied => "let this user write its folder, or choose another path",
            _ => ANOTHER,
        };
        fail(error, "cannot be created", remedy)
    })?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(MODE))
        .map_err(|error| fail(error, "cannot be opened to other users", ANOTHER))?;
    Ok(listener)
}

/// The path and inode of the file of a bound socket; `None` if they cannot be determined.
#[derive(Debug)]
pub struct File(Option<(PathBuf, u64)>);

impl File {
    /// The file of this listener.
    pub fn of(listener: &UnixListener) -> Self {
        let path = listener.local_addr().ok().and_then(|address| address.as_pathname().map(Path::to_owned));
        Self(path.and_then(|path| path.symlink_metadata().ok().map(|file| (path, file.ino()))))
    }

    /// Removes it, unless another guard has replaced it.
    pub fn remove(&self) {
        let Some((path, inode)) = &self.0 else { return };
        if path.symlink_metadata().is_ok_and(|file| file.ino() == *inode) {
            let _ = std::fs::remove_file(path);
        }
    }
}
