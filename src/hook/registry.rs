//! The registry of sessions: each hook that learns something of a session has it written down here.
//!
//! Nothing rests on it, so nothing waits for it: no write is made sure of against a power cut, one that finds the ledger
//! taken is left out, and the next one makes good for it.

use chrono::{DateTime, Utc};

use super::answer::Answer;
use crate::ledger::sessions::{Before, Who};
use crate::ledger::{Ledger, LedgerError};
use crate::model::event::HookCall;
use crate::model::policy::Tier;
use crate::model::session::Sign;
use crate::policy::session::{reminder_is_due, state};
use crate::runtime::client_process;
use crate::runtime::environment::{Environment, plain_word};
use crate::runtime::mission;

/// What a session should be reminded of, where it has not said what it works on.
const REMINDER: &str =
    "Reminder: say what you are working on with `opsctl sessions status \"…\"`, so that others can see it.";

/// What was found as a sign was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Noted {
    /// How the session was before.
    pub before: Before,
    /// Whether it is to be reminded of its status. It counts as reminded.
    pub reminder: Option<&'static str>,
}

/// What a hook knows beside its input.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The tier that is rendered in, where the environment names none.
    pub tier: Option<Tier>,
    /// The model.
    pub model: Option<&'a str>,
}

/// Writes a sign of the session down; without one only that it was seen. A call that names no session is no sign.
pub fn note(
    call: &HookCall,
    sign: Option<&Sign<'_>>,
    known: Known<'_>,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Result<Noted, LedgerError> {
    let Some(session) = call.session.as_deref() else { return Ok(Noted::default()) };
    let mission = mission::of_process();
    let role = environment.role.as_deref().and_then(plain_word);
    let is_waited_for = !sign.is_some_and(Sign::may_be_late);
    let process = if is_waited_for { client_process::calling() } else { None };
    let cwd = call.cwd.as_ref().map(|path| path.to_string_lossy());
    let transcript = call.transcript.as_ref().map(|path| path.to_string_lossy());
    let who = Who {
        session,
        client_id: call.client_session.as_deref(),
        tier: environment.tier.or(known.tier).map(Tier::number),
        mode: environment.mode.map(crate::model::mode::Mode::as_str),
        role: role.as_deref(),
        model: known.model,
        cwd: cwd.as_deref(),
        transcript: transcript.as_deref(),
        mission: mission.as_deref(),
        process: process.as_deref(),
    };
    let open = if is_waited_for { Ledger::open_briefly } else { Ledger::open };
    let mut ledger = open(&environment.db_path)?.for_the_record();
    let change = ledger.change()?;
    let before = change.meet(&who, now)?;
    let mut noted = Noted { before, reminder: None };
    if let Some(sign) = sign {
        change.note_sign(session, sign, now)?;
        change.set_state(session, state(change.signs(session)?))?;
        let may_be_told = matches!(sign, Sign::Prompted | Sign::ToolsDone { agent: None, .. });
        if may_be_told && reminder_is_due(change.reminded(session)?, now) {
            change.note_reminder(session, now)?;
            noted.reminder = Some(REMINDER);
        }
    }
    change.commit()?;
    Ok(noted)
}

/// A hook that is there for nothing else. What it cannot write down is left out: the start of the session has said why.
pub fn handle(call: &HookCall, sign: &Sign<'_>, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let _ = note(call, Some(sign), Known::default(), environment, now);
    Answer::silent()
}
