//! Texts and numbers that a peer states: bounded, checked, and marked, so that no reader takes them for what the guard has seen.

use chrono::{DateTime, TimeDelta, Utc};

use opsctl_ledger::sessions::client_runs::RunEnd;
use opsctl_policy::model::records::event::NewEvent;
use opsctl_policy::model::records::notice::{Body, Notice};
use opsctl_policy::model::rights::policy::Tier;

/// The beginning of each text that a peer states.
pub const MARK: &str = "Stated by the agent: ";

/// The beginning of the key of each notice that a peer raises, so that it neither silences nor passes for one of the guard.
const KEY: &str = "stated/";

/// The longest name, id or title, in characters.
const NAME: usize = 200;

/// The longest text, in characters.
const TEXT: usize = 8_000;

/// The longest path, in characters.
const PATH: usize = 4_096;

/// The most tags of a notice.
const TAGS: usize = 20;

/// The longest time for which a notice silences others of its key.
const QUIET: TimeDelta = TimeDelta::days(1);

/// The outcomes of a session.
const OUTCOMES: [&str; 7] =
    ["completed", "failed", "timeout", "signalled", "cut_off", "not_started", "waiting"];

/// The upper bounds of a session's numbers.
const MOST_USD: f64 = 100_000.0;
const MOST_TURNS: i64 = 1_000_000;
const MOST_TOKENS: i64 = 1_000_000_000_000;
const MOST_MILLISECONDS: i64 = 90 * 24 * 3_600_000;

/// What is wrong with a record.
pub type Wrong = String;

/// Checks the length of a name or an id.
pub fn name<'a>(what: &str, text: &'a str) -> Result<&'a str, Wrong> {
    bounded(what, text, NAME)
}

/// Checks the length of a path.
pub fn path<'a>(what: &str, text: &'a str) -> Result<&'a str, Wrong> {
    bounded(what, text, PATH)
}

fn bounded<'a>(what: &str, text: &'a str, most: usize) -> Result<&'a str, Wrong> {
    let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
    if is_plain && text.chars().count() <= most {
        Ok(text)
    } else {
        Err(format!("the {what} of the record is not a line of 1 to {most} characters"))
    }
}

/// A text without secrets, with its mark, cut to the longest length.
pub fn text(text: &str) -> String {
    cut(&opsctl_redact::text(text), TEXT)
}

fn cut(text: &str, most: usize) -> String {
    MARK.chars().chain(text.chars().take(most)).collect()
}

/// The tier of this number.
pub fn tier(number: u8) -> Result<Tier, Wrong> {
    Tier::from_number(number)
        .ok_or_else(|| format!("the record states tier {number}, which is not 1, 2 or 3"))
}

/// Checks an event, and marks its text.
pub fn event(event: &mut NewEvent) -> Result<(), Wrong> {
    if let Some(service) = &event.service {
        name("service", service)?;
    }
    event.message = text(&event.message);
    Ok(())
}

/// A notice.
pub fn notice(notice: Notice, now: DateTime<Utc>) -> Result<Notice, Wrong> {
    let Notice { key, quiet_until, level, title, body, tags } = notice;
    name("key", &key)?;
    if tags.len() > TAGS {
        return Err(format!("the notification has more than {TAGS} tags"));
    }
    tags.iter().try_for_each(|tag| name("tag", tag).map(drop))?;
    Ok(Notice {
        key: format!("{KEY}{key}"),
        quiet_until: quiet_until.map(|until| until.min(now + QUIET)),
        level,
        title: cut(&opsctl_redact::text(&title), NAME),
        body: match body {
            Body::Markdown(body) => Body::Markdown(text(&body)),
            Body::Plain(body) => Body::Plain(text(&body)),
        },
        tags,
    })
}

/// Checks the outcome and the numbers of a session.
pub fn end(end: &RunEnd) -> Result<(), Wrong> {
    if !OUTCOMES.contains(&end.outcome.as_str()) {
        return Err("the record states an outcome of a session that does not exist".to_owned());
    }
    let numbers = [
        ("turns", end.turns, MOST_TURNS),
        ("input tokens", end.input_tokens, MOST_TOKENS),
        ("output tokens", end.output_tokens, MOST_TOKENS),
        ("duration", Some(end.duration_ms), MOST_MILLISECONDS),
    ];
    for (what, number, most) in numbers {
        if number.is_some_and(|number| !(0..=most).contains(&number)) {
            return Err(format!("the {what} of the record is not within 0 and {most}"));
        }
    }
    if end.cost_usd.is_some_and(|cost| !(0.0..=MOST_USD).contains(&cost)) {
        return Err(format!("the cost of the record is not within 0 and {MOST_USD} US dollars"));
    }
    if let Some(waiting) = &end.waiting {
        name("call", &waiting.call)?;
        name("transcript", &waiting.transcript)?;
    }
    Ok(())
}

/// The time of a failure that a peer has kept: at most now, at the earliest 30 days ago.
pub fn moment(at: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
    at.clamp(now - TimeDelta::days(30), now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::records::event::Level;

    #[test]
    fn numbers_of_a_session_that_cannot_be_are_refused() {
        let outcome = "completed".to_owned();
        let possible = RunEnd { outcome, cost_usd: Some(0.5), turns: Some(3), ..RunEnd::default() };
        assert_eq!(end(&possible), Ok(()));
        let wrong: [fn(&mut RunEnd); 9] = [
            |end| end.outcome = "won".into(),
            |end| end.cost_usd = Some(-0.01),
            |end| end.cost_usd = Some(f64::NAN),
            |end| end.cost_usd = Some(1e9),
            |end| end.turns = Some(-1),
            |end| end.input_tokens = Some(i64::MAX),
            |end| end.output_tokens = Some(-5),
            |end| end.duration_ms = -1,
            |end| end.duration_ms = i64::MAX,
        ];
        for (number, change) in wrong.iter().enumerate() {
            let mut ends = possible.clone();
            change(&mut ends);
            assert!(end(&ends).is_err(), "{number}");
        }
    }

    #[test]
    fn texts_are_marked_and_bounded() {
        let message = "Verified healthy after remediation".to_owned();
        let mut made = NewEvent { level: Level::Info, service: None, message };
        event(&mut made).unwrap();
        assert_eq!(made.message, "Stated by the agent: Verified healthy after remediation");
        made.service = Some("x".repeat(201));
        assert!(event(&mut made).is_err());
        assert_eq!(text(&"x".repeat(100_000)).chars().count(), TEXT + MARK.len());
        assert!(name("id", "").is_err() && name("id", "a\nb").is_err() && name("id", "abc").is_ok());
    }

    #[test]
    fn a_notice_neither_silences_nor_passes_for_one_of_the_guard() {
        let now: DateTime<Utc> = "2026-03-21T14:00:00Z".parse().unwrap();
        let raised = Notice {
            key: "question/7".into(),
            quiet_until: Some(now + TimeDelta::days(900)),
            level: Level::Info,
            title: "Question 7".into(),
            body: Body::Markdown("approve it".into()),
            tags: vec![],
        };
        let marked = notice(raised.clone(), now).unwrap();
        assert_eq!((marked.key.as_str(), marked.quiet_until), ("stated/question/7", Some(now + QUIET)));
        assert_eq!(marked.title, "Stated by the agent: Question 7");
        assert!(notice(Notice { tags: vec!["x".into(); 21], ..raised }, now).is_err());
    }
}
