//! Programs of this machine.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

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
