//! The public key with which answers and grants of persons are verified, as `policy.approval_key` of `hosts.yaml`.

use std::fmt;

use data_encoding::BASE64;

/// The prefix of the text form.
const PREFIX: &str = "ed25519:";

/// An Ed25519 public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// Reads `ed25519:` and 32 bytes in base64; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64.decode(text.trim().strip_prefix(PREFIX)?.as_bytes()).ok()?;
        bytes.try_into().ok().map(Self)
    }
}

opsctl_reader::text_form!(
    PublicKey,
    PublicKey::parse,
    "is not a public key of Ed25519; copy the line that `opsctl key` prints"
);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", BASE64.encode(&self.0))
    }
}
