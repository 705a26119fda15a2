//! The end of a turn: the agent is warned of a nearly full context and asked for a report.

use chrono::{DateTime, Utc};

use super::answer::{Answer, Remarks};
use super::context_warning;
use crate::context::usage::Awaited;
use crate::ledger::{Ledger, LedgerError};
use crate::model::event::HookCall;
use crate::model::mode::Mode;
use crate::model::policy::Tier;
use crate::policy::report;
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::warning::Warning;
use crate::session::markers;

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
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let mut warnings = answer.warnings;
    let mut reasons: Vec<String> = answer.denial.into_iter().collect();
    reasons.extend(report_request(call, last_message, environment, now, &mut warnings));
    if !reasons.is_empty() {
        let awaited = Awaited::Answer(last_message);
        reasons.extend(context_warning::due(call, awaited, 0, environment, now, &mut warnings));
        return Answer::block(reasons.join("\n\n"), warnings);
    }
    let awaited = Awaited::Answer(last_message);
    let warning = if blocked_before {
        None
    } else {
        context_warning::due(call, awaited, WORTH_A_TURN, environment, now, &mut warnings)
    };
    Remarks { context: warning.into_iter().collect(), warnings }.into_answer("Stop")
}

/// The request for a report: once, for a background session without one.
fn report_request(
    call: &HookCall,
    last_message: &str,
    environment: &Environment,
    now: DateTime<Utc>,
    warnings: &mut Vec<Warning>,
) -> Option<String> {
    let session = call.session.as_deref().filter(|_| environment.mode == Some(Mode::Background))?;
    if !markers::find(last_message).is_empty() {
        return None;
    }
    let ask = || {
        let mut ledger = Ledger::open(&environment.ledger)?.for_the_record();
        let change = ledger.change()?;
        let ask = !change.has_reported(session)? && change.ask_for_report(session, now)?;
        change.commit()?;
        Ok(ask)
    };
    let ask = ask().unwrap_or_else(|error: LedgerError| {
        // A request that cannot be recorded would be repeated without end.
        warnings.push(Warning::ReportRequest(error));
        false
    });
    ask.then(|| report::missing(installation::tier_in_force(environment) != Some(Tier::Full)))
}
