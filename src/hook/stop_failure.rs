//! The turn ended because the model could not be asked: an event, and the operators are told.

use chrono::{DateTime, Utc};

use super::answer::Answer;
use crate::model::event::{HookCall, NewEvent};
use crate::policy::notices::{api_failed, api_level};
use crate::runtime::environment::Environment;
use crate::runtime::notify;

/// The longest message of the client that is passed on, in characters.
const MESSAGE_CHARS: usize = 500;

/// From this length on a word of letters and digits may be a key.
const KEY_CHARS: usize = 20;

/// Has an event written down and a notice raised. The client does not wait for this hook and ends it as it ends
/// itself, so all of it is left to a process of its own; and should the hook have come to nothing, the end of the
/// session tells the same ([`super::session_end`]). Told twice it is told once.
pub fn handle(
    call: &HookCall,
    error: Option<&str>,
    message: Option<&str>,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let session = call.session.as_deref();
    let error = plain_word(error.unwrap_or_default());
    let message = without_keys(message.unwrap_or_default());
    let notice = api_failed(&error, &message, session, environment.tier, now);
    let event = NewEvent {
        level: api_level(&error),
        service: None,
        message: format!("Session stopped: the model could not be asked ({error})"),
    };
    Answer::passing(
        notify::raise_apart(environment, session, &notice, Some(&event), now).into_iter().collect(),
    )
}

/// The client's word for the error: a name, and nothing else.
fn plain_word(error: &str) -> String {
    let word: String =
        error.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(64).collect();
    if word.is_empty() { "unknown".to_owned() } else { word }
}

/// One line without anything that looks like a key: an API may repeat what it was sent.
fn without_keys(message: &str) -> String {
    let is_key = |word: &&str| {
        word.len() >= KEY_CHARS
            && word.chars().any(|c| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=+/.,:;\"'()".contains(c))
            && !word.contains("://")
    };
    let words: Vec<&str> =
        message.split_whitespace().map(|word| if is_key(&word) { "…" } else { word }).collect();
    words.join(" ").chars().take(MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_key_is_not_passed_on() {
        let message = "API Error: 401 invalid x-api-key: sk-ant-0123456789abcdef, see\nhttps://example.org/a/long/path/1";
        assert_eq!(
            without_keys(message),
            "API Error: 401 invalid x-api-key: … see https://example.org/a/long/path/1"
        );
        assert_eq!(without_keys("API Error: Request rejected (429)"), "API Error: Request rejected (429)");
    }

    #[test]
    fn an_error_is_named_by_a_word() {
        assert_eq!(plain_word("rate_limit"), "rate_limit");
        assert_eq!(plain_word("`x`\n# Title"), "xTitle");
        assert_eq!(plain_word("\n"), "unknown");
    }
}
