//! The shape of contacts and modes in `hosts.yaml`.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::words::{AudienceWire, ContactTagWire};

/// Somebody whom a session may write to, or may not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContactWire {
    /// Mail addresses, URLs of apprise and of webhooks (one that ends in `/` stands for all that begin with it), environment variables that hold them (`$NAME`), and names such as tags of apprise's configuration, mailboxes and channels.
    pub addresses: Vec<Spanned<String>>,
    /// `claude_direct`: may be sent to. `claude_draft`: may be written to, but a person sends it. Neither: not by a session with a mode.
    #[serde(default)]
    pub tags: Vec<ContactTagWire>,
}

/// Whom the commands of a session may write to, by its mode.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModesWire {
    /// A person sits before it; `contacts` unless given.
    pub interactive: Option<AudienceWire>,
    /// It works by itself; `nobody` unless given.
    pub mission: Option<AudienceWire>,
    /// It works beside others; `nobody` unless given.
    pub background: Option<AudienceWire>,
}
