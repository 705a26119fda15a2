//! The session is over: what it reserved and never used goes back.

use chrono::{DateTime, Utc};

use super::answer::Answer;
use super::registry::{self, Known};
use super::stop_failure;
use super::transcript::{self, ApiError};
use crate::guard::failures;
use crate::ledger::{Ledger, LedgerError};
use crate::model::event::HookCall;
use crate::model::session::Sign;
use crate::runtime::environment::Environment;

/// Releases the session's open reservations. A ledger that does not exist has none. A session that ended because the
/// model could not be asked is told of here, too: the client may end before its hook for that has begun.
pub fn handle(
    call: &HookCall,
    reason: Option<&str>,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let Some(session) = &call.session else { return Answer::silent() };
    let mut answer = Answer::silent();
    // With a new context the session goes on.
    let sign = Sign::Ends { reason };
    let sign = Some(&sign).filter(|_| reason != Some("clear"));
    let model = call.transcript.as_deref().and_then(transcript::last_model);
    let known = Known { model: model.as_deref(), ..Known::default() };
    // What is found wrong with the ledger is said below.
    let _ = registry::note(call, sign, known, environment, now);
    if environment.db_path.exists()
        && let Err(error) = release(session, environment, now)
    {
        answer.notes.push(format!("{error}; open reservations expire by themselves"));
    }
    if let Some(ApiError { error, message }) = call.transcript.as_deref().and_then(transcript::last_error) {
        let told = stop_failure::handle(call, error.as_deref(), Some(&message), environment, now);
        answer.notes.extend(told.notes);
    }
    answer
}

fn release(session: &str, environment: &Environment, now: DateTime<Utc>) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open(&environment.db_path)?;
    let change = ledger.change()?;
    change.release_session(session)?;
    let kept = failures::write_down(&change, environment)?;
    change.note_time("session-end", environment.started.elapsed(), now)?;
    change.commit()?;
    failures::forget(kept);
    Ok(())
}
