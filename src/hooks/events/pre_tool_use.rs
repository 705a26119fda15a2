//! Before a tool runs: the only event at which a call can be denied.

use crate::guard::asking::{ClientCall, subject};
use crate::guard::explain::{Explanation, explain};
use crate::guard::judge::{Ending, Judgement, judge};
use crate::guard::looks::before;
use crate::guard::recording::record;
use crate::hooks::answer::{Answer, Remarks};
use crate::hooks::forward::Input;
use crate::hooks::{guarded, transcript, undelivered, wire};
use crate::machine::client::release;
use crate::machine::client::release::Asking;
use crate::machine::request::Request;
use crate::machine::started;
use crate::machine::warning::Warning;
use opsctl_ledger::LedgerError;
use opsctl_policy::model::records::event::{HookCall, ToolCall};
use opsctl_policy::model::records::verdict::Verdict;
use opsctl_redact::CallerSecrets;

/// Denies the call, or allows it and reserves its budgets. A reservation is committed before the answer, which lets the
/// command run; a denial is recorded after it, so that a hook that is killed while it records has denied.
pub fn handle(
    call: &HookCall,
    tool: &ToolCall,
    input: Input<'_>,
    request: &Request,
    deliver: impl FnOnce(Answer),
) {
    let mut explanation = explain(call, tool, request, false);
    // A call that every tier allows needs no limits. For all others, an environment that settings files may have changed
    // cannot raise those with which the session was started.
    let is_limited = explanation.acting.is_some() || request.is_tier_blank;
    let limited = if is_limited { started::restored(request) } else { None };
    if let Some(limited) = &limited {
        explanation = explain(call, tool, limited, false);
    }
    let Explanation { acting, complaints, warnings, .. } = &explanation;
    if acting.is_none() && complaints.is_empty() && warnings.is_empty() {
        return deliver(Answer::allow(vec![]));
    }
    let _lost = CallerSecrets::lost_by(tool.command.as_deref());
    answer(call, tool, explanation, input, limited.as_ref().unwrap_or(request), deliver);
}

/// Answers a call of which there is something to report, and records the verdict.
fn answer(
    call: &HookCall,
    tool: &ToolCall,
    explanation: Explanation<'_>,
    input: Input<'_>,
    request: &Request,
    deliver: impl FnOnce(Answer),
) {
    // What could not be read is reported even if nothing in it seems to act.
    let mut warnings: Vec<Warning> = explanation.complaints.into_iter().map(Warning::Command).collect();
    warnings.extend(explanation.warnings);
    let Some(mut acting) = explanation.acting else { return deliver(Answer::allow(warnings)) };
    let agent = &request.agent;
    let last_words = || transcript::last_words(call.transcript.as_deref()?, tool.id.as_deref()?, agent);
    let client = ClientCall {
        digest: &|| wire::digest::of_call(input.stdin, &subject::as_read(&explanation.script)),
        words: &last_words,
        asking: &|| match release::asking(request.mode, agent) {
            Asking::Defers if wire::digest::is_of_subagent(input.stdin) => Asking::Subagent,
            asking => asking,
        },
    };
    let ending = match &request.guard {
        None if agent.is_gone() => return,
        None => {
            // What has run while the ledger was away has used budgets.
            undelivered::record(request);
            Ending::Commit(&client)
        }
        Some(guard) => match guarded::quick(guard, input, request) {
            Ok(answer) => return deliver(answer),
            Err(error) => Ending::Alone(LedgerError::of_guard(error)),
        },
    };
    before::note(&mut acting, request);
    let Judgement { verdict, unrecorded, remark } = judge(&mut acting, ending, request, &mut warnings);
    deliver(match &verdict {
        Verdict::Silent | Verdict::Watched(_) => {
            let context = remark.into_iter().collect();
            Remarks { context, warnings }.into_answer("PreToolUse")
        }
        Verdict::Ask(asked) => Answer::ask(asked, warnings),
        // The client shows stderr to the model with a denial, so the warnings are left out.
        Verdict::Deny(reasons) => Answer::deny(reasons),
    });
    request.ledger.patience.renew();
    record(&acting, &verdict, unrecorded, request);
}
