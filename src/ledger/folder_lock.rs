//! A lock that the processes of this program take on the state folder, so that they take turns.
//!
//! SQLite's own waiting is a matter of luck: whoever asks at the right moment gets in, and of hundreds of
//! waiters some ask in vain until their time is up. The kernel keeps a queue for this lock. The folder
//! itself is locked, so that no lock file is left lying about and none can be removed.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Waits for this process's turn in the folder of `path`; it ends with the file that is returned, or with
/// the process. Not to be asked for twice at once.
pub fn turn_in_folder_of(path: &Path, timeout: Duration) -> io::Result<File> {
    let folder = File::open(folder_of(path))?;
    match folder.try_lock() {
        Ok(()) => return Ok(folder),
        Err(TryLockError::Error(error)) => return Err(error),
        Err(TryLockError::WouldBlock) => {}
    }
    // The kernel's queue knows no deadline, so it is waited in by a thread. One that waits in vain is left
    // behind: a holder that has been stopped must not stop everybody else.
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        let locked = folder.lock().map(|()| folder);
        let _ = sender.send(locked);
    })?;
    receiver.recv_timeout(timeout).unwrap_or_else(|_| {
        Err(io::Error::new(ErrorKind::TimedOut, "another process holds the lock on the folder"))
    })
}

/// The folder that a file is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
