//! After a tool has run: its reservations are settled and its actions recorded.

use chrono::{DateTime, Utc};

use super::answer::Answer;
use super::forward::Input;
use super::guarded;
use crate::guard::acting::ActingCall;
use crate::guard::{failures, lost};
use crate::ledger::cooldown_edit::{self, Edit};
use crate::ledger::{CallId, Ledger, LedgerError, Scope, Settled};
use crate::model::action::ActionKind;
use crate::model::event::{HookCall, ToolCall, ToolResult};
use crate::policy::decide::{BudgetKey, budget_keys, reservations};
use crate::policy::report;
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
) -> Answer {
    let mut warnings = Vec::new();
    let Some(acting) = ActingCall::after(call, tool, environment, now, &mut warnings) else {
        return Answer::silent();
    };
    if let Some((guard, environment)) = guarded::guarded(environment) {
        return guarded::report(&guard, input, &environment);
    }
    match record(&acting, result, environment, &mut warnings) {
        Ok((counted, now)) => {
            let success = *result == ToolResult::Succeeded;
            let edits: Vec<(&str, Edit)> = counted
                .iter()
                .map(|key| (key.service.as_str(), Edit::Add { kind: key.kind, at: now, success }))
                .collect();
            if let Err(error) = cooldown_edit::edit(&environment.cooldown_file(), &edits) {
                warnings.push(error.into());
            }
        }
        Err(error) => {
            let warning = Warning::RanUnrecorded { error, actions: acting.evidence() };
            let message = format!("Guard failed to count: {warning}");
            warnings.push(warning);
            warnings.extend(failures::report(environment, acting.id.session, &message, None, now));
        }
    }
    Answer::allow(warnings)
}

/// Records the call in the ledger. Returns the budgets that it drew on, and the time of the ledger.
fn record(
    acting: &ActingCall<'_>,
    result: &ToolResult,
    environment: &Environment,
    warnings: &mut Vec<Warning>,
) -> Result<(Vec<BudgetKey>, DateTime<Utc>), LedgerError> {
    let policy = &acting.installation.policy;
    if acting.actions.is_empty() && environment.ledger.is_missing() {
        return Ok((vec![], acting.now));
    }
    let keys = budget_keys(&acting.actions, policy);
    let mut ledger = Ledger::open(&environment.ledger)?;
    let change = ledger.change_in(Scope::Of { budgets: &keys, call: Some(acting.id) })?;
    let now = change.now(acting.now);
    if acting.actions.is_empty() && !change.has_reserved(acting.id)? {
        return Ok((vec![], now));
    }
    let lost = change.loss(&environment.state_dir)?;
    let snapshot = change.usage(&keys, policy, now)?;
    let actions = reservations(&acting.actions, &snapshot, policy);
    let settled = change.settle(acting.id, &acting.evidence(), &actions, result, acting.tier, now)?;
    let Settled::Now(counted) = settled else { return Ok((vec![], now)) };
    if let CallId { session: Some(session), tool_use: Some(id) } = acting.id {
        change.use_terminal_question(session, id, now)?;
    }
    for action in &acting.actions {
        change.add_event(acting.id.session, &report::event(action, result), now)?;
    }
    let reported = acting.actions.iter().any(|action| action.action.kind == ActionKind::Notification);
    if let Some(session) = acting.id.session.filter(|_| reported && *result == ToolResult::Succeeded) {
        change.note_report(session, now)?;
    }
    let kept = failures::record_kept(&change, environment)?;
    change.note_time("post-tool-use", environment.started.elapsed(), now)?;
    let by = (policy, acting.id.session);
    warnings.extend(lost::commit(change, lost, by, environment, now)?);
    failures::remove_kept(kept);
    Ok((counted, now))
}
