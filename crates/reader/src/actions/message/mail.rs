//! Programs that send mail or chat messages from a command line.

use super::super::call::Call;
use super::super::line::{Arguments, Line};
use super::{IN_FILE, IN_MESSAGE, UNNAMED, recipient, sent};
use crate::catalogue::base_name;
use crate::catalogue::program::Recipients;
use crate::shell::Word;
use crate::terms::action::Action;
use crate::terms::message::Recipient;

pub(in super::super) fn find_actions(call: &Call<'_>, actions: &mut Vec<Action>) {
    let evidence = call.line.program().to_owned();
    let found = match call.does.recipients.as_deref() {
        Some(to) if to.operators => vec![Recipient::Operators],
        Some(to) if to.program => vec![Recipient::Written(base_name(call.line.program()).to_owned())],
        Some(to) => recipients(call, to),
        None => vec![Recipient::Unread(UNNAMED)],
    };
    if !found.is_empty() {
        actions.push(sent(call.line, found, evidence));
    }
}

fn recipients(call: &Call<'_>, to: &Recipients) -> Vec<Recipient> {
    let (line, arguments) = (call.line, &call.own);
    let mut found = Vec::new();
    if to.words {
        for word in positionals(line, arguments).filter_map(|index| line.word(index)) {
            addresses(word, &mut found);
        }
    }
    for (options, why) in [(to.in_message, IN_MESSAGE), (to.in_file, IN_FILE)] {
        if arguments.has(&options) {
            found.push(Recipient::Unread(why));
        }
    }
    // A conversation with the server, on standard input.
    if arguments.value(&["-b"]).is_some_and(|mode| matches!(mode.text.as_str(), "s" | "S")) {
        found.push(Recipient::Unread(IN_MESSAGE));
    }
    if to.words && found.is_empty() {
        return found;
    }
    for word in arguments.values(&to.options) {
        addresses(word, &mut found);
    }
    for head in arguments.values(&to.headers) {
        let (name, rest) = head.text.split_once(':').unwrap_or((&head.text, ""));
        match head.known() {
            Some(_) if !matches!(name.trim().to_ascii_lowercase().as_str(), "to" | "cc" | "bcc") => {}
            Some(_) => addresses(&Word::literal(rest), &mut found),
            None => found.push(Recipient::Unread(IN_MESSAGE)),
        }
    }
    // Lines with a tilde are commands, which may add recipients.
    if line.command.stdin.as_ref().is_some_and(|text| text.text.lines().any(|line| line.starts_with('~'))) {
        found.push(Recipient::Unread(IN_MESSAGE));
    }
    if found.is_empty() {
        found.push(Recipient::Unread(UNNAMED));
    }
    found
}

/// The words that are not options; after mutt's `-a FILE …`, only those after `--`.
fn positionals<'a>(line: &'a Line<'_>, arguments: &'a Arguments<'_>) -> impl Iterator<Item = usize> + 'a {
    let dashes = (1..line.command.words.len()).find(|&index| line.text(index) == "--");
    let attaches = line.program().ends_with("mutt") && arguments.has(&["-a"]);
    let from = dashes.filter(|_| attaches).unwrap_or(0);
    arguments.positionals.iter().copied().filter(move |&index| index >= from)
}

/// Parses addresses like mail programs: `a@b, Anna <c@d>`, `mailto:e@f`.
fn addresses(word: &Word, into: &mut Vec<Recipient>) {
    let Some(text) = word.known() else {
        into.push(recipient(word));
        return;
    };
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let address = part.split_once('<').and_then(|(_, rest)| rest.strip_suffix('>')).unwrap_or(part);
        for address in address.split_whitespace() {
            let address = address.strip_prefix("mailto:").unwrap_or(address);
            into.push(Recipient::Written(address.to_owned()));
        }
    }
}
