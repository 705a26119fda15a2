//! The agent is about to end its turn: the services that it acted on are verified, and it is warned of a nearly full context
//! and asked for a report.

use std::collections::BTreeSet;
use std::time::Instant;

use chrono::TimeDelta;

use super::{context_warning, objections};
use crate::guard::{budgets, verification};
use crate::hooks::answer::{Answer, Output, Remarks};
use crate::hooks::registry::{self, Details};
use crate::hooks::transcript;
use crate::machine::link::lookup::Awaited;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use crate::machine::{installation, notify};
use crate::sessions::output::markers;
use opsctl_inventory::Installation;
use opsctl_ledger::cooldown::cooldown_edit;
use opsctl_ledger::{Ledger, Result, SessionActions, VerificationResult};
use opsctl_policy::model::installation::checks::Verifier;
use opsctl_policy::model::records::event::{HookCall, NewEvent};
use opsctl_policy::model::records::notice::Notice;
use opsctl_policy::model::records::session::Activity;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::texts::notices::{self, Repair};
use opsctl_policy::texts::report;
use opsctl_probe::health::{self, Report};
use opsctl_reader::terms::mode::Mode;

/// The maximum number of actions that are read for a notification.
const MOST_ACTIONS: u32 = 1000;

/// How long after an action of unknown outcome its service is verified by later sessions.
const INHERITED: TimeDelta = TimeDelta::days(1);

/// The use of the context, in percent, from which the end of a turn is blocked for the warning. Below, the agent is warned
/// at its next prompt.
const WORTH_A_TURN: u8 = 80;

/// Blocks the end while a service that the session acted on is unhealthy, at most as often as `policy.verify.attempts`;
/// then allows it and notifies the operators. A session without actions costs one read of the ledger.
pub fn handle(call: &HookCall, blocked_before: bool, last_message: &str, request: &Request) -> Answer {
    let began = Instant::now();
    let blocked = call.session.as_deref().filter(|_| blocked_before);
    let objections = blocked.and_then(|session| Some((session, objections::count(session, request)?)));
    let answer = verify(call, request);
    // It may have taken a minute.
    let request = &request.at(request.now + began.elapsed());
    let answer = with_reminders(answer, call, blocked_before, last_message, request);
    let answer = match objections {
        Some((session, limit)) => objections::bound(answer, session, limit, request),
        None => answer,
    };
    // Context makes the agent continue, too.
    let continues = answer.denial.is_some() || !matches!(answer.output, Output::Nothing);
    if let Some(session) = call.session.as_deref().filter(|_| continues) {
        objections::note_own(session, request);
    }
    let activity = if continues { Activity::StopBlocked } else { Activity::Stopped };
    let model = call.transcript.as_deref().and_then(|path| transcript::last_model(path, &request.agent));
    let details = Details { model: model.as_deref(), ..Details::default() };
    let _ = registry::record(call, Some(&activity), details, request);
    answer
}

/// Verifies the services that the session acted on, and those on which an earlier one did with an unknown outcome.
fn verify(call: &HookCall, request: &Request) -> Answer {
    let Some(session) = call.session.as_deref() else { return Answer::silent() };
    let (remedies, inherited) = match to_verify(session, request) {
        Ok(Some(found)) => found,
        Ok(None) => return Answer::silent(),
        Err(error) => return Answer::allow(vec![Warning::NoSessionHistory(error)]),
    };
    let mut warnings = Vec::new();
    let compiled = installation::in_force(request, &mut warnings);
    let installation = &compiled.installation;
    let verify = &installation.policy.verify;
    if verify.mode == Some(Verifier::Agent) {
        return Answer::allow(warnings);
    }
    let of = |actions| verification::of_session(actions, installation, verify.grace, request.now);
    let mut subjects = of(&remedies);
    let own: BTreeSet<String> = subjects.iter().map(|subject| subject.service.clone()).collect();
    subjects.extend(of(&inherited).into_iter().filter(|subject| !own.contains(&subject.service)));
    let deadline = verify.deadline.duration();
    let began = Instant::now();
    let (reports, inherited): (Vec<Report>, Vec<Report>) = match health::verify(subjects, deadline) {
        Ok(reports) => reports.into_iter().partition(|report| own.contains(&report.service)),
        Err(error) => {
            warnings.push(Warning::NoVerification(error));
            return Answer::allow(warnings);
        }
    };
    // It may have taken a minute.
    let request = &request.at(request.now + began.elapsed());
    let verified = Verified {
        session,
        remedies: &remedies,
        reports: &reports,
        inherited: &inherited,
        installation,
        request,
    };
    let (outcome, attempt, notices) = match verified.settle() {
        Ok(settled) => settled,
        Err(error) => {
            // Uncounted attempts would block the end for ever.
            warnings.push(Warning::UncountedVerification(error));
            return Answer::allow(warnings);
        }
    };
    let failed = verified.failed();
    match outcome {
        VerificationResult::Healthy
        | VerificationResult::Confirmed
        | VerificationResult::Objected
        | VerificationResult::Reminded => {}
        VerificationResult::Unhealthy => {
            if installation.policy.monitor.everything {
                return Answer::allow(warnings);
            }
            let unchecked = verified.unchecked();
            let reason = report::still_unhealthy(&failed, &unchecked, attempt, verify.attempts);
            return Answer::block(reason, warnings);
        }
        VerificationResult::GivenUp => {
            let services: Vec<&str> = failed.iter().map(|(service, _)| *service).collect();
            let services = services.join(", ");
            warnings.push(Warning::VerificationGivenUp { attempts: verify.attempts, services });
        }
    }
    warnings.extend(notices.into_iter().filter_map(|id| notify::hand_over(request, id)));
    Answer::allow(warnings)
}

/// The actions of the session since its end was last allowed, and those of earlier ones whose outcome is unknown; `None` if
/// there are none.
fn to_verify(session: &str, request: &Request) -> Result<Option<(SessionActions, SessionActions)>> {
    let Some(ledger) = Ledger::open_existing(&request.ledger)? else { return Ok(None) };
    let mut remedies = ledger.session_actions(session)?;
    if !remedies.services.is_empty()
        && ledger.verification_state(session)?.settled_actions == Some(remedies.actions)
    {
        remedies.services.clear();
    }
    let inherited = ledger.unchecked_actions(request.now - INHERITED)?;
    let is_any = !remedies.services.is_empty() || !inherited.services.is_empty();
    Ok(is_any.then_some((remedies, inherited)))
}

/// A finished verification.
struct Verified<'a> {
    session: &'a str,
    remedies: &'a SessionActions,
    reports: &'a [Report],
    /// Of the services on which an earlier session acted, with an unknown outcome. They never block the end.
    inherited: &'a [Report],
    installation: &'a Installation,
    request: &'a Request,
}

impl Verified<'_> {
    /// The unhealthy services, each with its failed checks.
    fn failed(&self) -> Vec<(&str, Vec<String>)> {
        let failed = self.reports.iter().filter(|report| report.healthy() == Some(false));
        failed.map(|report| (report.service.as_str(), verification::failures(report))).collect()
    }

    /// The services that were not checked, or not entirely, each with the reasons and remedies.
    fn unchecked(&self) -> Vec<(&str, Vec<String>)> {
        let of = |report| (report, verification::unchecked(report));
        let unchecked = self.reports.iter().map(of).filter(|(_, why)| !why.is_empty());
        unchecked.map(|(report, why)| (report.service.as_str(), why)).collect()
    }

    /// The actions since the last verification that allowed the session to end.
    fn repairs(&self, ledger: &Ledger) -> Result<Vec<Repair>> {
        let &Self { session, remedies, reports, installation, request, .. } = self;
        let Some(first) = remedies.services.values().map(|acted| acted.last).min() else { return Ok(vec![]) };
        let mut actions = ledger.actions_since(first, None, MOST_ACTIONS)?.rows;
        actions.retain(|action| action.session.as_deref() == Some(session));
        let since = ledger.verification_state(session)?.settled_at;
        // Problems with cooldown.json are reported before an action.
        let usage = budgets::snapshot(request, installation, request.now, &mut vec![]);
        let usage = usage.map(|(usage, _)| usage).unwrap_or_default();
        Ok(verification::repairs(&actions, since, reports, &usage, installation, request.now))
    }

    /// Counts and records the verification, in one transaction. Returns its outcome, the number of the attempt, and the
    /// notices to deliver.
    fn settle(&self) -> Result<(VerificationResult, u32, Vec<i64>)> {
        let &Self { session, remedies, reports, inherited, installation, request } = self;
        let (limit, now) = (installation.policy.verify.attempts, request.now);
        let failed = self.failed();
        let mut ledger = Ledger::open(&request.ledger)?;
        let repairs = if failed.is_empty() { self.repairs(&ledger)? } else { vec![] };
        let change = ledger.change()?;
        let attempt = change.verification_state(session)?.attempts.saturating_add(1);
        let (outcome, events, notice): (_, Vec<NewEvent>, _) = if failed.is_empty() {
            let verified = |report: &Report| {
                report::verified(&report.service, report.healthy(), &verification::unchecked(report))
            };
            let notice = (!repairs.is_empty())
                .then(|| notices::remediation_verified(&repairs, Some(session), request.tier));
            (VerificationResult::Healthy, reports.iter().map(verified).collect(), notice)
        } else if attempt <= limit {
            let unhealthy =
                |(service, why): &(&str, Vec<String>)| report::unhealthy(service, why, attempt, limit);
            (VerificationResult::Unhealthy, failed.iter().map(unhealthy).collect(), None)
        } else {
            let given_up = |(service, why): &(&str, Vec<String>)| report::given_up(service, why, limit);
            let notice = notices::verification_given_up(&failed, limit, Some(session), request.tier);
            (VerificationResult::GivenUp, failed.iter().map(given_up).collect(), Some(notice))
        };
        let (of_earlier, left) = earlier(inherited, session, request.tier);
        for event in events.iter().chain(&of_earlier) {
            change.add_event(Some(session), event, now)?;
        }
        let mut raised = Vec::new();
        for notice in notice.iter().chain(&left) {
            raised.extend(change.raise(Some(session), notice, notify::has_target(request), now)?);
        }
        if !reports.is_empty() {
            change.note_verification(session, outcome, remedies.actions, now)?;
        }
        let mut edits = verification::note_checks(&change, reports, Some(session), now)?;
        edits.extend(verification::note_checks(&change, inherited, Some(session), now)?);
        change.commit()?;
        // The ledger has the checks; the file shows them.
        let _ = cooldown_edit::edit(&request.cooldown_file(), &edits);
        Ok((outcome, attempt, raised))
    }
}

/// The events of services on which an earlier session acted, and a notice if one is unhealthy.
fn earlier(inherited: &[Report], session: &str, tier: Option<Tier>) -> (Vec<NewEvent>, Option<Notice>) {
    let event = |report: &Report| match report.healthy() {
        Some(false) => report::left_unhealthy(&report.service, &verification::failures(report)),
        healthy => report::verified(&report.service, healthy, &verification::unchecked(report)),
    };
    let failed: Vec<(&str, Vec<String>)> = inherited
        .iter()
        .filter(|report| report.healthy() == Some(false))
        .map(|report| (report.service.as_str(), verification::failures(report)))
        .collect();
    let notice = (!failed.is_empty()).then(|| notices::left_unhealthy(&failed, session, tier));
    (inherited.iter().map(event).collect(), notice)
}

/// Warns of a nearly full context and asks for a report, in the answer of a Stop hook. Every further turn costs the whole context again, so a session is asked for a
/// report at most once, and its end is blocked for the warning only if no hook has blocked it. If it continues anyway, the
/// agent gets both.
fn with_reminders(
    answer: Answer,
    call: &HookCall,
    blocked_before: bool,
    last_message: &str,
    request: &Request,
) -> Answer {
    let mut warnings = answer.warnings;
    let mut reasons: Vec<String> = answer.denial.into_iter().collect();
    reasons.extend(report_request(call, last_message, request, &mut warnings));
    let awaited = Awaited::Answer(last_message.to_owned());
    if !reasons.is_empty() {
        reasons.extend(context_warning::due(call, &awaited, 0, request, &mut warnings));
        return Answer::block(reasons.join("\n\n"), warnings);
    }
    let warning = if blocked_before {
        None
    } else {
        context_warning::due(call, &awaited, WORTH_A_TURN, request, &mut warnings)
    };
    Remarks { context: warning.into_iter().collect(), warnings }.into_answer("Stop")
}

/// The request for a report: once, for a background session without one.
fn report_request(
    call: &HookCall,
    last_message: &str,
    request: &Request,
    warnings: &mut Vec<Warning>,
) -> Option<String> {
    let session = call.session.as_deref().filter(|_| request.mode == Some(Mode::Background))?;
    if !markers::find(last_message).is_empty() {
        return None;
    }
    let ask = Ledger::note(&request.ledger, |change| {
        Ok(!change.has_reported(session)? && change.ask_for_report(session, request.now)?)
    });
    let ask = ask.unwrap_or_else(|error| {
        // A request that cannot be recorded would be repeated without end.
        warnings.push(Warning::ReportRequest(error));
        false
    });
    ask.then(|| report::missing(installation::tier_in_force(request) != Some(Tier::Full)))
}
