//! `apprise`.

use super::super::line::{Arguments, Line};
use super::{IN_FILE, LATER, recipient, sent};
use crate::model::action::Action;
use crate::model::message::Recipient;

const VALUED: &[&str] = &[
    "-t",
    "--title",
    "-b",
    "--body",
    "-c",
    "--config",
    "-a",
    "--attach",
    "-g",
    "--tag",
    "-n",
    "--notification-type",
    "-i",
    "--input-format",
    "-T",
    "--theme",
    "-P",
    "--plugin-path",
    "-R",
    "--recursion-depth",
    "-S",
    "--storage-path",
    "-SPD",
    "--storage-prune-days",
];
const QUIET: &[&str] = &["-V", "--version", "-h", "--help", "-d", "--dry-run", "-l", "--details"];
/// Where it looks for URLs when it is given none.
const URLS: &str = "APPRISE_URLS";
/// What leads it to another configuration.
const LEADING: &[&str] = &[URLS, "APPRISE_CONFIG_PATH", "APPRISE_CONFIG", "HOME", "XDG_CONFIG_HOME"];

pub(in super::super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    line.arguments(1, VALUED, &mut arguments);
    // Managing what it has stored tells nobody anything.
    let stores = arguments.positionals.first().is_some_and(|&index| line.text(index) == "storage");
    let says_nothing = arguments.options.is_empty() && arguments.positionals.is_empty();
    if arguments.has(QUIET) || stores || says_nothing {
        return;
    }
    actions.push(sent(line, recipients(line, &arguments), "apprise".to_owned()));
}

fn recipients(line: &Line<'_>, arguments: &Arguments<'_>) -> Vec<Recipient> {
    let mut recipients: Vec<Recipient> =
        arguments.positionals.iter().filter_map(|&index| line.word(index)).map(recipient).collect();
    if arguments.has(&["-c", "--config"]) {
        recipients.push(Recipient::Unread(IN_FILE));
    }
    let led = LEADING.iter().any(|name| line.command.variable(name).is_some());
    for tag in arguments.values(&["-g", "--tag"]) {
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

/// Whom it tells when nobody is named: the URLs of its variable.
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
