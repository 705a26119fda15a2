//! Recipients of messages, contacts, and the recipients that each mode may write to.

use serde::{Deserialize, Serialize};

use super::mode::Mode;

/// A recipient of a message, as named by a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Recipient {
    /// A mail address, a URL, or a name such as an apprise tag, a mailbox or a channel.
    Written(String),
    /// The value of an environment variable that the command itself does not set.
    Variable(String),
    /// The operators, whose addresses only opsctl has.
    Operators,
    /// It cannot be determined, with the reason.
    Unread(&'static str),
}

/// A contact from `hosts.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Contact {
    /// Its name.
    pub name: String,
    /// Mail addresses, URLs, URL prefixes that end in `/`, `$VARIABLE`s, and names.
    pub addresses: Vec<String>,
    /// Whether messages may be sent to it (`claude_direct`).
    pub direct: bool,
    /// Whether messages may only be drafted, for a person to send (`claude_draft`).
    pub draft: bool,
}

impl Contact {
    /// Whether the recipient is this contact.
    pub fn is(&self, recipient: &Recipient) -> bool {
        self.addresses.iter().any(|address| match (recipient, address.strip_prefix('$')) {
            (Recipient::Variable(name), Some(known)) => name == known,
            (Recipient::Written(written), None) => is_same(address, written),
            _ => false,
        })
    }
}

/// Whether the recipient `written` matches an address of a contact.
fn is_same(address: &str, written: &str) -> bool {
    if !address.contains("://") {
        return if address.contains('@') {
            address.eq_ignore_ascii_case(written)
        } else {
            address == written
        };
    }
    let web = |url: &str| url.starts_with("http://") || url.starts_with("https://");
    let (mut address, mut written) = (plain_url(address), plain_url(written));
    // A list of URLs or a path with `..` may lead elsewhere than its beginning says.
    let doubtful = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    let lowered = written.to_ascii_lowercase();
    if written.matches("://").count() > 1
        || written.contains(doubtful)
        || ["..", "%2e"].iter().any(|part| lowered.contains(part))
    {
        return false;
    }
    if web(&address) {
        if address.matches('/').count() == 2 {
            address.push('/');
        }
        // The query of a webhook is for the service; below a prefix it may name recipients.
        if !address.contains('?') && !address.ends_with('/') {
            written.truncate(written.find(['?', '#']).unwrap_or(written.len()));
        }
    }
    if address.ends_with('/') { written.starts_with(&address) } else { written == address }
}

/// A URL with its scheme and host in lower case, and `http` as default scheme. The host is lowered for `http` and `https`
/// only: elsewhere it may be a token.
pub fn plain_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let scheme = scheme.to_ascii_lowercase();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    if matches!(scheme.as_str(), "http" | "https") {
        format!("{scheme}://{}{path}", host.to_ascii_lowercase())
    } else {
        format!("{scheme}://{rest}")
    }
}

/// The recipients that commands of a session may write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// No recipients.
    Nobody,
    /// The contacts that are tagged `claude_direct`.
    Contacts,
    /// All recipients.
    Anyone,
}

/// Recipients that the commands of a session may write to, by session mode. `contacts` are those with the tag `claude_direct`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Modes {
    /// Sessions with a person at the terminal. Default: `contacts`.
    pub interactive: Audience,
    /// Unattended sessions that work on a task. Default: `nobody`.
    pub mission: Audience,
    /// Unattended sessions that run beside others. Default: `nobody`.
    pub background: Audience,
}

impl Modes {
    /// The audience of a mode.
    pub const fn of(&self, mode: Mode) -> Audience {
        match mode {
            Mode::Interactive => self.interactive,
            Mode::Mission => self.mission,
            Mode::Background => self.background,
        }
    }
}

impl Default for Modes {
    fn default() -> Self {
        Self { interactive: Audience::Contacts, mission: Audience::Nobody, background: Audience::Nobody }
    }
}

#[cfg(test)]
mod tests {
    use super::{Contact, Recipient};

    #[test]
    fn an_address_matches_itself_and_a_prefix_what_is_below_it() {
        crate::languages::cases::check_rows("terms", "recipients", |both| {
            let (address, written) = both.split_once(' ').unwrap();
            let contact = Contact { addresses: vec![address.to_owned()], ..Contact::default() };
            contact.is(&Recipient::Written(written.to_owned())).to_string()
        });
    }
}
