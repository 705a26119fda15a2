//! The policy of a host, signed by an operator. A host accepts policies of one key, for one name, and none that is older than
//! its own.

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SubsecRound as _, Utc};
use ring::signature::Ed25519KeyPair;
use serde::{Deserialize, Serialize};

use crate::guard::approval::statement;
use crate::setup::policy_tests;
use opsctl_inventory::error::HostsError;
use opsctl_inventory::load;
use opsctl_machine::plain_file;
use opsctl_policy::model::rights::public_key::PublicKey;

/// The file of the signed policy, beside the policy.
const SIGNED: &str = "policy.json";

/// The file of the host's name and key, beside the policy.
const PINNED: &str = "host.json";

/// A signed policy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Signed {
    /// The host, by its name in the inventory of the operator.
    host: String,
    /// When it was signed.
    issued: DateTime<Utc>,
    /// The texts of `hosts.yaml` and of `tests.yaml`, which may be missing.
    files: Vec<String>,
    /// The signature.
    signature: String,
}

/// The name of a host, and the key whose policies it accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pinned {
    host: String,
    key: String,
}

/// Why a policy is not accepted. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum NotAccepted {
    #[error(
        "this host accepts policies for `{0}` only: install the policy of that host, or run `opsctl gate uninstall` first"
    )]
    OtherHost(String),
    #[error(
        "this host accepts policies that are signed with another key ({0}): sign with that key, or run `opsctl gate uninstall` first"
    )]
    OtherKey(String),
    #[error("the policy is not signed with this key: install it with `opsctl gate install`")]
    Unsigned,
    #[error("the policy was signed on {0}, before the one in force: install a newer one")]
    Older(DateTime<Utc>),
    #[error("the policy is no signed policy ({0}): install it with `opsctl gate install`")]
    Unreadable(serde_json::Error),
    #[error("{} cannot be read ({error}): run `opsctl gate uninstall` first", path.display())]
    Damaged { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Invalid(#[from] HostsError),
    #[error("{} cannot be written ({error}): install the policy as root", path.display())]
    Unwritable { path: PathBuf, error: io::Error },
}

impl Signed {
    /// Signs a policy for a host, now.
    pub fn new(key: &Ed25519KeyPair, host: &str, files: Vec<String>, now: DateTime<Utc>) -> Self {
        let issued = now.trunc_subsecs(0);
        let signature = statement::sign_policy(key, host, issued, &files);
        Self { host: host.to_owned(), issued, files, signature }
    }

    /// The policy as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Accepts a policy that is given as JSON: writes its files into a folder. The first one determines the name and the key.
    pub fn accept(json: &str, policy: &Path, host: &str, key: PublicKey) -> Result<(), NotAccepted> {
        let signed: Self = serde_json::from_str(json).map_err(NotAccepted::Unreadable)?;
        let beside = |name: &str| policy.with_file_name(name);
        let wanted = Pinned { host: host.to_owned(), key: key.to_string() };
        let pinned = read::<Pinned>(beside(PINNED))?.unwrap_or_else(|| wanted.clone());
        if pinned.host != signed.host || pinned.host != wanted.host {
            return Err(NotAccepted::OtherHost(pinned.host));
        }
        if pinned.key != wanted.key {
            return Err(NotAccepted::OtherKey(pinned.key));
        }
        if !statement::is_policy_of(&signed.host, signed.issued, &signed.files, &signed.signature, key) {
            return Err(NotAccepted::Unsigned);
        }
        if read::<Self>(beside(SIGNED))?.is_some_and(|own| own.issued > signed.issued) {
            return Err(NotAccepted::Older(signed.issued));
        }
        let mut files = signed.files.iter();
        let text = files.next().map_or("", String::as_str);
        let new = policy.with_extension("new");
        write(&new, text)?;
        let loaded = load::load(&new);
        std::fs::remove_file(&new).map_err(|error| NotAccepted::Unwritable { path: new, error })?;
        loaded?;
        write(&beside(PINNED), &serde_json::to_string(&pinned).map_err(NotAccepted::Unreadable)?)?;
        write(&beside(policy_tests::FILE), files.next().map_or("tests: []\n", String::as_str))?;
        write(&beside(SIGNED), json)?;
        write(policy, text)
    }
}

/// What a file states; nothing if there is none.
fn read<T: serde::de::DeserializeOwned>(path: PathBuf) -> Result<Option<T>, NotAccepted> {
    let text = match plain_file::text(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text,
    };
    text.and_then(|text| Ok(serde_json::from_str(&text)?))
        .map(Some)
        .map_err(|error| NotAccepted::Damaged { path, error })
}

/// Replaces a file at once.
fn write(path: &Path, text: &str) -> Result<(), NotAccepted> {
    let temporary = path.with_extension("tmp");
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create(true).truncate(true).mode(0o644).open(&temporary);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&temporary, path))
        .map_err(|error| NotAccepted::Unwritable { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::guard::approval::key;

    #[test]
    fn a_host_accepts_newer_policies_of_its_key_for_its_name_only() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("hosts.yaml");
        let (pair, _) = key::generate().unwrap();
        let (other, _) = key::generate().unwrap();
        let now = Utc::now();
        let text = |limit: u8| format!("policy: {{restart: {{limit: {limit}, window: 4h}}}}\n");
        let signed =
            |pair, host, limit, at| Signed::new(pair, host, vec![text(limit)], at).to_json().unwrap();
        let accept = |json: &str| Signed::accept(json, &policy, "nas", key::public(&pair));
        accept(&signed(&pair, "nas", 1, now)).unwrap();
        accept(&signed(&pair, "nas", 2, now + TimeDelta::minutes(1))).unwrap();
        assert_eq!(std::fs::read_to_string(&policy).unwrap(), text(2));
        let late = now + TimeDelta::hours(1);
        assert!(matches!(accept(&signed(&pair, "nas", 3, now)), Err(NotAccepted::Older(_))));
        assert!(matches!(accept(&signed(&pair, "pi", 3, late)), Err(NotAccepted::OtherHost(_))));
        assert!(matches!(accept(&signed(&other, "nas", 3, late)), Err(NotAccepted::Unsigned)));
        let changed = signed(&pair, "nas", 3, late).replace("limit: 3", "limit: 9");
        assert!(matches!(accept(&changed), Err(NotAccepted::Unsigned)));
        let invalid = Signed::new(&pair, "nas", vec!["policy: 1".to_owned()], late).to_json().unwrap();
        assert!(matches!(accept(&invalid), Err(NotAccepted::Invalid(_))));
        let by_other = Signed::accept(&signed(&other, "nas", 3, late), &policy, "nas", key::public(&other));
        assert!(matches!(by_other, Err(NotAccepted::OtherKey(_))));
        assert_eq!(std::fs::read_to_string(&policy).unwrap(), text(2));
        for name in [SIGNED, PINNED] {
            std::fs::write(folder.path().join(name), "{").unwrap();
            let error = accept(&signed(&pair, "nas", 3, late)).unwrap_err();
            assert!(matches!(&error, NotAccepted::Damaged { path, .. } if path.ends_with(name)), "{error}");
        }
    }
}
