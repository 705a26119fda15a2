//! What the templates show of a question.

use chrono::{DateTime, TimeDelta, Utc};
use ring::digest::{Context, SHA256};
use serde_json::{Value, json};

use super::details::Described;
use crate::guard::approval::desk_key::encoded;
use crate::pages::report::format::{for_texts, plain, with};
use opsctl_policy::model::records::question::{Question, QuestionState};
use opsctl_reader::terms::plain_text::{capitalised, is_hidden};

/// A question that expires within this time is shown as urgent.
const URGENT: TimeDelta = TimeDelta::minutes(5);

/// The maximum length of a command in a title, in characters.
const TITLE: usize = 70;

/// What a page shows of a question as of `now`: its fields, in which hidden characters can be seen, and what follows from
/// them. The agent is named if the ledger has several.
pub fn view(question: &Question, several: bool, now: DateTime<Utc>) -> Value {
    let mut shown = serde_json::to_value(question).unwrap_or_default();
    for_texts(&mut shown, &visible);
    let parts = |action: &String| {
        let Described { kind, evidence, place } = Described::of(action);
        json!({ "kind": visible(kind), "evidence": evidence.map(visible), "place": place.map(visible) })
    };
    let more = json!({
        "title": plain(&visible(&title(question))),
        "parts": question.actions.iter().map(parts).collect::<Vec<_>>(),
        "agent": question.agent.as_deref().filter(|_| several).map(plain),
        "is_open": question.state == QuestionState::Open && !question.at_terminal,
        "is_urgent": question.expires_at - now < URGENT,
        "outcome": outcome(question),
        "seal": seal(question),
    });
    with(shown, more)
}

/// What is asked about, in a few words, such as `Restart of jellyfin on nas`.
fn title(question: &Question) -> String {
    let actions = question.actions.join(", ");
    let Some(first) = question.actions.first().map(|action| Described::of(action)) else {
        return format!(
            "Run {}",
            opsctl_redact::shortened(question.command.lines().next().unwrap_or_default(), TITLE)
        );
    };
    let Some(evidence) = first.evidence else { return capitalised(&actions).replace('`', "") };
    let host = first.host().map(|host| format!(" on {host}")).unwrap_or_default();
    let more = match question.actions.len() {
        1 => String::new(),
        number => format!(", and {} more", number - 1),
    };
    format!("{} of {}{host}{more}", capitalised(first.kind), question.service.as_deref().unwrap_or(evidence))
}

fn outcome(question: &Question) -> &'static str {
    match question.state {
        QuestionState::Open if question.at_terminal => "Asked at the terminal of its session",
        QuestionState::Open => "Open",
        QuestionState::Refused => "Refused",
        QuestionState::Expired if question.answered_by.is_some() => "Approved, but not used in time",
        QuestionState::Expired => "Expired without an answer",
        QuestionState::Used if question.at_terminal => "Approved at the terminal",
        QuestionState::Approved | QuestionState::Used => "Approved",
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
    fn a_title_has_no_backquotes_and_names_service_and_host() {
        let of = |actions: &[&str]| {
            let actions = actions.iter().map(|action| (*action).to_owned()).collect();
            let question = Question { actions, service: Some("jellyfin".into()), ..Question::example() };
            view(&question, false, Utc::now())["title"].as_str().unwrap().to_owned()
        };
        let restart = "a restart (`docker restart jellyfin`, on nas through ssh)";
        assert_eq!(of(&[restart]), "Restart of jellyfin on nas");
        assert_eq!(of(&[restart, "a redeployment (`up -d`)"]), "Restart of jellyfin on nas, and 1 more");
        assert_eq!(of(&[]), "Run docker restart jellyfin");
    }

    #[test]
    fn a_question_is_urgent_in_its_last_minutes() {
        let urgent = |at: &str| view(&Question::example(), false, at.parse().unwrap())["is_urgent"] == true;
        assert!(!urgent("2026-03-21T14:54:59Z") && urgent("2026-03-21T14:55:01Z"));
    }
}
