//! A lock on the state folder that serialises the processes of opsctl.
//!
//! SQLite's own lock is not fair: with hundreds of waiting processes, some time out. The kernel queues the waiters of
//! this lock. The folder itself is locked, so there is no lock file to leave behind or to remove.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Acquires the lock on the folder of `path`, waiting at most `timeout`. It is released when the returned file is
/// dropped. Must not be acquired again while it is held.
pub fn turn_in_folder_of(path: &Path, timeout: Duration) -> io::Result<File> {
    let folder = File::open(folder_of(path))?;
    match folder.try_lock() {
        Ok(()) => return Ok(folder),
        Err(TryLockError::Error(error)) => return Err(error),
        Err(TryLockError::WouldBlock) => {}
    }
    // The kernel's queue has no timeout, so a thread waits. After the timeout the thread is abandoned: a stopped
    // holder must not block all other processes.
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        let locked = folder.lock().map(|()| folder);
        let _ = sender.send(locked);
    })?;
    receiver.recv_timeout(timeout).unwrap_or_else(|_| {
        Err(io::Error::new(ErrorKind::TimedOut, "another process holds the lock on the folder"))
    })
}

/// The folder of a file; `.` for a bare file name.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
