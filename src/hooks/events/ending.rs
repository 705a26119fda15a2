//! The end of a turn: the agent is warned of a nearly full context and asked for a report.

use super::context_warning;
use crate::hooks::answer::{Answer, Remarks};
use crate::machine::installation;
use crate::machine::link::lookup::Awaited;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use crate::sessions::markers;
use opsctl_ledger::Ledger;
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::texts::report;
use opsctl_reader::terms::mode::Mode;

/// The use of the context, in percent, from which the end of a turn is blocked for the warning. Below, the agent is warned
/// at its next prompt.
const WORTH_A_TURN: u8 = 80;

/// Adds both to the answer of a Stop hook. Every further turn costs the whole context again, so a session is asked for a
/// report at most once, and its end is blocked for the warning only if no hook has blocked it. If it continues anyway, the
/// agent gets both.
pub fn add(
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
