//! Whether a request passes a gate, and what is recorded of it.

use crate::gates::approved::{States, is_same};
use crate::guard::acting::ActingCall;
use crate::guard::approval::statement::is_answer_to;
use crate::guard::asking::ClientCall;
use crate::guard::explain::{Explanation, explain};
use crate::guard::judge::{Ending, Judgement, judge};
use crate::guard::looks::before;
use crate::guard::{audit, recording};
use crate::hooks::events::post_tool_use;
use crate::machine::client::release::Asking;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use chrono::TimeDelta;
use opsctl_ledger::{Change, Ledger, Result, Scope};
use opsctl_policy::decide::{BudgetKey, Reservation, budget_keys};
use opsctl_policy::model::records::event::{HookCall, ToolCall, ToolResult};
use opsctl_policy::model::records::question::Answer;
use opsctl_policy::model::records::verdict::{Reason, Verdict, in_lines};
use opsctl_policy::model::rights::ask::Topic;
use opsctl_policy::model::rights::gate::Gate;
use uuid::Uuid;

/// The beginning of the ids of calls of gates, which no client gives.
pub const ID: &str = opsctl_ledger::GATE_CALL;

/// How long a hook's reservation or a person's approval covers requests that follow from the call.
const COVERS: TimeDelta = TimeDelta::hours(1);

/// Whether a request passes.
#[derive(Debug)]
pub enum Admission {
    /// It passes.
    Passes(Ticket),
    /// It is refused, for this reason: one text of several lines.
    Refused(String),
}

/// A request that passes. The gate that has let it pass settles it when its outcome is known; otherwise its outcome stays unknown,
/// and it counts.
#[derive(Debug, Default)]
#[must_use = "a request that has run is settled"]
pub struct Ticket {
    /// What is reserved for it; `None` if nothing is, or a hook has reserved it.
    reserved: Option<Box<(HookCall, ToolCall)>>,
    /// Whether it was let pass although the policy denies it: the gate only watches.
    pub is_watched: bool,
    /// Whether a person has approved it, who has not seen any input.
    pub is_approved: bool,
}

impl Ticket {
    /// Whether it is counted for this request, and not for the call of a hook that it follows from.
    pub const fn is_counted(&self) -> bool {
        self.reserved.is_some()
    }

    /// Records that the request has run, and how it ended.
    pub fn settle(self, result: &ToolResult, request: &Request) {
        let Some(reserved) = &self.reserved else { return };
        let (call, tool) = &**reserved;
        let mut warnings = Vec::new();
        if let Some(acting) = ActingCall::after(call, tool, request, &mut warnings) {
            // What cannot be recorded now is kept, and reported by the handler itself.
            let _ = post_tool_use::settle(&acting, result, request, warnings);
        }
    }
}

/// Judges a request: `command` is the bash text that does the same, as an agent would write it. A person may have approved it as
/// the call of a hook.
pub fn admit(gate: Gate, (command, states): (&str, States), request: &Request) -> Admission {
    admitted(gate, (command, states), &[], request)
}

/// Judges a request that may be a part of one of the commands `within`, which have passed. With the budgets of such a command, it
/// counts with it.
pub fn admit_within(gate: Gate, command: &str, within: &[String], request: &Request) -> Admission {
    admitted(gate, (command, States::InPart), within, request)
}

fn admitted(
    gate: Gate,
    (command, states): (&str, States),
    within: &[String],
    request: &Request,
) -> Admission {
    let id = format!("{ID}{}", Uuid::new_v4());
    let call = HookCall { session: request.session.clone(), ..HookCall::default() };
    let tool = ToolCall { id: Some(id), command: Some(command.to_owned()), ..ToolCall::default() };
    let mut explanation = explain(&call, &tool, request, false);
    let Explanation { acting, complaints, warnings, .. } = &mut explanation;
    let mut warnings: Vec<Warning> = std::mem::take(warnings);
    warnings.extend(std::mem::take(complaints).into_iter().map(Warning::Command));
    let Some(mut acting) = acting.take() else { return Admission::Passes(Ticket::default()) };
    match is_covered(&acting, (command, states), within, request) {
        Ok(Covered::No) | Err(_) => {}
        Ok(covered) => {
            let is_approved = covered == Covered::ByAPerson;
            return Admission::Passes(Ticket { is_approved, ..Ticket::default() });
        }
    }
    acting.gate = Some(gate);
    before::note(&mut acting, request);
    let client = ClientCall { digest: &|| None, words: &|| None, asking: &|| Asking::Cannot };
    let Judgement { verdict, unrecorded, .. } =
        judge(&mut acting, Ending::Commit(&client), request, &mut warnings);
    let admission = match &verdict {
        Verdict::Silent | Verdict::Watched(_) => {
            let is_watched = matches!(verdict, Verdict::Watched(_));
            let reserved = reserved(&acting, &call, &tool);
            Admission::Passes(Ticket { reserved, is_watched, is_approved: false })
        }
        Verdict::Deny(reasons) => Admission::Refused(in_lines(reasons)),
        Verdict::Ask(asked) => Admission::Refused(in_lines(&asked.reasons)),
    };
    recording::record(&acting, &verdict, unrecorded, request);
    admission
}

/// The objection of one rule to a command that does not run. Nothing is counted or recorded.
pub fn objection(rule: &str, command: &str, request: &Request) -> Option<String> {
    let tool = ToolCall { command: Some(command.to_owned()), ..ToolCall::default() };
    let call = HookCall::default();
    let mut reasons = explain(&call, &tool, request, false).acting?.objections.into_iter();
    reasons.find(|reason| reason.rule == rule).map(|reason| reason.text)
}

fn reserved(acting: &ActingCall<'_>, call: &HookCall, tool: &ToolCall) -> Option<Box<(HookCall, ToolCall)>> {
    (!acting.actions.is_empty()).then(|| Box::new((call.clone(), tool.clone())))
}

/// By what a request is covered before it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Covered {
    No,
    /// The hook of a call has allowed and counted it.
    ByAHook,
    /// A person has approved what rules object to.
    ByAPerson,
}

/// By what a request is covered: a hook has allowed the call that it follows from, so that its open reservations, each of which is
/// used once, contain all actions, and a person has approved what rules object to.
fn is_covered(
    acting: &ActingCall<'_>,
    (command, states): (&str, States),
    within: &[String],
    request: &Request,
) -> Result<Covered> {
    let within: Vec<Vec<BudgetKey>> = within.iter().map(|command| budgets_of(command, request)).collect();
    let policy = &acting.installation.policy;
    let keys = budget_keys(&acting.actions, policy);
    let mut ledger = Ledger::open(&request.ledger)?;
    let change = ledger.change_in(Scope::Of { budgets: &keys, call: Some(acting.id) })?;
    let now = change.now(acting.now);
    let snapshot = change.usage(&keys, policy, now)?;
    let (reasons, reservations) = acting.all_objections(&snapshot);
    let by_rules: Vec<&Reason> = reasons.iter().filter(|reason| !is_of_history(reason)).collect();
    let counted: Vec<&Reservation> = reservations.iter().filter(|wanted| wanted.counts).collect();
    if counted.is_empty() && by_rules.is_empty() {
        return Ok(Covered::No);
    }
    let is_part = |budgets: &Vec<BudgetKey>| !keys.is_empty() && keys.iter().all(|key| budgets.contains(key));
    if by_rules.is_empty() && within.iter().any(is_part) {
        audit::record(
            &change,
            acting,
            &Verdict::Silent,
            &snapshot,
            Some("A part of a release that counts"),
            request,
        )?;
        change.commit()?;
        return Ok(Covered::ByAHook);
    }
    let by = acting.id.tool_use.unwrap_or_default();
    let asked = (command, by);
    if !by_rules.is_empty() && (states == States::InPart || !is_approved(&change, acting, &by_rules, asked)?)
    {
        return Ok(Covered::No);
    }
    for wanted in counted {
        if !change.claim(&wanted.key, by, now - COVERS)? {
            return Ok(Covered::No);
        }
    }
    let remark = "Allowed by the hook of the call";
    audit::record(&change, acting, &Verdict::Silent, &snapshot, Some(remark), request)?;
    change.commit()?;
    Ok(if by_rules.is_empty() { Covered::ByAHook } else { Covered::ByAPerson })
}

/// The budgets that a command counts against.
fn budgets_of(command: &str, request: &Request) -> Vec<BudgetKey> {
    let tool = ToolCall { command: Some(command.to_owned()), ..ToolCall::default() };
    let call = HookCall::default();
    let explanation = explain(&call, &tool, request, false);
    explanation
        .acting
        .map(|acting| budget_keys(&acting.actions, &acting.installation.policy))
        .unwrap_or_default()
}

/// Whether a reason depends on past actions, which the hook has compared with the budgets.
const fn is_of_history(reason: &Reason) -> bool {
    matches!(reason.topic, Some(Topic::Budget | Topic::Exclusive))
}

/// Whether a person has lately approved the call of this session that is this request and nothing else: it is the same command,
/// the answer is signed, and the person was asked about these objections. An approval covers one request.
fn is_approved(
    change: &Change<'_>,
    acting: &ActingCall<'_>,
    reasons: &[&Reason],
    (command, by): (&str, &str),
) -> Result<bool> {
    let (Some(session), Some(key)) = (acting.id.session, acting.installation.policy.approval_key) else {
        return Ok(false);
    };
    for id in change.approved_questions(session, acting.now - COVERS)? {
        let question = change.question(id, acting.now)?;
        let (Some(question), Some(answer)) = (question, change.answer_of(id)?) else { continue };
        let was_asked =
            |reason: &&Reason| question.reasons.contains(&opsctl_redact::text(&reason.text).into_owned());
        if answer.answer == Answer::Approve
            && is_answer_to(&question.asked_call(), &answer, key)
            && is_same(&question.command, command, &acting.installation.inventory)
            && reasons.iter().all(was_asked)
        {
            return change.cover(id, by);
        }
    }
    Ok(false)
}
