//! After a tool has run: its reservations are settled and its actions recorded.

use chrono::{DateTime, Utc};

use super::answer::Answer;
use super::finished::Finished;
use super::forward::Input;
use super::{guarded, undelivered};
use crate::guard::acting::ActingCall;
use crate::guard::failures;
use crate::ledger::LedgerError;
use crate::ledger::cooldown_edit::{self, Edit};
use crate::model::event::{HookCall, ToolCall, ToolResult};
use crate::policy::decide::BudgetKey;
use crate::redact;
use crate::runtime::environment::Environment;
use crate::runtime::warning::Warning;

/// Settles the reservations of the call, records one event per action, and updates `cooldown.json`, which agents read.
/// Never denies.
pub fn handle(
    call: &HookCall,
    tool: &ToolCall,
    result: &ToolResult,
    input: Input<'_>,
    environment: &Environment,
    now: DateTime<Utc>,
    deliver: impl FnOnce(Answer),
) {
    let mut warnings = Vec::new();
    let Some(acting) = ActingCall::after(call, tool, environment, now, &mut warnings) else {
        return deliver(Answer::silent());
    };
    redact::with_lost_words(tool.command.as_deref(), || {
        deliver(settle(&acting, result, input, environment, now, warnings));
    });
}

fn settle(
    acting: &ActingCall<'_>,
    result: &ToolResult,
    input: Input<'_>,
    environment: &Environment,
    now: DateTime<Utc>,
    mut warnings: Vec<Warning>,
) -> Answer {
    if let Some((guard, environment)) = guarded::guarded(environment) {
        return guarded::report(&guard, input, &environment);
    }
    undelivered::record(environment);
    let finished = Finished::of(acting, result);
    let (counted, at) = match finished.record(&acting.installation.policy, environment, &mut warnings) {
        Ok(recorded) => recorded,
        Err(error) => (unrecorded(&finished, error, environment, &mut warnings), now),
    };
    let success = *result == ToolResult::Succeeded;
    let edits: Vec<(&str, Edit)> =
        counted.iter().map(|key| (key.service.as_str(), Edit::Add { kind: key.kind, at, success })).collect();
    if let Err(error) = cooldown_edit::edit(&environment.cooldown_file(), &edits) {
        warnings.push(error.into());
    }
    Answer::allow(warnings)
}

/// Keeps a call for a ledger on a server, which may be away; otherwise reports the failure. Returns the budgets that it
/// counts against until then.
fn unrecorded(
    finished: &Finished,
    error: LedgerError,
    environment: &Environment,
    warnings: &mut Vec<Warning>,
) -> Vec<BudgetKey> {
    if environment.ledger.file().is_none() && undelivered::keep_finished(finished, environment).is_ok() {
        warnings.push(Warning::RecordKept(error));
        return finished.counted_alone();
    }
    let warning = Warning::RanUnrecorded { error, actions: finished.evidence.clone() };
    let message = format!("Guard failed to count: {warning}");
    warnings.push(warning);
    let session = finished.session.as_deref();
    warnings.extend(failures::report(environment, session, &message, None, finished.at));
    vec![]
}
