//! Recipients that a session may write to, by its mode. For a session without a mode, only its tier applies.

use super::tier::describe;
use crate::model::records::verdict::{Reason, ResolvedAction, each_once};
use crate::model::rights::policy::Policy;
use opsctl_reader::terms::action::{ActionKind, Target};
use opsctl_reader::terms::message::{Audience, Contact, Recipient};
use opsctl_reader::terms::mode::Mode;
use opsctl_reader::terms::plain_text::first_words;

/// The objections to the messages among these actions.
pub fn objections(actions: &[ResolvedAction], policy: &Policy, mode: Option<Mode>) -> Vec<Reason> {
    let Some(mode) = mode else { return vec![] };
    let messages = actions.iter().filter(|action| action.action.kind == ActionKind::Notification);
    let objection = |action| match policy.modes.of(mode) {
        Audience::Anyone => None,
        Audience::Nobody => Some(no_recipients(action, mode)),
        Audience::Contacts => contacts_only(action, &policy.contacts, mode),
    };
    each_once(messages.filter_map(objection).map(|text| Reason::of("mode", text)))
}

fn no_recipients(action: &ResolvedAction, mode: Mode) -> String {
    format!(
        "In {} mode, commands may not send messages: {} is denied. opsctl itself notifies the operators of used-up budgets, failures and unhealthy services; put everything else in your report and on event lines.",
        mode.as_str(),
        describe(action)
    )
}

/// The objection to the first recipient that is not allowed.
fn contacts_only(action: &ResolvedAction, contacts: &[Contact], mode: Mode) -> Option<String> {
    let unread = [Recipient::Unread("the command cannot be read")];
    let recipients = match &action.action.target {
        Target::Recipients(recipients) if !recipients.is_empty() => recipients.as_slice(),
        _ => &unread,
    };
    let mode = mode.as_str();
    let what = describe(action);
    recipients.iter().find_map(|recipient| {
        let name = match recipient {
            Recipient::Operators => return None,
            Recipient::Unread(why) => return Some(undetermined(mode, &what, why)),
            Recipient::Written(name) if action.host.is_some() && !name.contains(['@', ':']) => {
                return Some(undetermined(mode, &what, "a name can mean another recipient on another host"));
            }
            Recipient::Written(name) => shown(name),
            Recipient::Variable(name) => format!("${name}"),
        };
        let of_theirs = || contacts.iter().filter(|contact| contact.is(recipient));
        if of_theirs().any(|contact| contact.direct) {
            return None;
        }
        Some(match of_theirs().find(|contact| contact.draft) {
            Some(contact) => format!(
                "Only drafts may be written to {} (`claude_draft`): {what} is denied. Write the message to a file in the results folder (CLAUDEOPS_RESULTS_DIR) and mention it in your report; an operator sends it.",
                contact.name
            ),
            None => format!(
                "In {mode} mode, messages may only go to contacts of hosts.yaml with the tag `claude_direct`, and `{name}` is not one: {what} is denied. Put the text in your report for an operator to send."
            ),
        })
    })
}

fn undetermined(mode: &str, what: &str, why: &str) -> String {
    format!(
        "In {mode} mode, messages may only go to contacts of hosts.yaml with the tag `claude_direct`, and the recipients of {what} cannot be determined: {why}. Write the address in the command, or the `$VARIABLE` that a contact lists."
    )
}

/// The address without parts that may be secret.
fn shown(address: &str) -> String {
    let plain = |text: &str| first_words(text, 128).replace(|c: char| c.is_control() || c == '`', "");
    let Some((scheme, rest)) = address.split_once("://") else {
        return match address.split_once('/') {
            Some((host, _)) => plain(&format!("{host}/…")),
            None => plain(address),
        };
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        plain(&format!("{scheme}://{host}/…"))
    } else {
        plain(&format!("{scheme}://…"))
    }
}
