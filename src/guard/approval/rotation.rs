//! Keys and tokens that a release before 0.1 could have shown to an agent: which of them are still in use.
//!
//! The first start of this release writes the digests of those that it finds. What is created later is not listed.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::desk_key::{self, encoded};
use opsctl_machine::plain_file;

/// The file in the state folder.
const FILE: &str = "keys-before.json";

/// The maximum size of a key or token, in bytes.
const MAX_BYTES: u64 = 4096;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Before {
    sha256: Vec<String>,
}

/// The keys and tokens of a guard with this state folder.
pub fn files(state_dir: &Path, approval_key: PathBuf, desk_token: Option<PathBuf>) -> Vec<PathBuf> {
    let token = desk_token.unwrap_or_else(|| state_dir.join("desk-token"));
    vec![approval_key, state_dir.join(desk_key::FILE), token]
}

/// Records the keys and tokens that exist before this release creates any. Later calls change nothing.
pub fn note(state_dir: &Path, files: &[PathBuf]) -> io::Result<()> {
    let path = state_dir.join(FILE);
    if path.exists() {
        return Ok(());
    }
    let before = Before { sha256: files.iter().filter_map(|file| digest_of(file)).collect() };
    let mut file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        file => file?,
    };
    file.write_all(&serde_json::to_vec(&before)?)?;
    file.sync_all()
}

/// The keys and tokens that an earlier release could have shown.
pub fn outdated(state_dir: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let before = plain_file::bytes(&state_dir.join(FILE)).ok();
    let before: Option<Before> = before.and_then(|text| serde_json::from_slice(&text).ok());
    let is_outdated = |file: &&PathBuf| {
        // This release creates no key without the list.
        digest_of(file)
            .is_some_and(|digest| before.as_ref().is_none_or(|before| before.sha256.contains(&digest)))
    };
    files.iter().filter(is_outdated).cloned().collect()
}

/// The digest of a file; `None` if it cannot be read.
fn digest_of(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file =
        File::open(file).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(encoded(digest(&SHA256, &bytes).as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_existed_before_are_outdated_until_they_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (state, key) = (folder.path(), folder.path().join("approval.key"));
        let files = files(state, key.clone(), None);
        // A new installation has none.
        assert!(outdated(state, &files).is_empty());
        std::fs::write(&key, "old").unwrap();
        assert_eq!(outdated(state, &files), std::slice::from_ref(&key));
        note(state, &files).unwrap();
        std::fs::write(state.join("desk-token"), "new").unwrap();
        note(state, &files).unwrap();
        assert_eq!(outdated(state, &files), std::slice::from_ref(&key));
        std::fs::write(&key, "replaced").unwrap();
        assert!(outdated(state, &files).is_empty());
    }

    #[test]
    fn a_new_installation_has_no_outdated_keys() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), folder.path().join("k"), Some(folder.path().join("t")));
        note(folder.path(), &files).unwrap();
        std::fs::write(folder.path().join("k"), "x").unwrap();
        assert!(outdated(folder.path(), &files).is_empty());
    }
}
