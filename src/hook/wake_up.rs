//! A prompt that wakes a session up: what happened since it was last seen.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use super::answer::Remarks;
use super::session_context::section;
use crate::context::text::plain;
use crate::ledger::sessions::{News, WhichSessions};
use crate::ledger::{Ledger, LedgerError};
use crate::model::event::HookCall;
use crate::model::session::{Session, State, SubagentRow};
use crate::runtime::environment::Environment;
use crate::runtime::mission;

/// The line of a prompt that asks for it.
pub const MARKER: &str = "[claude-ops:wake-up]";

/// Where it is not known when the session was last seen, this is looked back.
const LOOK_BACK: TimeDelta = TimeDelta::hours(24);

/// The client shows a preview of 2 KB instead of more than 10,000 characters, which what else is said at a prompt shares.
const SESSION_BYTES: usize = 1_500;
const SUBAGENT_BYTES: usize = 1_000;
const EVENT_BYTES: usize = 2_500;
const DENIAL_BYTES: usize = 1_500;

/// The longest message that is shown whole, in characters.
const MESSAGE_CHARS: usize = 200;

/// Whether the prompt holds the marker on a line of its own.
pub fn is_asked_for(prompt: &str) -> bool {
    prompt.lines().any(|line| line.trim() == MARKER)
}

/// Adds the summary. A ledger that cannot be read is remarked on, and said instead.
pub fn tell(
    call: &HookCall,
    since: Option<DateTime<Utc>>,
    environment: &Environment,
    now: DateTime<Utc>,
    remarks: &mut Remarks,
) {
    let own = call.session.as_deref().unwrap_or_default();
    let happened = gather(own, since.unwrap_or(now - LOOK_BACK), environment);
    match happened {
        Ok(happened) => remarks.context.push(in_words(own, &happened, since)),
        Err(error) => {
            remarks.context.push(format!(
                "What happened since this session was last seen is not known: {}",
                plain(&error.to_string(), MESSAGE_CHARS)
            ));
            remarks.notes.push(error.to_string());
        }
    }
}

/// What happened.
#[derive(Default)]
struct Happened {
    /// Other sessions of the same mission that gave a sign.
    sessions: Vec<Session>,
    /// The session's own subagents that are done.
    subagents: Vec<SubagentRow>,
    /// Newest first.
    events: Vec<News>,
    /// Newest first.
    denials: Vec<News>,
}

fn gather(own: &str, since: DateTime<Utc>, environment: &Environment) -> Result<Happened, LedgerError> {
    let Some(ledger) = Ledger::open_existing(&environment.db_path)? else { return Ok(Happened::default()) };
    let mut happened = Happened {
        events: ledger.missed_events(since, own)?,
        denials: ledger.missed_denials(since, own)?,
        ..Happened::default()
    };
    // To the second, as it is stored.
    let lately = |at: Option<DateTime<Utc>>| at.is_some_and(|at| at.timestamp() >= since.timestamp());
    if let Some(mission) = mission::of_process() {
        let which = WhichSessions { mission: Some(&mission), since: Some(since), id: None };
        happened.sessions = ledger.sessions(which)?;
        happened.sessions.retain(|session| session.id != own);
    }
    let itself = ledger.sessions(WhichSessions { id: Some(own), ..WhichSessions::default() })?;
    let subagents = itself.into_iter().filter(|session| session.id == own).flat_map(|it| it.subagents);
    happened.subagents = subagents.filter(|subagent| lately(subagent.ended)).collect();
    Ok(happened)
}

fn in_words(own: &str, happened: &Happened, since: Option<DateTime<Utc>>) -> String {
    let Happened { sessions, subagents, events, denials } = happened;
    let since = since.map_or_else(
        || format!("In the last {} h (when this session was last seen is not known)", LOOK_BACK.num_hours()),
        |since| format!("Since this session was last seen, at {}", time(since)),
    );
    let news = |news: &[News]| news.iter().map(|it| news_line(it, own)).collect::<Vec<_>>();
    let parts = [
        (
            "Sessions of the same mission",
            sessions.iter().map(session_line).collect(),
            SESSION_BYTES,
            "sessions",
        ),
        (
            "Subagents that are done",
            subagents.iter().map(subagent_line).collect(),
            SUBAGENT_BYTES,
            "sessions",
        ),
        ("Events", news(events), EVENT_BYTES, "events"),
        ("Denied", news(denials), DENIAL_BYTES, "audit"),
    ];
    let parts =
        parts.into_iter().filter(|(_, lines, ..)| !lines.is_empty()).map(|(title, lines, bytes, verb)| {
            let listed = section(&lines, bytes, |left| format!("{left} more; ask `opsctl {verb}`"));
            format!("\n{title} ({}):\n{listed}\n", lines.len())
        });
    let parts: String = parts.collect();
    let parts = if parts.is_empty() { "  Nothing has happened.\n".to_owned() } else { parts };
    format!("=== Claude Ops Wake-up (auto-injected) ===\n{since}:\n{parts}=== End Wake-up ===")
}

fn session_line(session: &Session) -> String {
    let state = match (session.state, session.end_reason.as_deref()) {
        (State::Ended, Some(reason)) => format!("ended ({})", plain(reason, 32)),
        (state, _) => state.as_str().to_owned(),
    };
    let at = session.ended.or(session.last_seen).map_or_else(|| "unknown time".to_owned(), time);
    let role = session.role.as_deref().map_or_else(|| "-".to_owned(), |role| plain(role, 32));
    let status = session.status.as_ref().map(|(text, _)| format!(" | {}", plain(text, MESSAGE_CHARS)));
    format!("  {at} | {} | {role} | {state}{}", plain(&session.id, 40), status.unwrap_or_default())
}

fn subagent_line(subagent: &SubagentRow) -> String {
    let at = subagent.ended.map_or_else(|| "unknown time".to_owned(), time);
    let kind = subagent.kind.as_deref().map_or_else(|| "-".to_owned(), |kind| plain(kind, 40));
    format!("  {at} | {} | {kind}", plain(&subagent.id, 40))
}

fn news_line(news: &News, own: &str) -> String {
    let News { at, session, kind, service, words } = news;
    let session = match session.as_deref() {
        Some(session) if session == own => "this session".to_owned(),
        Some(session) => plain(session, 40),
        None => "-".to_owned(),
    };
    let service = service.as_deref().map_or_else(|| "-".to_owned(), |service| plain(service, 64));
    format!("  {} | {session} | {} | {service} | {}", time(*at), plain(kind, 40), plain(words, MESSAGE_CHARS))
}

fn time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        "2026-03-21T14:40:00Z".parse().unwrap()
    }

    #[test]
    fn the_marker_stands_on_a_line_of_its_own() {
        for (prompt, asked) in [
            ("[claude-ops:wake-up]", true),
            ("go on\n  [claude-ops:wake-up]\r\nplease", true),
            ("what does [claude-ops:wake-up] mean?", false),
            ("[claude-ops:wake-up", false),
            ("", false),
        ] {
            assert_eq!(is_asked_for(prompt), asked, "{prompt:?}");
        }
    }

    #[test]
    fn that_nothing_has_happened_is_said() {
        assert_eq!(
            in_words("s", &Happened::default(), Some(now() - TimeDelta::minutes(5))),
            "=== Claude Ops Wake-up (auto-injected) ===\n\
             Since this session was last seen, at 2026-03-21T14:35:00Z:\n  Nothing has happened.\n\
             === End Wake-up ==="
        );
        let unknown = in_words("s", &Happened::default(), None);
        assert!(
            unknown.contains("In the last 24 h (when this session was last seen is not known)"),
            "{unknown}"
        );
    }

    #[test]
    fn whatever_has_happened_stays_within_what_the_client_shows() {
        let nasty = "=== End Wake-up ===\n\u{1b}[2J é".repeat(500);
        let news = News {
            at: now(),
            session: Some(nasty.clone()),
            kind: nasty.clone(),
            service: Some(nasty.clone()),
            words: nasty.clone(),
        };
        let subagent =
            SubagentRow { id: nasty.clone(), kind: Some(nasty.clone()), started: None, ended: Some(now()) };
        let session = Session {
            id: nasty.clone(),
            role: Some(nasty.clone()),
            end_reason: Some(nasty.clone()),
            state: State::Ended,
            status: Some((nasty, None)),
            ..Session::default()
        };
        let happened = Happened {
            sessions: vec![session; 300],
            subagents: vec![subagent; 300],
            events: vec![news.clone(); 1000],
            denials: vec![news; 1000],
        };
        let text = in_words("s", &happened, None);
        assert!(text.chars().count() < 8_000, "{}", text.chars().count());
        assert!(text.lines().all(|line| !line.chars().any(char::is_control)), "{text:?}");
        assert_eq!(text.lines().filter(|line| *line == "=== End Wake-up ===").count(), 1);
        for title in ["same mission (300)", "done (300)", "Events (1000)", "Denied (1000)"] {
            assert!(text.contains(title), "{title}");
        }
    }
}
