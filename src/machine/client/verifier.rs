//! The verification by a model, after the hook's: whether it is due, and what follows from its answer.

use chrono::{DateTime, Utc};

use crate::machine::environment::Environment;
use crate::machine::{installation, notify};
use opsctl_ledger::{Change, Ledger, Result, VerificationResult};
use opsctl_policy::model::records::event::{Level, NewEvent};
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::texts::{notices, report};
use opsctl_reader::terms::plain_text::plain;

/// The longest part of a model's reason that is kept, in characters.
const MOST_CHARS: usize = 500;

/// The answer of a verifier.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// The session that it verified.
    pub session: &'a str,
    /// The tier of that session.
    pub tier: Option<Tier>,
    /// Why it objects; `None` if it found nothing unhealthy.
    pub objection: Option<&'a str>,
}

/// Whether the session acted on a service since a verifier last confirmed it, the hook has not given it up, and attempts are left.
pub fn is_due(environment: &Environment, session: &str) -> Result<bool> {
    let Some(ledger) = Ledger::open_existing(&environment.ledger)? else { return Ok(false) };
    let remedies = ledger.session_actions(session)?;
    if remedies.services.is_empty() {
        return Ok(false);
    }
    let state = ledger.verification_state(session)?;
    let is_over = state.last == Some(VerificationResult::GivenUp) || state.attempts > limit(environment);
    Ok(!is_over && state.confirmed_actions != Some(remedies.actions))
}

fn limit(environment: &Environment) -> u32 {
    installation::in_force(environment, &mut vec![]).installation.policy.verify.attempts
}

/// Counts and records the answer, in one transaction. Returns the prompt if the session goes on; after the last
/// attempt, the operators are notified instead.
pub fn settle(environment: &Environment, said: &Said<'_>, now: DateTime<Utc>) -> Result<Option<String>> {
    let limit = limit(environment);
    let &Said { session, objection, .. } = said;
    let (prompt, raised) = Ledger::write(&environment.ledger, |change| {
        let remedies = change.session_actions(session)?;
        let attempt = change.verification_state(session)?.attempts.saturating_add(1);
        let Some(reason) = objection.map(short) else {
            change.note_verification(session, VerificationResult::Confirmed, remedies.actions, now)?;
            change.add_event(Some(session), &report::confirmed(), now)?;
            return Ok((None, None));
        };
        change.note_verification(session, VerificationResult::Objected, remedies.actions, now)?;
        if attempt <= limit {
            change.add_event(Some(session), &report::objected(&reason, attempt, limit), now)?;
            return Ok((Some(report::objection(&reason, attempt, limit)), None));
        }
        let said = Said { objection: Some(&format!("the verifier of a model: {reason}")), ..*said };
        Ok((None, give_up(change, said, limit, environment, now)?))
    })?;
    // A notice that is not delivered now waits for the next flush.
    let _ = raised.and_then(|id| notify::hand_over(environment, id));
    Ok(prompt)
}

/// Records that a model still objects after the last attempt: an event for each service that the session acted on, and a
/// notice, which is returned for delivery; `None` without a service.
pub fn give_up(
    change: &Change<'_>,
    Said { session, tier, objection }: Said<'_>,
    limit: u32,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Result<Option<i64>> {
    let acted = change.session_actions(session)?;
    let why: Vec<String> = objection.map(str::to_owned).into_iter().collect();
    let failed: Vec<_> = acted.services.keys().map(|name| (name.as_str(), why.clone())).collect();
    if failed.is_empty() {
        return Ok(None);
    }
    for (service, why) in &failed {
        change.add_event(Some(session), &report::given_up(service, why, limit), now)?;
    }
    let mut notice = notices::verification_given_up(&failed, limit, Some(session), tier);
    // A healthy check does not answer what the model has seen.
    notice.key = format!("model-{}", notice.key);
    change.raise(Some(session), &notice, notify::has_target(environment), now)
}

/// A text of a model in one line, without secrets, of at most [`MOST_CHARS`] characters.
fn short(text: &str) -> String {
    plain(&opsctl_redact::text(text)).chars().take(MOST_CHARS).collect()
}

/// The event of a verifier that gave no answer, for this reason.
pub fn no_answer(why: &str) -> NewEvent {
    let message = format!("The verifier of a model gave no answer: {}", short(why));
    NewEvent { level: Level::Warning, service: None, message }
}
