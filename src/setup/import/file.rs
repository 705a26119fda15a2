//! Reads one file of a repository.

use std::path::Path;

use serde_json::Value;

use super::error::ImportError;
use opsctl_inventory::error::HostsError;
use opsctl_machine::plain_file::{self, Content};

/// The maximum size of a file in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The text of a file.
pub fn text(file: &Path) -> std::io::Result<String> {
    match plain_file::read(file, MAX_BYTES)? {
        Content::Bytes(bytes) => String::from_utf8(bytes).map_err(std::io::Error::other),
        Content::TooLarge(bytes) => Err(std::io::Error::other(format!("it has {bytes} bytes"))),
    }
}

/// Whether a file is below a folder, also where links are followed.
pub fn is_below(file: &Path, folder: &Path) -> bool {
    file.canonicalize()
        .ok()
        .zip(folder.canonicalize().ok())
        .is_some_and(|(file, folder)| file.starts_with(folder))
}

/// The name of a file or folder; empty for one that is not UTF-8.
pub fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// A path for comments: relative to the folder that the operator has named, with the folder's own name.
pub fn shown(file: &Path, named: &Path) -> String {
    let below = named.parent().and_then(|parent| file.strip_prefix(parent).ok());
    below.unwrap_or(file).display().to_string()
}

/// The content of a text in YAML; a mistake is shown with the file.
pub fn yaml_of(file: &Path, text: &str) -> Result<Value, ImportError> {
    serde_saphyr::from_str(text).map_err(|error| {
        let (file, text) = (file.to_owned(), text.to_owned());
        ImportError::Syntax(HostsError { file, text, mistakes: vec![error.into()] })
    })
}

/// The error of a file or folder that cannot be read.
pub fn unreadable(path: &Path, error: std::io::Error) -> ImportError {
    ImportError::Unreadable(path.to_owned(), error)
}

/// Whether the name of the file is that of one in YAML.
pub fn is_yaml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
}
