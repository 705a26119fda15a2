//! `apprise`.

use super::super::call::Call;
use super::super::line::Line;
use super::{IN_FILE, LATER, recipient, sent};
use crate::catalogue::program::Role;
use crate::terms::action::Action;
use crate::terms::message::Recipient;

/// The variable with the URLs that it uses by default.
const URLS: &str = "APPRISE_URLS";
/// Options and variables that select another configuration.
const LEADING: &[&str] = &[URLS, "APPRISE_CONFIG_PATH", "APPRISE_CONFIG", "HOME", "XDG_CONFIG_HOME"];

pub(in super::super) fn find_actions(call: &Call<'_>, actions: &mut Vec<Action>) {
    // Without arguments it prints its help.
    if !call.own.options.is_empty() || !call.own.positionals.is_empty() {
        actions.push(sent(call.line, recipients(call), call.line.program().to_owned()));
    }
}

fn recipients(call: &Call<'_>) -> Vec<Recipient> {
    let (line, arguments) = (call.line, &call.own);
    let mut recipients: Vec<Recipient> =
        arguments.positionals.iter().filter_map(|&index| line.word(index)).map(recipient).collect();
    if arguments.has(&call.usage.role(Role::Manifests)) {
        recipients.push(Recipient::Unread(IN_FILE));
    }
    let led = LEADING.iter().any(|name| line.command.variable(name).is_some());
    for tag in arguments.values(&call.usage.role(Role::Tags)) {
        match tag.known() {
            Some(tags) if !led => {
                let names = tags.split([',', ' ']).filter(|name| !name.is_empty());
                recipients.extend(names.map(|name| Recipient::Written(name.to_owned())));
            }
            _ => recipients.push(Recipient::Unread(LATER)),
        }
    }
    if recipients.is_empty() {
        recipients.extend(configured(line, led));
    }
    recipients
}

/// The default recipients: the URLs of its variable.
fn configured(line: &Line<'_>, led: bool) -> Vec<Recipient> {
    match line.command.variable(URLS).map(|urls| (urls, urls.known())) {
        Some((_, Some(urls))) => {
            let urls = urls.split([',', ' ', '\n']).filter(|url| !url.is_empty());
            urls.map(|url| Recipient::Written(url.to_owned())).collect()
        }
        Some((urls, None)) => vec![recipient(urls)],
        None if led => vec![Recipient::Unread(IN_FILE)],
        None => vec![Recipient::Variable(URLS.to_owned())],
    }
}
