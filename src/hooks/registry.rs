//! The registry of sessions: hooks record the activity of their session here.
//!
//! No verdict depends on it, so it costs little: writes are not synced to disk, one that finds the ledger locked is
//! skipped, and a lost write is corrected by the next one.

use super::answer::Answer;
use crate::machine::client::client_process;
use crate::machine::environment::plain_word;
use crate::machine::request::Request;
use chrono::{DateTime, Utc};
use opsctl_ledger::sessions::Who;
use opsctl_ledger::{CallId, Ledger, Result, Scope};
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::records::session::Activity;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::texts::session::{reminder_is_due, state};

/// The reminder for a session without a status.
const REMINDER: &str = "[CLAUDE OS SYS: INFO]: Consider setting a session status with `opsctl sessions status \"what you're working on\"`";

/// The session as it was found when its activity was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recorded {
    /// When the session last became idle or ended before this activity; its start if it never did.
    pub paused: Option<DateTime<Utc>>,
    /// The reminder to set a status, if it is due. It counts as sent.
    pub reminder: Option<&'static str>,
    /// The calls that have finished and whose reservations are open.
    pub open: Vec<String>,
}

/// Details of the session that are not in the hook's input.
#[derive(Debug, Clone, Copy, Default)]
pub struct Details<'a> {
    /// The tier that its files were rendered for.
    pub tier: Option<Tier>,
    /// The model.
    pub model: Option<&'a str>,
}

/// Records an activity of the session; without one, only that it was seen. A call without a session is ignored.
pub fn record(
    call: &HookCall,
    activity: Option<&Activity<'_>>,
    details: Details<'_>,
    request: &Request,
) -> Result<Recorded> {
    let Some(session) = call.session.as_deref() else { return Ok(Recorded::default()) };
    let mission = request.agent.mission();
    let tmux_pane = request.agent.tmux_pane();
    let role = request.role.as_deref().and_then(plain_word);
    let is_waited_for = !activity.is_some_and(Activity::is_async);
    let process = if is_waited_for { client_process::calling(&request.agent) } else { None };
    let cwd = call.cwd.as_ref().map(|path| path.to_string_lossy());
    let transcript = call.transcript.as_ref().map(|path| path.to_string_lossy());
    let who = Who {
        session,
        client_id: call.client_session.as_deref(),
        tier: request.tier.or(details.tier).map(Tier::number),
        mode: request.mode.map(opsctl_reader::terms::mode::Mode::as_str),
        role: role.as_deref(),
        model: details.model,
        cwd: cwd.as_deref(),
        transcript: transcript.as_deref(),
        mission: mission.as_deref(),
        tmux_pane: tmux_pane.as_deref(),
        process: process.as_deref(),
    };
    let location = &request.ledger;
    let ledger = if is_waited_for { Ledger::open_briefly(location) } else { Ledger::open(location) };
    let mut ledger = ledger?.for_the_record();
    let id = CallId { session: Some(session), tool_use: None };
    let change = ledger.change_in(Scope::Of { budgets: &[], call: Some(id) })?;
    let paused = change.meet(&who, request.now)?;
    let mut recorded = Recorded { paused, ..Recorded::default() };
    if let Some(activity) = activity {
        change.record_activity(session, activity, request.now)?;
        change.set_state(session, state(change.activity_times(session)?))?;
        if let Activity::ToolsFinished { calls, .. } = activity {
            recorded.open = change.open_calls(session, calls)?;
        }
        let can_remind =
            matches!(activity, Activity::PromptSubmitted | Activity::ToolsFinished { agent: None, .. });
        if can_remind && reminder_is_due(change.reminded(session)?, request.now) {
            change.note_reminder(session, request.now)?;
            recorded.reminder = Some(REMINDER);
        }
    }
    change.commit()?;
    Ok(recorded)
}

/// A hook that only records activity. A failure is ignored: the start of the session has reported it.
pub fn handle(call: &HookCall, activity: &Activity<'_>, request: &Request) -> Answer {
    let _ = record(call, Some(activity), Details::default(), request);
    Answer::silent()
}
