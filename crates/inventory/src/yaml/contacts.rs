//! The shape of contacts.

use crate::spanned::Spanned;
use serde::Deserialize;

/// A recipient of messages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContactWire {
    /// Mail addresses, URLs of apprise and of webhooks (a URL that ends in `/` matches every URL with this prefix), environment variables (`$NAME`), and names such as apprise tags, mailboxes and channels.
    pub addresses: Vec<Spanned<String>>,
    /// `claude_direct`: sessions may send messages. `claude_draft`: sessions may write drafts, a person sends them. Without a tag, sessions with a mode may not write to this contact.
    #[serde(default)]
    pub tags: Vec<ContactTagWire>,
}

/// What sessions may send to a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContactTagWire {
    ClaudeDirect,
    ClaudeDraft,
}
