//! The agent considers itself done: whether the services that it acted on are healthy.

use std::time::Instant;

use chrono::{DateTime, Utc};

use super::answer::Answer;
use super::ending;
use super::registry::{self, Known};
use super::transcript;
use crate::guard::verification;
use crate::inventory::Installation;
use crate::ledger::{Ledger, LedgerError, Outcome, Remedies};
use crate::model::checks::Verifier;
use crate::model::event::HookCall;
use crate::model::session::Sign;
use crate::policy::{notices, report};
use crate::probe::health::{self, Report};
use crate::runtime::environment::Environment;
use crate::runtime::{installation, notify};

/// Sends the session on while a service that it acted on is unhealthy, as often as the policy says; then lets it
/// go, and a person is told. A session that did nothing costs one look into the ledger. What else an agent should hear
/// before it ends is added.
pub fn handle(
    call: &HookCall,
    again: bool,
    words: &str,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let began = Instant::now();
    let answer = verify(call, environment, now);
    // It may have taken a minute.
    let now = now + began.elapsed();
    let answer = ending::add(answer, call, again, words, environment, now);
    // What it is told makes it go on, too.
    let goes_on = answer.denial.is_some() || !answer.stdout.is_empty();
    let sign = if goes_on { Sign::SentOn } else { Sign::Stops };
    let model = call.transcript.as_deref().and_then(transcript::last_model);
    let known = Known { model: model.as_deref(), ..Known::default() };
    let _ = registry::note(call, Some(&sign), known, environment, now);
    answer
}

/// Looks at the services that the session acted on.
fn verify(call: &HookCall, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let Some(session) = call.session.as_deref() else { return Answer::silent() };
    let remedies = match to_verify(session, environment) {
        Ok(Some(remedies)) => remedies,
        Ok(None) => return Answer::silent(),
        Err(error) => return Answer::passing(vec![format!("{error}; nothing was verified")]),
    };
    let mut notes = Vec::new();
    let compiled = installation::in_force(environment, &mut notes);
    let installation = &compiled.installation;
    let verify = &installation.policy.verify;
    if verify.mode == Some(Verifier::Agent) {
        return Answer::passing(notes);
    }
    let subjects = verification::of_session(&remedies, installation, verify.grace, now);
    let deadline = verify.deadline.delta().to_std().unwrap_or_default();
    let began = Instant::now();
    let reports = match health::verify(subjects, deadline) {
        Ok(reports) => reports,
        Err(error) => {
            notes.push(format!("nothing was verified: {error}"));
            return Answer::passing(notes);
        }
    };
    // It may have taken a minute.
    let now = now + began.elapsed();
    let verified = Verified { session, remedies: &remedies, reports: &reports, installation, now };
    match verified.settle(environment) {
        Ok(Settled::Healthy) => Answer::passing(notes),
        Ok(Settled::Blocked { attempt }) => {
            Answer::block(report::still_unhealthy(&verified.failed(), attempt, verify.attempts), notes)
        }
        Ok(Settled::GivenUp { notice }) => {
            notes.push(format!(
                "verification given up after {} attempts: {}",
                verify.attempts,
                verified.failed().iter().map(|(service, _)| *service).collect::<Vec<_>>().join(", ")
            ));
            notes.extend(notice.and_then(|id| notify::hand_over(environment, id)));
            Answer::passing(notes)
        }
        Err(error) => {
            // Without a count nothing would end it.
            notes.push(format!("{error}; the verification is not counted, so the session is let go"));
            Answer::passing(notes)
        }
    }
}

/// What the session did, unless it did nothing, or nothing since it was last let go.
fn to_verify(session: &str, environment: &Environment) -> Result<Option<Remedies>, LedgerError> {
    let Some(ledger) = Ledger::open_existing(&environment.db_path)? else { return Ok(None) };
    let remedies = ledger.remedies(session)?;
    if remedies.services.is_empty() {
        return Ok(None);
    }
    let settled = ledger.standing(session)?.settled_actions;
    Ok((settled != Some(remedies.actions)).then_some(remedies))
}

/// A verification that has been made.
struct Verified<'a> {
    session: &'a str,
    remedies: &'a Remedies,
    reports: &'a [Report],
    installation: &'a Installation,
    now: DateTime<Utc>,
}

/// What follows from it.
enum Settled {
    Healthy,
    Blocked { attempt: u32 },
    GivenUp { notice: Option<i64> },
}

impl Verified<'_> {
    /// The unhealthy services, each with what speaks against it.
    fn failed(&self) -> Vec<(&str, Vec<String>)> {
        let failed = self.reports.iter().filter(|report| report.healthy() == Some(false));
        failed.map(|report| (report.service.as_str(), verification::failures(report))).collect()
    }

    /// Counts it and writes it down, in one change.
    fn settle(&self, environment: &Environment) -> Result<Settled, LedgerError> {
        let &Self { session, remedies, reports, installation, now } = self;
        let limit = installation.policy.verify.attempts;
        let failed = self.failed();
        let mut ledger = Ledger::open(&environment.db_path)?;
        let change = ledger.change()?;
        let attempt = change.standing(session)?.attempts.saturating_add(1);
        let (outcome, settled) = if failed.is_empty() {
            for report in reports {
                change.add_event(Some(session), &report::verified(&report.service, report.healthy()), now)?;
            }
            (Outcome::Healthy, Settled::Healthy)
        } else if attempt <= limit {
            for (service, why) in &failed {
                change.add_event(Some(session), &report::unhealthy(service, why, attempt, limit), now)?;
            }
            (Outcome::Unhealthy, Settled::Blocked { attempt })
        } else {
            for (service, why) in &failed {
                change.add_event(Some(session), &report::given_up(service, why, limit), now)?;
            }
            let notice = notices::verification_given_up(&failed, limit, Some(session), environment.tier);
            let target = notify::apprise::Target::of(environment).is_some();
            (
                Outcome::GivenUp,
                Settled::GivenUp { notice: change.raise(Some(session), &notice, target, now)? },
            )
        };
        change.note_verification(session, outcome, remedies.actions, now)?;
        change.commit()?;
        Ok(settled)
    }
}
