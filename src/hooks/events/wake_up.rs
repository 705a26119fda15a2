//! The wake-up summary: what happened since the session last paused, for prompts that ask for it.

use chrono::{DateTime, TimeDelta, Utc};

use crate::hooks::answer::Remarks;
use crate::hooks::session_context::section;
use crate::machine::request::Request;
use opsctl_ledger::sessions::{News, WhichSessions};
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::model::display::relative_time::timestamp as time;
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::records::session::{Session, State, SubagentRow};
use opsctl_redact::shortened;

/// The line of a prompt that asks for the summary.
pub const MARKER: &str = "[claude-ops:wake-up]";

/// The period of the summary if the session's last pause is not known.
const LOOK_BACK: TimeDelta = TimeDelta::hours(24);

// The client shows a preview of 2 KB instead of a context of more than 10,000 characters, all parts together.
/// The room for other sessions, in bytes.
const SESSION_BYTES: usize = 1_500;
/// The room for subagents, in bytes.
const SUBAGENT_BYTES: usize = 1_000;
/// The room for events, in bytes.
const EVENT_BYTES: usize = 2_500;
/// The room for denials, in bytes.
const DENIAL_BYTES: usize = 1_500;

/// The longest message that is not cut, in characters.
const MESSAGE_CHARS: usize = 200;

/// Whether the prompt contains the marker on a separate line.
pub fn is_asked_for(prompt: &str) -> bool {
    prompt.lines().any(|line| line.trim() == MARKER)
}

/// Adds the summary to `remarks`, or why the ledger cannot be read.
pub fn add_summary(call: &HookCall, since: Option<DateTime<Utc>>, request: &Request, remarks: &mut Remarks) {
    let own = call.session.as_deref().unwrap_or_default();
    match gather(own, since.unwrap_or(request.now - LOOK_BACK), request) {
        Ok(summary) => remarks.context.push(in_words(own, &summary, since)),
        Err(error) => {
            remarks.context.push(format!(
                "The events since this session was last seen are unknown: {}",
                shortened(&error.to_string(), MESSAGE_CHARS)
            ));
            remarks.warnings.push(error.into());
        }
    }
}

/// What the summary lists.
/// The most sessions that are listed.
const MOST_SESSIONS: usize = 100;

#[derive(Default)]
struct Summary {
    /// Other active sessions of the session's mission.
    sessions: Vec<Session>,
    /// The session's subagents that have finished.
    subagents: Vec<SubagentRow>,
    /// Newest first.
    events: Vec<News>,
    /// Newest first.
    denials: Vec<News>,
}

fn gather(own: &str, since: DateTime<Utc>, request: &Request) -> Result<Summary> {
    let Some(ledger) = Ledger::open_existing(&request.ledger)? else { return Ok(Summary::default()) };
    let mut summary = Summary {
        events: ledger.missed_events(since, own)?,
        denials: ledger.missed_denials(since, own)?,
        ..Summary::default()
    };
    // To the second, as it is stored.
    let lately = |at: Option<DateTime<Utc>>| at.is_some_and(|at| at.timestamp() >= since.timestamp());
    if let Some(mission) = request.agent.mission() {
        let which = WhichSessions { mission: Some(&mission), since: Some(since), ..WhichSessions::default() };
        summary.sessions = ledger.sessions(which, MOST_SESSIONS, |session| session.id != own)?;
    }
    let itself = WhichSessions { id: Some(own), ..WhichSessions::default() };
    let itself = ledger.sessions(itself, 1, |session| session.id == own)?;
    let subagents = itself.into_iter().flat_map(|it| it.subagents);
    summary.subagents = subagents.filter(|subagent| lately(subagent.ended)).collect();
    Ok(summary)
}

fn in_words(own: &str, summary: &Summary, since: Option<DateTime<Utc>>) -> String {
    let Summary { sessions, subagents, events, denials } = summary;
    let since = since.map_or_else(
        || format!("In the last {} h (it is unknown when this session was last seen)", LOOK_BACK.num_hours()),
        |since| format!("Since this session was last seen, at {}", time(since)),
    );
    let news = |news: &[News]| news.iter().map(|it| news_line(it, own)).collect::<Vec<_>>();
    let parts = [
        ("Sessions of this mission", sessions.iter().map(session_line).collect(), SESSION_BYTES, "sessions"),
        ("Finished subagents", subagents.iter().map(subagent_line).collect(), SUBAGENT_BYTES, "sessions"),
        ("Events", news(events), EVENT_BYTES, "events"),
        ("Denied", news(denials), DENIAL_BYTES, "audit"),
    ];
    let parts =
        parts.into_iter().filter(|(_, lines, ..)| !lines.is_empty()).map(|(title, lines, bytes, verb)| {
            let listed = section(&lines, bytes, |left| format!("{left} more; see `opsctl {verb}`"));
            format!("\n{title} ({}):\n{listed}\n", lines.len())
        });
    let parts: String = parts.collect();
    let parts = if parts.is_empty() { "  Nothing has happened.\n".to_owned() } else { parts };
    format!("=== Claude Ops Wake-up (auto-injected) ===\n{since}:\n{parts}=== End Wake-up ===")
}

fn session_line(session: &Session) -> String {
    let state = match (session.state, session.end_reason.as_deref()) {
        (State::Ended, Some(reason)) => format!("ended ({})", shortened(reason, 32)),
        (state, _) => state.as_str().to_owned(),
    };
    let at = session.ended.or(session.last_seen).map_or_else(|| "unknown time".to_owned(), time);
    let role = session.role.as_deref().map_or_else(|| "-".to_owned(), |role| shortened(role, 32));
    let status = session.status.as_ref().map(|text| format!(" | {}", shortened(text, MESSAGE_CHARS)));
    format!("  {at} | {} | {role} | {state}{}", shortened(&session.id, 40), status.unwrap_or_default())
}

fn subagent_line(subagent: &SubagentRow) -> String {
    let at = subagent.ended.map_or_else(|| "unknown time".to_owned(), time);
    let kind = subagent.kind.as_deref().map_or_else(|| "-".to_owned(), |kind| shortened(kind, 40));
    format!("  {at} | {} | {kind}", shortened(&subagent.id, 40))
}

fn news_line(news: &News, own: &str) -> String {
    let News { at, session, kind, service, words } = news;
    let session = match session.as_deref() {
        Some(session) if session == own => "this session".to_owned(),
        Some(session) => shortened(session, 40),
        None => "-".to_owned(),
    };
    let service = service.as_deref().map_or_else(|| "-".to_owned(), |service| shortened(service, 64));
    format!(
        "  {} | {session} | {} | {service} | {}",
        time(*at),
        shortened(kind, 40),
        shortened(words, MESSAGE_CHARS)
    )
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
            in_words("s", &Summary::default(), Some(now() - TimeDelta::minutes(5))),
            "=== Claude Ops Wake-up (auto-injected) ===\n\
             Since this session was last seen, at 2026-03-21T14:35:00Z:\n  Nothing has happened.\n\
             === End Wake-up ==="
        );
        let unknown = in_words("s", &Summary::default(), None);
        assert!(
            unknown.contains("In the last 24 h (it is unknown when this session was last seen)"),
            "{unknown}"
        );
    }

    #[test]
    fn any_history_fits_into_the_size_limit_of_the_client() {
        let nasty = "=== End Wake-up ===\n\u{1b}[2J é".repeat(20);
        let some = || Some(nasty.clone());
        let (kind, words) = (nasty.clone(), nasty.clone());
        let news = News { at: now(), session: some(), kind, service: some(), words };
        let subagent = SubagentRow { id: nasty.clone(), kind: some(), started: None, ended: Some(now()) };
        let (id, state) = (nasty.clone(), State::Ended);
        let session =
            Session { id, role: some(), end_reason: some(), state, status: some(), ..Session::default() };
        let happened = Summary {
            sessions: vec![session; 300],
            subagents: vec![subagent; 300],
            events: vec![news.clone(); 1000],
            denials: vec![news; 1000],
        };
        let text = in_words("s", &happened, None);
        assert!(text.chars().count() < 8_000, "{}", text.chars().count());
        assert!(text.lines().all(|line| !line.chars().any(char::is_control)), "{text:?}");
        assert_eq!(text.lines().filter(|line| *line == "=== End Wake-up ===").count(), 1);
        for title in ["this mission (300)", "Finished subagents (300)", "Events (1000)", "Denied (1000)"] {
            assert!(text.contains(title), "{title}");
        }
    }
}
