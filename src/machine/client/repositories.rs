//! The folder of mounted repositories.

use std::io;
use std::path::{Path, PathBuf};

/// The entries of the folder with their names, sorted.
pub fn folders(repos: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut folders: Vec<(String, PathBuf)> = std::fs::read_dir(repos)?
        .filter_map(Result::ok)
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    folders.sort();
    Ok(folders)
}
