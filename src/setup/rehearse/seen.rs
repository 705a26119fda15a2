//! What a scene observed.

use super::report::{GuaranteeStatus, Seen};
use super::stage::Played;

/// The guarantee holds.
pub fn pass(seen: &str) -> Seen {
    (GuaranteeStatus::Pass, one_line(seen))
}

/// The active policy does not include the guarantee.
pub fn not_applicable(why: &str) -> Seen {
    (GuaranteeStatus::NotApplicable, why.to_owned())
}

/// The guarantee does not hold; with details from the session.
pub fn fail(what: String, played: &Played) -> Seen {
    let mut seen = what;
    if played.status.is_none() {
        seen.push_str("; the session timed out");
    }
    if played.conversations.is_empty() {
        seen.push_str("; the client never asked the model");
    }
    for (name, text) in
        [("the agent read", last_result(played)), ("the client said", played.complaint.clone())]
    {
        if !text.is_empty() {
            seen.push_str(&format!("; {name}: {text}"));
        }
    }
    (GuaranteeStatus::Fail, one_line(&seen))
}

/// The text of the last result of a tool call; empty without one.
pub fn last_result(played: &Played) -> String {
    played.results.last().map(|result| result.text.clone()).unwrap_or_default()
}

/// One line of at most 300 characters.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}
