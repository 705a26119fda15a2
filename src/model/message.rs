//! Whom a session may write to: what a command says of its recipients, and the contacts that an installation has.

use super::mode::Mode;

/// One recipient of a message, as far as a command names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Recipient {
    /// A mail address, a URL, or a name that the program knows: a tag of apprise, a mailbox, a channel.
    Written(String),
    /// What this variable of the environment holds; nothing in the command sets it.
    Variable(String),
    /// The operators, whose addresses only opsctl is told.
    Operators,
    /// It cannot be told, and why.
    Unread(&'static str),
}

/// Somebody who may be written to, or who may not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contact {
    /// The name that people use.
    pub name: String,
    /// Mail addresses, URLs (all that begin with it, where one ends in `/`), `$VARIABLE`s, and names.
    pub addresses: Vec<String>,
    /// May be sent to.
    pub direct: bool,
    /// May be written to, but a person sends it.
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

/// Whether what is written stands for an address of a contact.
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
    // A list of URLs, a way out of a folder: what it comes to is not what it begins with.
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
        // What follows a webhook's address is for the service; elsewhere it may name recipients.
        if !address.contains('?') && !address.ends_with('/') {
            written.truncate(written.find(['?', '#']).unwrap_or(written.len()));
        }
    }
    if address.ends_with('/') { written.starts_with(&address) } else { written == address }
}

/// A URL with its scheme and host in small letters; `http` where no scheme is written. Other schemes than the web's
/// stay as they are: what looks like their host may be a token.
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

/// Whom commands of a session may write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Nobody.
    Nobody,
    /// The contacts that are tagged `claude_direct`.
    Contacts,
    /// Anyone.
    Anyone,
}

/// The audience of each mode. A session without a mode is held to its tier alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    /// Where a person sits before it.
    pub interactive: Audience,
    /// Where it works by itself.
    pub mission: Audience,
    /// Where nobody looks.
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
    use super::*;

    fn is(address: &str, written: &str) -> bool {
        let contact = Contact { addresses: vec![address.to_owned()], ..Contact::default() };
        contact.is(&Recipient::Written(written.to_owned()))
    }

    #[test]
    fn an_address_stands_for_itself_and_for_what_is_below_it() {
        for (address, written) in [
            ("anna@example.net", "Anna@Example.net"),
            ("family", "family"),
            ("https://hooks.slack.com/services/T0/", "https://HOOKS.slack.com/services/T0/B0/x"),
            ("https://hooks.slack.com", "https://hooks.slack.com/services/T0"),
            ("https://discord.com/api/webhooks/1/x", "https://discord.com/api/webhooks/1/x?wait=true"),
            ("ntfy://ntfy.lan/", "ntfy://ntfy.lan/alerts"),
            ("mailto://example.net?to=anna", "mailto://example.net?to=anna"),
        ] {
            assert!(is(address, written), "{address} {written}");
        }
    }

    #[test]
    fn what_only_begins_like_an_address_is_somebody_else() {
        for (address, written) in [
            ("anna@example.net", "anna@example.net.evil.org"),
            ("family", "Family"),
            ("https://hooks.slack.com/services/T0", "https://hooks.slack.com/services/T0X"),
            ("https://hooks.slack.com/services/T0/", "https://hooks.slack.com/services/T0/../T1/x"),
            ("https://hooks.slack.com/services/T0/", "https://hooks.slack.com/services/T0/%2E%2e/T1"),
            ("https://hooks.slack.com", "https://hooks.slack.com.evil.org/x"),
            ("https://hooks.slack.com", "https://hooks.slack.com@evil.org/x"),
            ("https://hooks.slack.com/", "http://hooks.slack.com/x"),
            ("ntfy://ntfy.lan/", "ntfy://ntfy.lan/x,mailto://evil.org"),
            ("mailto://example.net", "mailto://example.net?to=mallory@evil.org"),
            ("slack://TOKENA", "slack://tokena"),
            ("$FAMILY", "$FAMILY"),
        ] {
            assert!(!is(address, written), "{address} {written}");
        }
    }
}
