//! The agent is about to end its turn: the services that it acted on are verified.

use std::time::Instant;

use chrono::{DateTime, Utc};

use super::answer::{Answer, Output};
use super::ending;
use super::registry::{self, Details};
use super::transcript;
use crate::guard::{budgets, verification};
use crate::inventory::Installation;
use crate::ledger::{Ledger, LedgerError, Outcome, SessionActions, cooldown_edit};
use crate::model::checks::Verifier;
use crate::model::event::HookCall;
use crate::model::session::Activity;
use crate::policy::notices::{self, Repair};
use crate::policy::report;
use crate::probe::health::{self, Report};
use crate::runtime::environment::Environment;
use crate::runtime::warning::Warning;
use crate::runtime::{installation, notify};

/// The maximum number of actions that are read for a notification.
const MOST_ACTIONS: u32 = 1000;

/// Blocks the end while a service that the session acted on is unhealthy, at most as often as `policy.verify.attempts`;
/// then allows it and notifies the operators. A session without actions costs one read of the ledger.
pub fn handle(
    call: &HookCall,
    blocked_before: bool,
    last_message: &str,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let began = Instant::now();
    let answer = verify(call, environment, now);
    // It may have taken a minute.
    let now = now + began.elapsed();
    let answer = ending::add(answer, call, blocked_before, last_message, environment, now);
    // Context makes the agent continue, too.
    let continues = answer.denial.is_some() || !matches!(answer.output, Output::Nothing);
    let activity = if continues { Activity::StopBlocked } else { Activity::Stopped };
    let model = call.transcript.as_deref().and_then(transcript::last_model);
    let details = Details { model: model.as_deref(), ..Details::default() };
    let _ = registry::record(call, Some(&activity), details, environment, now);
    answer
}

/// Verifies the services that the session acted on.
fn verify(call: &HookCall, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let Some(session) = call.session.as_deref() else { return Answer::silent() };
    let remedies = match to_verify(session, environment) {
        Ok(Some(remedies)) => remedies,
        Ok(None) => return Answer::silent(),
        Err(error) => return Answer::allow(vec![Warning::NoSessionHistory(error)]),
    };
    let mut warnings = Vec::new();
    let compiled = installation::in_force(environment, &mut warnings);
    let installation = &compiled.installation;
    let verify = &installation.policy.verify;
    if verify.mode == Some(Verifier::Agent) {
        return Answer::allow(warnings);
    }
    let subjects = verification::of_session(&remedies, installation, verify.grace, now);
    let deadline = verify.deadline.duration();
    let began = Instant::now();
    let reports = match health::verify(subjects, deadline) {
        Ok(reports) => reports,
        Err(error) => {
            warnings.push(Warning::NoVerification(error));
            return Answer::allow(warnings);
        }
    };
    // It may have taken a minute.
    let now = now + began.elapsed();
    let verified = Verified { session, remedies: &remedies, reports: &reports, installation, now };
    match verified.settle(environment) {
        Ok(Settled::Healthy { notice }) => {
            warnings.extend(notice.and_then(|id| notify::hand_over(environment, id)));
            Answer::allow(warnings)
        }
        Ok(Settled::Blocked { attempt }) => {
            Answer::block(report::still_unhealthy(&verified.failed(), attempt, verify.attempts), warnings)
        }
        Ok(Settled::GivenUp { notice }) => {
            let failed = verified.failed();
            let services: Vec<&str> = failed.iter().map(|(service, _)| *service).collect();
            warnings.push(Warning::VerificationGivenUp {
                attempts: verify.attempts,
                services: services.join(", "),
            });
            warnings.extend(notice.and_then(|id| notify::hand_over(environment, id)));
            Answer::allow(warnings)
        }
        Err(error) => {
            // Uncounted attempts would block the end for ever.
            warnings.push(Warning::UncountedVerification(error));
            Answer::allow(warnings)
        }
    }
}

/// The actions of the session; `None` if it has none, or none since its end was last allowed.
fn to_verify(session: &str, environment: &Environment) -> Result<Option<SessionActions>, LedgerError> {
    let Some(ledger) = Ledger::open_existing(&environment.ledger)? else { return Ok(None) };
    let remedies = ledger.session_actions(session)?;
    if remedies.services.is_empty() {
        return Ok(None);
    }
    let settled = ledger.verification_state(session)?.settled_actions;
    Ok((settled != Some(remedies.actions)).then_some(remedies))
}

/// A finished verification.
struct Verified<'a> {
    session: &'a str,
    remedies: &'a SessionActions,
    reports: &'a [Report],
    installation: &'a Installation,
    now: DateTime<Utc>,
}

/// The outcome of a verification.
enum Settled {
    Healthy { notice: Option<i64> },
    Blocked { attempt: u32 },
    GivenUp { notice: Option<i64> },
}

impl Verified<'_> {
    /// The unhealthy services, each with its failed checks.
    fn failed(&self) -> Vec<(&str, Vec<String>)> {
        let failed = self.reports.iter().filter(|report| report.healthy() == Some(false));
        failed.map(|report| (report.service.as_str(), verification::failures(report))).collect()
    }

    /// The actions since the last verification that allowed the session to end.
    fn repairs(&self, ledger: &Ledger, environment: &Environment) -> Result<Vec<Repair>, LedgerError> {
        let &Self { session, remedies, reports, installation, now } = self;
        let Some(first) = remedies.services.values().min() else { return Ok(vec![]) };
        let mut actions = ledger.actions_since(*first, MOST_ACTIONS)?.rows;
        actions.retain(|action| action.session.as_deref() == Some(session));
        let since = ledger.verification_state(session)?.settled_at;
        // Problems with cooldown.json are reported before an action.
        let usage = budgets::snapshot(environment, installation, now, &mut vec![]);
        let usage = usage.map(|(usage, _)| usage).unwrap_or_default();
        Ok(verification::repairs(&actions, since, reports, &usage, installation, now))
    }

    /// Counts and records the verification, in one transaction.
    fn settle(&self, environment: &Environment) -> Result<Settled, LedgerError> {
        let &Self { session, remedies, reports, installation, now } = self;
        let limit = installation.policy.verify.attempts;
        let failed = self.failed();
        let mut ledger = Ledger::open(&environment.ledger)?;
        let repairs = if failed.is_empty() { self.repairs(&ledger, environment)? } else { vec![] };
        let change = ledger.change()?;
        let attempt = change.verification_state(session)?.attempts.saturating_add(1);
        let target = notify::has_target(environment);
        let (outcome, settled) = if failed.is_empty() {
            for report in reports {
                change.add_event(Some(session), &report::verified(&report.service, report.healthy()), now)?;
            }
            let notice = if repairs.is_empty() {
                None
            } else {
                let notice = notices::remediation_verified(&repairs, Some(session), environment.tier);
                change.raise(Some(session), &notice, target, now)?
            };
            (Outcome::Healthy, Settled::Healthy { notice })
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
            (
                Outcome::GivenUp,
                Settled::GivenUp { notice: change.raise(Some(session), &notice, target, now)? },
            )
        };
        change.note_verification(session, outcome, remedies.actions, now)?;
        let edits = verification::note_checks(&change, reports, Some(session), now)?;
        change.commit()?;
        // The ledger has the checks; the file shows them.
        let _ = cooldown_edit::edit(&environment.cooldown_file(), &edits);
        Ok(settled)
    }
}
