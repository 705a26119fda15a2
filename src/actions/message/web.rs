//! `curl`, `wget` and their kin where they write to people: chat webhooks, and mail.

use super::super::line::Line;
use super::super::request::{Request, is_client, valued};
use super::{IN_MESSAGE, chats, recipient, sent};
use crate::model::action::Action;
use crate::model::message::{Recipient, plain_url};
use crate::shell::{Node, Script, Word};

pub(in super::super) fn find_actions(line: &Line<'_>, request: &Request<'_>, actions: &mut Vec<Action>) {
    for url in &request.urls {
        let scheme = url.text.split("://").next().unwrap_or_default().to_ascii_lowercase();
        if matches!(scheme.as_str(), "smtp" | "smtps") {
            let mut recipients: Vec<Recipient> =
                request.arguments.values(&["--mail-rcpt"]).map(recipient).collect();
            if recipients.is_empty() {
                recipients.push(Recipient::Unread(IN_MESSAGE));
            }
            actions.push(sent(line, recipients, format!("{} to a mail server", line.program())));
        } else if let Some(chat) = chat(url, request) {
            actions.push(sent(line, vec![recipient(url)], format!("{} to {chat}", line.program())));
        }
    }
}

/// Whether a command stands in the script that may write to such an address.
pub fn may_be_listed(script: &Script) -> bool {
    let mut found = false;
    script.visit(|node| found |= matches!(node, Node::Command(command) if is_client(&Line::new(command))));
    found
}

/// The messages to addresses that `hosts.yaml` adds to those that are known.
pub fn listed(script: &Script, webhooks: &[String], actions: &mut Vec<Action>) {
    if webhooks.is_empty() {
        return;
    }
    for command in script.commands() {
        let line = Line::new(command);
        if !is_client(&line) {
            continue;
        }
        let valued = valued(&line);
        let request = Request::of(&line, &valued);
        for url in request.urls.iter().filter(|url| chat(url, &request).is_none()) {
            let begins = |webhook: &String| {
                let (url, webhook) = (plain_url(&url.text), plain_url(webhook));
                url.strip_prefix(webhook.as_str()).is_some_and(|rest| {
                    webhook.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?', '#'])
                })
            };
            if webhooks.iter().any(begins) {
                let evidence = format!("{} to a webhook of hosts.yaml", line.program());
                actions.push(sent(&line, vec![recipient(url)], evidence));
            }
        }
    }
}

/// The chat that a URL leads to.
fn chat(url: &Word, request: &Request<'_>) -> Option<&'static str> {
    let headers: Vec<&str> =
        request.arguments.values(&["-H", "--header"]).map(|header| header.text.as_str()).collect();
    let found = chats::named(&url.text, request.sends, &headers);
    let Some(unknown) = url.unknown.as_ref().filter(|_| found.is_none()) else { return found };
    let candidate = unknown.candidates.iter().find_map(|url| chats::named(url, request.sends, &headers));
    // Which URL it is only the run knows; its name may tell what it is for.
    candidate.or_else(|| {
        (url.prefix().is_empty() && request.sends && chats::hints_at_one(&url.text)).then_some("a webhook")
    })
}
