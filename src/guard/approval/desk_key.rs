//! The key of the desk: signs links of notifications and the tokens of forms. The guard creates it in its state folder,
//! readable by its own user only.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use rustix::fs::OFlags;

/// The name of the key file in the state folder.
pub const FILE: &str = "desk.key";

/// The length of the key and of a signature, in bytes.
pub const LENGTH: usize = 32;

/// Why a secret file of the desk cannot be used. The texts contain no secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// Reading or writing failed.
    #[error("{} cannot be used ({error}); create its folder, and let the user of `opsctl serve` read and write there", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// Other users may read it.
    #[error("{} is readable by other users; make it private with `chmod 600`, or remove it so that a new one is created", .0.display())]
    Shared(PathBuf),
    /// The content is not a key.
    #[error("{} is not a key of opsctl; remove it, and a new one is created", .0.display())]
    NotAKey(PathBuf),
}

/// The key of the desk.
#[derive(Debug, Clone)]
pub struct DeskKey(hmac::Key);

impl DeskKey {
    /// Reads the key in this folder, and creates it if it does not exist.
    pub fn open(state_dir: &Path) -> Result<Self, SecretFileError> {
        let path = state_dir.join(FILE);
        let text = private_file(&path, || random().map(|key| encoded(&key)))?;
        let key = data_encoding::HEXLOWER.decode(text.trim().as_bytes()).ok();
        match key.filter(|key| key.len() == LENGTH) {
            Some(key) => Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &key))),
            None => Err(SecretFileError::NotAKey(path)),
        }
    }

    /// Reads the key in this folder; `None` if it does not exist or cannot be used.
    pub fn existing(state_dir: &Path) -> Option<Self> {
        state_dir.join(FILE).symlink_metadata().ok()?;
        Self::open(state_dir).ok()
    }

    /// A key of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// The signature over fields for one purpose. Equal fields have another signature for another purpose.
    pub fn sign(&self, purpose: &str, fields: &[&[u8]]) -> [u8; LENGTH] {
        let tag = hmac::sign(&self.0, &message(purpose, fields));
        let mut signature = [0; LENGTH];
        signature.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        signature
    }

    /// Whether this is the signature over the fields for the purpose; takes constant time.
    pub fn verifies(&self, purpose: &str, fields: &[&[u8]], signature: &[u8]) -> bool {
        hmac::verify(&self.0, &message(purpose, fields), signature).is_ok()
    }
}

/// The purpose and the fields, each with its length, so that no two lists of fields are one message.
fn message(purpose: &str, fields: &[&[u8]]) -> Vec<u8> {
    let mut message = Vec::new();
    for field in std::iter::once(&purpose.as_bytes()).chain(fields) {
        message.extend_from_slice(&(field.len() as u64).to_be_bytes());
        message.extend_from_slice(field);
    }
    message
}

/// Random bytes of the operating system.
pub fn random() -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("no random numbers"))?;
    Ok(bytes)
}

/// Bytes as text.
pub fn encoded(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// The content of a private file, which is created with `content` if it does not exist.
pub fn private_file(
    path: &Path,
    content: impl FnOnce() -> io::Result<String>,
) -> Result<String, SecretFileError> {
    let fail = |error| SecretFileError::Io { path: path.to_owned(), error };
    match read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create(path, &content().map_err(fail)?).map_err(fail)?;
            // Another process may have created it first.
            read(path).map_err(fail)
        }
        found => found.map_err(fail),
    }
    .and_then(|found| found.ok_or_else(|| SecretFileError::Shared(path.to_owned())))
}

/// The content; `None` if other users may read it.
fn read(path: &Path) -> io::Result<Option<String>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Ok(None);
    }
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Creates the file with its content atomically; an existing one stays.
fn create(path: &Path, content: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)
        // Without the name of the temporary file.
        .map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(format!("{content}\n").as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(failed) if failed.error.kind() != ErrorKind::AlreadyExists => Err(failed.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_created_once_and_private_and_another_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        let key = DeskKey::open(folder.path()).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        let signature = key.sign("link", &[b"1"]);
        assert!(DeskKey::open(folder.path()).unwrap().verifies("link", &[b"1"], &signature));
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(DeskKey::open(folder.path()), Err(SecretFileError::Shared(_))));
        std::fs::remove_file(&file).unwrap();
        private_file(&file, || Ok("abc".into())).unwrap();
        assert!(matches!(DeskKey::open(folder.path()), Err(SecretFileError::NotAKey(_))));
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
        assert!(DeskKey::open(folder.path()).is_err());
    }

    #[test]
    fn a_signature_covers_the_purpose_and_the_borders_of_fields() {
        let key = DeskKey::of_bytes(&[7; LENGTH]);
        let signature = key.sign("link", &[b"ab", b"c"]);
        assert!(key.verifies("link", &[b"ab", b"c"], &signature));
        assert!(!key.verifies("form", &[b"ab", b"c"], &signature));
        assert!(!key.verifies("link", &[b"a", b"bc"], &signature));
        assert!(!DeskKey::of_bytes(&[8; LENGTH]).verifies("link", &[b"ab", b"c"], &signature));
    }
}
