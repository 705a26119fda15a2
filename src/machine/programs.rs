//! Programs of this machine.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Whether the path is a file that may be executed.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Finds a program in the folders of `path`, a value of `PATH`.
pub fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|program| is_program(program))
}

/// Finds a program in PATH.
pub fn in_path(program: &str) -> Option<PathBuf> {
    find(program, &std::env::var_os("PATH")?)
}

/// Finds a program in PATH that is not this one under another name.
pub fn other_in_path(program: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok();
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(program));
    found.into_iter().find(|program| is_program(program) && program.canonicalize().ok() != own)
}

/// Waits until a child process has ended; `None` if it still runs at the deadline. Calls `meanwhile` after each pause.
pub fn ended_within(
    child: &mut Child,
    deadline: Duration,
    pause: Duration,
    mut meanwhile: impl FnMut(),
) -> io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() || started.elapsed() >= deadline {
            return Ok(status);
        }
        thread::sleep(pause);
        meanwhile();
    }
}
