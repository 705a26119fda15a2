//! The limit on the objections of an agent hook, which the client asks beside opsctl's Stop hook.
//!
//! The client tells a Stop hook that the end was blocked before, and not by whom: if opsctl did not, the agent hook objected.

use serde_json::json;

use crate::hooks::answer::{Answer, Output};
use crate::machine::client::verifier::{self, Said};
use crate::machine::disk::LocalDisk;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use crate::machine::{installation, notify};
use crate::setup::render::{SETTINGS, VERIFIER};
use opsctl_ledger::{Ledger, Result, VerificationResult};
use opsctl_policy::model::installation::checks::Verifier;
use opsctl_reader::shell::disk::{Disk as _, Unreadable};

/// Counts an objection of the agent hook, if it is why the session went on; `None` without an agent hook. Called before the
/// services are verified again, for a session whose end was blocked before. Returns the limit.
pub fn count(session: &str, request: &Request) -> Option<Result<u32>> {
    let limit = limit(request)?;
    let counted = Ledger::write(&request.ledger, |change| {
        let state = change.verification_state(session)?;
        let by_us =
            [VerificationResult::Unhealthy, VerificationResult::GivenUp, VerificationResult::Reminded];
        if state.last.is_some_and(|last| by_us.contains(&last)) {
            return Ok(());
        }
        let actions = state.settled_actions.unwrap_or_default();
        change.note_verification(session, VerificationResult::Objected, actions, request.now)
    });
    Some(counted.map(|()| limit))
}

/// Records that opsctl makes the session go on, which does not count as an objection of the agent hook.
pub fn note_own(session: &str, request: &Request) {
    if limit(request).is_none() {
        return;
    }
    // If this fails, one attempt less is left.
    let _ = Ledger::write(&request.ledger, |change| {
        change.note_verification(session, VerificationResult::Reminded, 0, request.now)
    });
}

/// The limit on attempts; `None` without an agent hook.
fn limit(request: &Request) -> Option<u32> {
    let verify = installation::in_force(request, &mut vec![]).installation.policy.verify;
    (verify.mode != Some(Verifier::Command) && has_agent_hook(request)).then_some(verify.attempts)
}

/// Ends the session although the agent hook objects, if the attempts are used up or the verification was given up.
pub fn bound(answer: Answer, session: &str, limit: Result<u32>, request: &Request) -> Answer {
    if answer.denial.is_some() {
        return answer;
    }
    let mut warnings = answer.warnings;
    match limit.and_then(|limit| give_up(session, limit, request)) {
        Ok((false, _)) => return Answer { warnings, ..answer },
        Ok((true, warning)) => warnings.extend(warning),
        // Uncounted attempts would block the end for ever.
        Err(error) => warnings.push(Warning::UncountedVerification(error)),
    }
    let reason = "opsctl: the attempts of the verification are used up";
    Answer { denial: None, output: Output::Json(json!({"continue": false, "stopReason": reason})), warnings }
}

/// Whether the session ends; if so, with a warning about its notice.
fn give_up(session: &str, limit: u32, request: &Request) -> Result<(bool, Option<Warning>)> {
    let (is_over, raised) = Ledger::write(&request.ledger, |change| {
        let state = change.verification_state(session)?;
        let is_given_up = state.last == Some(VerificationResult::GivenUp);
        if !is_given_up && state.attempts < limit {
            return Ok((false, None));
        }
        if is_given_up || state.attempts > limit {
            // The operators were notified before.
            return Ok((true, None));
        }
        let said = Said { session, tier: request.tier, objection: Some("the agent hook objects") };
        Ok((true, verifier::give_up(change, said, limit, request, request.now)?))
    })?;
    Ok((is_over, raised.and_then(|id| notify::hand_over(request, id))))
}

/// Whether the settings of the project contain the verification prompt as an agent hook.
fn has_agent_hook(request: &Request) -> bool {
    let settings = request.project_dir.join(SETTINGS);
    match LocalDisk(request.agent.clone()).read(&settings.to_string_lossy()) {
        Ok(file) => file.text.contains(VERIFIER),
        Err(why) => why == Unreadable::TooLarge,
    }
}
