//! The turn ended because of an API error: it is recorded as an event, and the operators are notified.

use crate::hooks::answer::Answer;
use crate::machine::notify;
use crate::machine::request::Request;
use opsctl_policy::model::records::event::{HookCall, NewEvent};
use opsctl_policy::texts::notices::{api_failed, api_level};

/// The longest part of the client's message that is forwarded, in characters.
const MESSAGE_CHARS: usize = 500;

/// The length in bytes from which a word of letters and digits counts as a key.
const KEY_CHARS: usize = 20;

/// Records an event and raises a notice, both in a detached process: the client does not wait for this hook and ends it when
/// it exits. [`super::session_end`] reports the error as well, in case this hook did not run; duplicates are dropped.
pub fn handle(call: &HookCall, error: Option<&str>, message: Option<&str>, request: &Request) -> Answer {
    let session = call.session.as_deref();
    let error = error_code(error.unwrap_or_default());
    let message = without_keys(message.unwrap_or_default());
    let notice = api_failed(&error, &message, session, request.tier, request.now);
    let event = NewEvent {
        level: api_level(&error),
        service: None,
        message: format!("Session stopped: a request to the model failed ({error})"),
    };
    Answer::allow(
        notify::raise_apart(request, session, &notice, Some(&event), request.now).into_iter().collect(),
    )
}

/// The client's error code: at most 64 letters, digits, `_` and `-`; `unknown` if nothing is left.
fn error_code(error: &str) -> String {
    // Without its punctuation, no rule would find a secret.
    let error = opsctl_redact::text(error);
    let word: String =
        error.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(64).collect();
    if word.is_empty() { "unknown".to_owned() } else { word }
}

/// The message as one line, with everything that looks like a key replaced: an API may repeat what it was sent.
fn without_keys(message: &str) -> String {
    let is_key = |word: &&str| {
        word.len() >= KEY_CHARS
            && word.chars().any(|c| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=+/.,:;\"'()".contains(c))
            && !word.contains("://")
    };
    let message = opsctl_redact::text(message);
    let words: Vec<&str> =
        message.split_whitespace().map(|word| if is_key(&word) { "…" } else { word }).collect();
    words.join(" ").chars().take(MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_forwarded() {
        let message = "API Error: 401 invalid x-api-key: sk-ant-0123456789abcdef, see\nhttps://example.org/a/long/path/1";
        assert_eq!(
            without_keys(message),
            "API Error: 401 invalid x-api-key: [redacted] see https://example.org/a/long/path/1"
        );
        assert_eq!(without_keys("API Error: Request rejected (429)"), "API Error: Request rejected (429)");
    }

    #[test]
    fn an_error_code_contains_neither_markup_nor_a_secret() {
        for (error, code) in [
            ("rate_limit", "rate_limit"),
            ("`x`\n# Title", "xTitle"),
            ("\n", "unknown"),
            ("password=hunter2 x", "passwordredactedx"),
        ] {
            assert_eq!(error_code(error), code);
        }
        assert!(!without_keys("password: 'correct horse battery' x").contains("horse"));
    }
}
