//! The client asks for a person's attention: the notification is forwarded to the operators.

use crate::hooks::answer::Answer;
use crate::machine::notify;
use crate::machine::request::Request;
use opsctl_policy::model::records::event::{HookCall, Level};
use opsctl_policy::model::records::notice::{Body, Notice};

/// The longest title that is forwarded, in characters.
const TITLE_CHARS: usize = 200;

/// Raises the notification as a notice. A failure gives a warning.
pub fn handle(call: &HookCall, title: Option<&str>, message: &str, request: &Request) -> Answer {
    let title: String = opsctl_redact::text(title.unwrap_or("opsctl: message of the client"))
        .chars()
        .take(TITLE_CHARS)
        .collect();
    let body = if message.is_empty() { title.clone() } else { message.to_owned() };
    let notice = Notice {
        key: "notification".to_owned(),
        quiet_until: None,
        level: Level::Info,
        title: title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        body: Body::Plain(body),
        tags: vec!["notification".to_owned()],
    };
    Answer::allow(notify::raise(request, call.session.as_deref(), &notice, request.now).into_iter().collect())
}
