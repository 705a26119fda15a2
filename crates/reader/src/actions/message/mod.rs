//! Messages to people: programs that send them, and their recipients.

mod apprise;
mod chats;
mod mail;
mod web;

use super::line::Line;
use crate::catalogue::base_name;
use crate::shell::{Node, Script, Word, is_name};
use crate::terms::action::{Action, ActionKind, Family, Target, Verb};
use crate::terms::message::Recipient;

pub(super) use apprise::find_actions as apprise;
pub(super) use mail::find_actions as mail;
pub(super) use web::find_actions as web;
pub use web::{listed, may_be_listed};

const LATER: &str = "it is known only when the command runs";
const IN_FILE: &str = "it is in a file";
const IN_MESSAGE: &str = "it is in the message itself";
const UNNAMED: &str = "the command does not name it";

/// The action of a message.
pub(super) fn sent(line: &Line<'_>, recipients: Vec<Recipient>, evidence: String) -> Action {
    let target = Target::Recipients(recipients);
    line.action(ActionKind::Notification, Verb::Send, Family::Notifier, target, evidence)
}

/// The message of a program that the catalogue does not describe, and that has the name of one that sends messages.
pub(super) fn undescribed(line: &Line<'_>) -> Option<Action> {
    let name = base_name(line.program());
    let found = || sent(line, vec![Recipient::Written(name.to_owned())], name.to_owned());
    chats::is_program(name).then(found)
}

/// The recipient that a word names.
fn recipient(word: &Word) -> Recipient {
    match word.known() {
        Some(text) => Recipient::Written(text.to_owned()),
        None => variable(word).map_or(Recipient::Unread(LATER), Recipient::Variable),
    }
}

/// The variable that a word consists of, `$NAME` or `${NAME}`.
fn variable(word: &Word) -> Option<String> {
    let unknown = word.unknown.as_ref()?;
    let name = word.text.strip_prefix('$')?;
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    (unknown.candidates.is_empty() && is_name(name)).then(|| name.to_owned())
}

/// Replaces recipients in variables that the command may set: their values are unknown.
pub(super) fn doubt(text: &str, script: &Script, actions: &mut [Action]) {
    for action in actions {
        // On another host it is another variable.
        let elsewhere = action.host.is_some();
        let Target::Recipients(recipients) = &mut action.target else { continue };
        for recipient in recipients {
            if let Recipient::Variable(name) = recipient
                && (elsewhere || may_be_set(name, text, script))
            {
                *recipient = Recipient::Unread(LATER);
            }
        }
    }
}

fn may_be_set(name: &str, text: &str, script: &Script) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mentioned = text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + name.len()..).unwrap_or_default();
        if before.ends_with(inside) || after.starts_with(inside) {
            return false;
        }
        let read = before.ends_with('$') || before.ends_with("${") && after.starts_with('}');
        !read
    });
    let mut sets = mentioned || !script.complaints.is_empty();
    script.visit(|node| match node {
        Node::Command(command) => {
            let word = |at: usize| command.words.get(at).map_or("", |word| word.text.as_str());
            sets |= matches!(word(0), "." | "source" | "eval");
            // Quotes within a name hide it in the text: `read FAM''ILY`.
            sets |= command.words.iter().skip(1).any(|word| {
                word.text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            });
        }
        Node::Unread(_) => sets = true,
        Node::Group(..) => {}
    });
    sets
}
