//! What the templates show of a question.

use chrono::{DateTime, TimeDelta, Utc};
use ring::digest::{Context, SHA256};
use serde_json::{Value, json};

use crate::guard::approval::desk_key::encoded;
use crate::pages::report::format::{for_texts, plain, with};
use opsctl_policy::model::records::question::{Question, QuestionState};
use opsctl_reader::terms::plain_text::{capitalised, is_hidden};

/// A question that expires within this time is shown as urgent.
const URGENT: TimeDelta = TimeDelta::minutes(5);

/// What a page shows of a question as of `now`: its fields, in which hidden characters can be seen, and what follows from
/// them. The agent is named if the ledger has several.
pub fn view(question: &Question, several: bool, now: DateTime<Utc>) -> Value {
    let mut shown = serde_json::to_value(question).unwrap_or_default();
    for_texts(&mut shown, &visible);
    let actions = visible(&question.actions.join(", "));
    let title = if actions.is_empty() { "Run a command".to_owned() } else { capitalised(&actions) };
    let more = json!({
        "title": plain(&title),
        "agent": question.agent.as_deref().filter(|_| several).map(plain),
        "is_open": question.state == QuestionState::Open && !question.at_terminal,
        "is_urgent": question.expires_at - now < URGENT,
        "outcome": outcome(question),
        "seal": seal(question),
    });
    with(shown, more)
}

fn outcome(question: &Question) -> &'static str {
    match question.state {
        QuestionState::Open if question.at_terminal => "Asked at the terminal of its session",
        QuestionState::Open => "Open",
        QuestionState::Approved => "Approved, and waits for the session",
        QuestionState::Refused => "Refused",
        QuestionState::Expired if question.answered_by.is_some() => "Approved, but not used in time",
        QuestionState::Expired => "Expired without an answer",
        QuestionState::Used if question.at_terminal => "Approved at the terminal",
        QuestionState::Used => "Approved, and has run",
    }
}

/// A digest of what a page shows of a question, so that an answer is to what its person has seen.
pub fn seal(question: &Question) -> String {
    let mut context = Context::new(&SHA256);
    let parts = [&question.session, &question.call, &question.digest, &question.command];
    for part in parts.into_iter().chain(&question.actions).chain(&question.service) {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    encoded(context.finish().as_ref())
}

/// The text with hidden characters, such as direction marks, as escapes. Line breaks and tabs stay.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// A text as one part of the path of an address.
pub fn path_part(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_whole_and_hidden_characters_as_escapes() {
        let long = format!("echo a\u{202e}b\n{}", "x ".repeat(3000));
        let view = view(&Question { command: long, ..Question::example() }, false, Utc::now());
        let command = view["command"].as_str().unwrap();
        assert!(command.starts_with("echo a\\u{202e}b\nx x"), "{command}");
        assert_eq!(command.len(), "echo a\\u{202e}b\n".len() + 6000);
    }

    #[test]
    fn the_seal_changes_with_what_is_shown() {
        let example = Question::example;
        let others = [
            Question { command: "docker restart nas".into(), ..example() },
            Question { actions: vec!["restart of nas".into()], ..example() },
            Question { service: Some("nas".into()), ..example() },
            Question { digest: "e".into(), ..example() },
        ];
        let seals: std::collections::BTreeSet<_> = others.iter().chain([&example()]).map(seal).collect();
        assert_eq!(seals.len(), 5);
        assert_eq!(seal(&example()), seal(&Question { note: Some("n".into()), ..example() }));
    }

    #[test]
    fn a_question_is_urgent_in_its_last_minutes() {
        let urgent = |at: &str| view(&Question::example(), false, at.parse().unwrap())["is_urgent"] == true;
        assert!(!urgent("2026-03-21T14:54:59Z") && urgent("2026-03-21T14:55:01Z"));
    }

    #[test]
    fn an_id_of_a_session_is_one_part_of_an_address() {
        assert_eq!(path_part("a/../b ?#%"), "a%2F..%2Fb%20%3F%23%25");
    }
}
