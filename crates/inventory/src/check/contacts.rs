//! Contacts, modes and webhooks.

use crate::spanned::Spanned;

use super::values::{check_name, is_variable};
use crate::error::{Checked, Mistake, Mistakes};
use crate::yaml::contacts::{ContactTagWire, ContactWire};
use crate::yaml::forms::{Entries, entries};
use opsctl_reader::terms::message::{Contact, plain_url};

/// Checks the contacts. An address belongs to one contact only.
pub fn check(wires: Option<Entries<ContactWire>>, found: &mut Mistakes) -> Vec<Contact> {
    let mut contacts: Vec<Contact> = Vec::new();
    for (name, wire) in entries(wires) {
        let has_address = !wire.addresses.is_empty();
        found.keep(Mistake::unless(has_address, &name, "has no address", "add one to `addresses`"));
        let known = name.value.clone();
        let name = found.keep(check_name(name)).unwrap_or(known);
        let mut addresses = Vec::new();
        for address in wire.addresses {
            found.keep(check_address(&address));
            if let Some(other) = contacts.iter().find(|contact| contact.addresses.contains(&address.value)) {
                let what = format!("is an address of both `{}` and `{name}`", other.name);
                found.add(Mistake::of(&address, what, "remove one of the two"));
            }
            addresses.push(address.value);
        }
        contacts.push(Contact {
            name,
            addresses,
            direct: wire.tags.contains(&ContactTagWire::ClaudeDirect),
            draft: wire.tags.contains(&ContactTagWire::ClaudeDraft),
        });
    }
    contacts
}

/// The URL prefixes of webhooks: those of `policy.webhooks` and those of the contacts.
pub fn check_webhooks(
    stated: Option<Vec<Spanned<String>>>,
    contacts: &[Contact],
    found: &mut Mistakes,
) -> Vec<String> {
    let mut webhooks = Vec::new();
    for url in stated.unwrap_or_default() {
        if !is_web(&url.value) || url.value.contains(char::is_whitespace) {
            found.add(Mistake::of(&url, "is not an HTTP URL", "write one such as `https://chat.lan/hooks/`"));
        } else {
            found.keep(check_address(&url));
        }
        webhooks.push(url.value);
    }
    webhooks
        .extend(contacts.iter().flat_map(|contact| &contact.addresses).filter(|url| is_web(url)).cloned());
    webhooks
}

fn is_web(url: &str) -> bool {
    let plain = plain_url(url);
    url.contains("://") && (plain.starts_with("http://") || plain.starts_with("https://"))
}

fn check_address(address: &Spanned<String>) -> Checked<()> {
    let text = &address.value;
    let is_foreign = |c: char| c.is_whitespace() || c.is_control() || c == ',';
    let is_address = !text.is_empty() && text.len() <= 512 && !text.contains(is_foreign);
    let remedy = "write a mail address, a URL, `$VARIABLE`, or a name such as an apprise tag";
    Mistake::unless(is_address, address, "is not a contact address", remedy)?;
    let (what, remedy) = ("is not an environment variable", "write one such as `$FAMILY_URL`");
    Mistake::unless(text.strip_prefix('$').is_none_or(is_variable), address, what, remedy)?;
    let Some((scheme, rest)) = text.split_once("://") else { return Ok(()) };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_url = ![scheme, authority].contains(&"") && !["..", "://"].iter().any(|part| rest.contains(part));
    Mistake::unless(is_url, address, "is not a URL", "write one such as `https://chat.lan/hooks/`")?;
    // The agent can read the rendered files.
    let has_password = authority.split_once('@').is_some_and(|(user, _)| user.contains(':'));
    let shown = Spanned { value: format!("{scheme}://…"), ..address.clone() };
    let remedy = "put the URL into an environment variable, and write `$VARIABLE`";
    Mistake::unless(!has_password, &shown, "contains a password", remedy)
}
