//! The private key of the guard: an Ed25519 key in a file that only its owner may read.

use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

use opsctl_machine::plain_file::{self, Content};
use opsctl_policy::model::rights::public_key::PublicKey;

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// The maximum size of the file in bytes.
const MAX_BYTES: u64 = 4 * 1024;

/// Why the key cannot be used. The text names the file and the remedy.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum KeyError {
    #[error("no approval key at {}: create one with `opsctl key`, or name it with CLAUDEOPS_APPROVAL_KEY", .0.display())]
    Missing(PathBuf),
    #[error(
        "the approval key {} cannot be read ({error}): answer as the user that owns it, where the guard runs", path.display()
    )]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "the approval key {} may be read by other users (mode {mode:04o}): run `chmod 600 {0}`, and make a new key if an agent could have read it", path.display()
    )]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error("{} is not an Ed25519 key in PEM form: move it away, and create one with `opsctl key`", .0.display())]
    Invalid(PathBuf),
    #[error("{} exists already, and is not overwritten; `opsctl key` prints its public key", .0.display())]
    Exists(PathBuf),
    #[error(
        "the approval key {} cannot be written ({error}): create its folder and let this user write there, or name another file with CLAUDEOPS_APPROVAL_KEY", path.display()
    )]
    Unwritable { path: PathBuf, error: io::Error },
    #[error("no random numbers are available, so no key can be made")]
    NoRandomness,
}

/// A new key, and the text of its file.
pub fn generate() -> Result<(Ed25519KeyPair, String), KeyError> {
    let document =
        Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::NoRandomness)?;
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(|_| KeyError::NoRandomness)?;
    let encoded = BASE64.encode(document.as_ref());
    let mut text = format!("{BEGIN}\n");
    for line in encoded.as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text.push_str(END);
    text.push('\n');
    Ok((pair, text))
}

/// Makes a key and writes it to a new file, which only its owner may read.
pub fn create(path: &Path) -> Result<Ed25519KeyPair, KeyError> {
    let (pair, text) = generate()?;
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    match written {
        Ok(()) => Ok(pair),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(KeyError::Exists(path.to_owned())),
        Err(error) => Err(KeyError::Unwritable { path: path.to_owned(), error }),
    }
}

/// Reads the key. A file that others than its owner may read or write is refused.
pub fn load(path: &Path) -> Result<Ed25519KeyPair, KeyError> {
    let unreadable = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => KeyError::Missing(path.to_owned()),
        _ => KeyError::Unreadable { path: path.to_owned(), error },
    };
    let mode = std::fs::metadata(path).map_err(unreadable)?.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyError::OpenToOthers { path: path.to_owned(), mode });
    }
    let invalid = || KeyError::Invalid(path.to_owned());
    let Content::Bytes(bytes) = plain_file::read(path, MAX_BYTES).map_err(unreadable)? else {
        return Err(invalid());
    };
    let text = String::from_utf8(bytes).map_err(|_| invalid())?;
    let inner =
        text.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)).ok_or_else(invalid)?;
    let encoded: String = inner.split_whitespace().collect();
    let document = BASE64.decode(encoded.as_bytes()).map_err(|_| invalid())?;
    // A key of openssl has no public part.
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document).map_err(|_| invalid())
}

/// The public part of a key.
pub fn public(pair: &Ed25519KeyPair) -> PublicKey {
    // An Ed25519 public key has 32 bytes.
    PublicKey(pair.public_key().as_ref().try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_created_once_for_its_owner_alone_and_read_again() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("approval.key");
        assert!(matches!(load(&path), Err(KeyError::Missing(_))));
        let created = create(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(public(&load(&path).unwrap()), public(&created));
        assert!(matches!(create(&path), Err(KeyError::Exists(_))));
        assert_eq!(public(&load(&path).unwrap()), public(&created));
    }

    #[test]
    fn a_key_that_others_may_read_and_a_file_that_is_no_key_are_refused() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("approval.key");
        let allow = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        create(&path).unwrap();
        for mode in [0o640, 0o604, 0o660, 0o620, 0o601] {
            allow(mode);
            assert!(matches!(load(&path), Err(KeyError::OpenToOthers { .. })), "{mode:o}");
        }
        allow(0o400);
        assert!(load(&path).is_ok());
        allow(0o600);
        for text in ["", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(load(&path), Err(KeyError::Invalid(_))), "{text}");
        }
    }
}
