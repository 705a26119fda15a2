//! The client wants a person's attention: pass it on.

use super::answer::Answer;
use crate::runtime::environment::Environment;
use crate::runtime::notify;

/// Sends the notification when there is somewhere to send it. A failure is told and breaks nothing.
pub fn handle(title: Option<&str>, message: &str, environment: &Environment) -> Answer {
    let Some(urls) = &environment.apprise_urls else { return Answer::silent() };
    let title = title.unwrap_or("Claude Ops");
    let body = if message.is_empty() { title } else { message };
    match notify::send(urls, title, body) {
        Ok(()) => Answer::silent(),
        Err(error) => Answer::passing(vec![error.to_string()]),
    }
}
