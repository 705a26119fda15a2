//! After a tool has run: its reservations are settled, its actions recorded, and secrets in its output replaced.

use crate::guard::acting::ActingCall;
use crate::guard::failures;
use crate::guard::kept::{self, finished::Finished};
use crate::hooks::answer::Answer;
use crate::hooks::forward::Input;
use crate::hooks::tool_output::{self, FoundSecrets};
use crate::hooks::{guarded, undelivered};
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use opsctl_ledger::LedgerError;
use opsctl_ledger::cooldown::cooldown_edit::{self, Edit};
use opsctl_policy::decide::BudgetKey;
use opsctl_policy::model::records::event::{HookCall, ToolCall, ToolResult};
use opsctl_redact::CallerSecrets;

/// Settles the reservations of the call, records one event per action, and updates `cooldown.json`, which agents read.
/// Replaces secrets in the output of the tool. Never denies.
pub fn handle(
    call: &HookCall,
    tool: &ToolCall,
    result: &ToolResult,
    input: Input<'_>,
    request: &Request,
    deliver: impl FnOnce(Answer),
) {
    let mut warnings = Vec::new();
    let mut found = tool_output::search(tool, input, request);
    let acting = ActingCall::after(call, tool, request, &mut warnings);
    if acting.is_none() && found.is_none() {
        return deliver(Answer::silent());
    }
    let _lost = CallerSecrets::lost_by(tool.command.as_deref());
    let replaced = |answer, found: &mut Option<FoundSecrets>| match found {
        Some(found) => found.replace(answer),
        None => answer,
    };
    if let Some((guard, request)) = guarded::guarded(request) {
        return deliver(match guarded::quick(&guard, input, &request) {
            Ok(answer) => answer,
            Err(error) if acting.is_some() => replaced(guarded::kept(input, error, &request), &mut found),
            Err(error) => replaced(Answer::allow(vec![Warning::Unserved(error)]), &mut found),
        });
    }
    let answer = match &acting {
        Some(acting) => settle(acting, result, request, warnings),
        None => Answer::allow(warnings),
    };
    deliver(replaced(answer, &mut found));
    // A record that fails does not change the answer.
    if let Some(found) = found {
        found.record(call, request);
    }
}

/// Settles the reservations of a call, and records its events.
pub fn settle(
    acting: &ActingCall<'_>,
    result: &ToolResult,
    request: &Request,
    mut warnings: Vec<Warning>,
) -> Answer {
    undelivered::record(request);
    let mut finished = Finished::of(acting, Some(result));
    let in_file = |counted: &[BudgetKey], at| {
        let success = *result == ToolResult::Succeeded;
        let add = |key: &BudgetKey| Edit::Add { kind: key.kind, at, success };
        let edits: Vec<_> = counted.iter().map(|key| (key.service.as_str(), add(key))).collect();
        cooldown_edit::edit(&request.cooldown_file(), &edits)
    };
    match finished.record(&acting.installation.policy, request, &mut warnings) {
        Ok((counted, at)) => warnings.extend(in_file(&counted, at).err().map(Warning::from)),
        Err(error) => {
            finished.in_file = in_file(&finished.counted_alone(), finished.at).is_ok();
            unrecorded(&finished, error, request, &mut warnings);
        }
    }
    Answer::allow(warnings)
}

/// Keeps a call for the ledger, or reports that it cannot be kept.
fn unrecorded(finished: &Finished, error: LedgerError, request: &Request, warnings: &mut Vec<Warning>) {
    if kept::keep_finished(finished, request).is_ok() {
        warnings.push(Warning::RecordKept(error));
        return;
    }
    let warning = Warning::RanUnrecorded { error, actions: finished.evidence.clone() };
    let message = format!("Guard failed to count: {warning}");
    warnings.push(warning);
    let session = finished.session.as_deref();
    warnings.extend(failures::report(request, session, &message, None, finished.at));
}
