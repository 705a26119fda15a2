//! A session has ended: its open reservations and its leases are released.

use super::stop_failure;
use crate::guard::failures;
use crate::hooks::answer::Answer;
use crate::hooks::finished::Ended;
use crate::hooks::registry::{self, Details};
use crate::hooks::transcript::{self, ApiError};
use crate::hooks::undelivered;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::records::session::Activity;

/// Releases the session's open reservations and its leases. An API error that ended the session is reported here, too: the client may exit
/// before its hook for that event has started.
pub fn handle(call: &HookCall, reason: Option<&str>, request: &Request) -> Answer {
    let Some(session) = &call.session else { return Answer::silent() };
    let mut answer = Answer::silent();
    // After `clear` the session goes on with a new context.
    let ended = Activity::Ended { reason };
    let activity = Some(&ended).filter(|_| reason != Some("clear"));
    let model = call.transcript.as_deref().and_then(|path| transcript::last_model(path, &request.agent));
    let details = Details { model: model.as_deref(), ..Details::default() };
    // An error of the ledger is reported below.
    let _ = registry::record(call, activity, details, request);
    if !request.ledger.is_missing()
        && let Err(error) = release(session, request)
    {
        let reason = activity.map(|_| reason.unwrap_or_default().to_owned());
        let ended = Ended { session: session.clone(), reason, at: request.now };
        let is_kept = request.ledger.file().is_none() && undelivered::keep_ended(ended, request).is_ok();
        let warning = if is_kept { Warning::EndKept } else { Warning::OpenReservations };
        answer.warnings.push(warning(error));
    }
    let last_error = call.transcript.as_deref().and_then(|path| transcript::last_error(path, &request.agent));
    if let Some(ApiError { error, message }) = last_error {
        let reported = stop_failure::handle(call, error.as_deref(), Some(&message), request);
        answer.warnings.extend(reported.warnings);
    }
    answer
}

fn release(session: &str, request: &Request) -> Result<()> {
    let kept = Ledger::write(&request.ledger, |change| {
        change.release_session(session)?;
        change.release_leases(session)?;
        let kept = failures::record_kept(change, request)?;
        change.note_time("session-end", request.started.elapsed(), request.now)?;
        Ok(kept)
    })?;
    if let Some(kept) = kept {
        kept.remove();
    }
    Ok(())
}
