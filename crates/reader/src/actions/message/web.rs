//! Messages that `curl`, `wget` and similar programs send: to chat webhooks, and by mail.

use super::super::call::Call;
use super::super::line::Line;
use super::super::request::Request;
use super::{IN_MESSAGE, chats, recipient, sent};
use crate::catalogue::Catalogue;
use crate::catalogue::program::{Role, TargetKind};
use crate::shell::{Command, Node, Script, Word};
use crate::terms::action::Action;
use crate::terms::message::{Recipient, plain_url};

pub(in super::super) fn find_actions(call: &Call<'_>, request: &Request, actions: &mut Vec<Action>) {
    for url in &request.urls {
        let scheme = url.text.split("://").next().unwrap_or_default().to_ascii_lowercase();
        if matches!(scheme.as_str(), "smtp" | "smtps") {
            let mut recipients: Vec<Recipient> =
                call.own.values(&call.usage.role(Role::Recipients)).map(recipient).collect();
            if recipients.is_empty() {
                recipients.push(Recipient::Unread(IN_MESSAGE));
            }
            actions.push(sent(call.line, recipients, format!("{} to a mail server", call.line.program())));
        } else if let Some(chat) = chat(url, call, request) {
            actions.push(sent(call.line, vec![recipient(url)], format!("{} to {chat}", call.line.program())));
        }
    }
}

/// Whether the script contains a command that may write to such an address.
pub fn may_be_listed(script: &Script) -> bool {
    let mut found = false;
    script.visit(|node| {
        found |= matches!(node, Node::Command(command) if is_client(command, script.catalogue));
    });
    found
}

/// Whether the requests of this program are checked.
fn is_client(command: &Command, catalogue: Catalogue) -> bool {
    let program = command.words.first().and_then(|name| catalogue.find(&name.text));
    program.and_then(|program| program.form.does).is_some_and(|does| does.to.kind == TargetKind::Requests)
}

/// The messages to addresses of `hosts.yaml`, in addition to the built-in ones.
pub fn listed(script: &Script, webhooks: &[String], actions: &mut Vec<Action>) {
    if webhooks.is_empty() {
        return;
    }
    for command in script.commands().into_iter().filter(|command| is_client(command, script.catalogue)) {
        let line = Line::new(command, script.catalogue);
        let Some(usage) = line.usage() else { continue };
        let Ok(call) = Call::of(&line, &usage) else { continue };
        let request = Request::of(&call);
        for url in request.urls.iter().filter(|url| chat(url, &call, &request).is_none()) {
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

/// The chat of a URL.
fn chat(url: &Word, call: &Call<'_>, request: &Request) -> Option<&'static str> {
    let headers: Vec<&str> =
        call.own.values(&call.usage.role(Role::Headers)).map(|header| header.text.as_str()).collect();
    let found = chats::named(&url.text, request.sends, &headers);
    let Some(unknown) = url.unknown.as_ref().filter(|_| found.is_none()) else { return found };
    let candidate = unknown.candidates.iter().find_map(|url| chats::named(url, request.sends, &headers));
    // The URL is only known at run time; its name may suggest a chat.
    candidate.or_else(|| {
        (url.prefix().is_empty() && request.sends && chats::hints_at_one(&url.text)).then_some("a webhook")
    })
}
