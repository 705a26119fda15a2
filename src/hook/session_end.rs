//! A session has ended: its open reservations and its leases are released.

use chrono::{DateTime, Utc};

use super::answer::Answer;
use super::finished::Ended;
use super::registry::{self, Details};
use super::transcript::{self, ApiError};
use super::{stop_failure, undelivered};
use crate::guard::failures;
use crate::ledger::{Ledger, LedgerError};
use crate::model::event::HookCall;
use crate::model::session::Activity;
use crate::runtime::environment::Environment;
use crate::runtime::warning::Warning;

/// Releases the session's open reservations and its leases. An API error that ended the session is reported here, too: the client may exit
/// before its hook for that event has started.
pub fn handle(
    call: &HookCall,
    reason: Option<&str>,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let Some(session) = &call.session else { return Answer::silent() };
    let mut answer = Answer::silent();
    // After `clear` the session goes on with a new context.
    let ended = Activity::Ended { reason };
    let activity = Some(&ended).filter(|_| reason != Some("clear"));
    let model = call.transcript.as_deref().and_then(transcript::last_model);
    let details = Details { model: model.as_deref(), ..Details::default() };
    // An error of the ledger is reported below.
    let _ = registry::record(call, activity, details, environment, now);
    if !environment.ledger.is_missing()
        && let Err(error) = release(session, environment, now)
    {
        let reason = activity.map(|_| reason.unwrap_or_default().to_owned());
        let ended = Ended { session: session.clone(), reason, at: now };
        let is_kept =
            environment.ledger.file().is_none() && undelivered::keep_ended(ended, environment).is_ok();
        let warning = if is_kept { Warning::EndKept } else { Warning::OpenReservations };
        answer.warnings.push(warning(error));
    }
    if let Some(ApiError { error, message }) = call.transcript.as_deref().and_then(transcript::last_error) {
        let reported = stop_failure::handle(call, error.as_deref(), Some(&message), environment, now);
        answer.warnings.extend(reported.warnings);
    }
    answer
}

fn release(session: &str, environment: &Environment, now: DateTime<Utc>) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open(&environment.ledger)?;
    let change = ledger.change()?;
    change.release_session(session)?;
    change.release_leases(session)?;
    let kept = failures::record_kept(&change, environment)?;
    change.note_time("session-end", environment.started.elapsed(), now)?;
    change.commit()?;
    if let Some(kept) = kept {
        kept.remove();
    }
    Ok(())
}
