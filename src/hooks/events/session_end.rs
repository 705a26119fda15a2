//! A session has ended: its open reservations are settled, and its leases released.

use super::stop_failure;
use crate::guard::failures;
use crate::guard::kept::{self, finished::Ended};
use crate::hooks::answer::Answer;
use crate::hooks::registry::{self, Details};
use crate::hooks::transcript::{self, ApiError};
use crate::machine::client::refusals;
use crate::machine::link::lookup::Lookup;
use crate::machine::request::Request;
use crate::machine::unreported::{self, Unreported};
use crate::machine::warning::Warning;
use opsctl_ledger::{Ledger, Open, Result};
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::records::session::Activity;

/// Settles the session's open reservations: what the client has refused is released, and anything else counts as run. Releases its
/// leases. An API error that ended the session is reported here, too: the client may exit before its hook for that event has started.
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
    if !request.ledger.is_missing() {
        let settled = settle(session, &|| refused(call, request), request);
        answer.warnings.extend(settled.unwrap_or_else(|error| {
            let reason = activity.map(|_| reason.unwrap_or_default().to_owned());
            let keep = || {
                let refused = refused(call, request);
                let ended = Ended { session: session.clone(), reason, refused, at: request.now };
                kept::keep_ended(ended, request).is_ok()
            };
            vec![if keep() { Warning::EndKept(error) } else { Warning::OpenReservations(error) }]
        }));
    }
    let last_error = call.transcript.as_deref().and_then(|path| transcript::last_error(path, &request.agent));
    if let Some(ApiError { error, message }) = last_error {
        let reported = stop_failure::handle(call, error.as_deref(), Some(&message), request);
        answer.warnings.extend(reported.warnings);
    }
    answer
}

/// The calls of the session that the client has refused.
fn refused(call: &HookCall, request: &Request) -> Vec<String> {
    let Some(transcript) = call.transcript.as_deref() else { return vec![] };
    let lookup = || Lookup::Refused(transcript.to_string_lossy().into_owned());
    request.agent.find(lookup, || Some(refusals::of_transcript(transcript))).unwrap_or_default()
}

fn settle(session: &str, refused: &dyn Fn() -> Vec<String>, request: &Request) -> Result<Vec<Warning>> {
    let has_open = Ledger::read_at(&request.ledger, |ledger| ledger.has_open(session))?;
    let refused = if has_open { refused() } else { vec![] };
    let (unreported, kept) = Ledger::write(&request.ledger, |change| {
        let mut unreported = Unreported::default();
        if has_open {
            change.release_calls(session, &refused)?;
            let open = Open::OfSession(session);
            unreported.settle(change, open, unreported::SESSION_ENDED, request, request.now)?;
        }
        change.release_leases(session)?;
        let kept = failures::record_kept(change, request)?;
        change.note_time("session-end", request.started.elapsed(), request.now)?;
        Ok((unreported, kept))
    })?;
    if let Some(kept) = kept {
        kept.remove();
    }
    Ok(unreported.publish(request))
}
