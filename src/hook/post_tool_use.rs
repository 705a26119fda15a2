//! After a tool has run: what it did is settled and told.

use chrono::{DateTime, Utc};

use super::answer::Answer;
use crate::guard::acting::ActingCall;
use crate::guard::failures;
use crate::ledger::cooldown_edit::{self, Edit};
use crate::ledger::{Ledger, LedgerError, Settled};
use crate::model::action::ActionKind;
use crate::model::event::{HookCall, ToolCall, ToolResult};
use crate::policy::decide::{BudgetKey, budget_keys, reservations};
use crate::policy::report;
use crate::runtime::environment::Environment;

/// Settles the reservations of the call, writes one event per action, and keeps `cooldown.json` up to date
/// for those who read it. Never objects.
pub fn handle(
    call: &HookCall,
    tool: &ToolCall,
    result: &ToolResult,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let mut notes = Vec::new();
    let Some(acting) = ActingCall::after(call, tool, environment, now, &mut notes) else {
        return Answer::silent();
    };
    match write_down(&acting, result, environment) {
        Ok(counted) => {
            let success = *result == ToolResult::Succeeded;
            let edits: Vec<(&str, Edit)> = counted
                .iter()
                .map(|key| (key.service.as_str(), Edit::Add { kind: key.kind, at: now, success }))
                .collect();
            if let Err(error) = cooldown_edit::edit(&environment.cooldown_file(), &edits) {
                notes.push(error.to_string());
            }
        }
        Err(error) => {
            let note = format!("{error}; `{}` has run and is not written down", acting.evidence());
            let message = format!("Guard failed to count: {note}");
            notes.push(note);
            notes.extend(failures::report(environment, acting.id.session, &message, None, now));
        }
    }
    Answer::passing(notes)
}

/// The budgets that were drawn on.
fn write_down(
    acting: &ActingCall<'_>,
    result: &ToolResult,
    environment: &Environment,
) -> Result<Vec<BudgetKey>, LedgerError> {
    let policy = &acting.installation.policy;
    let mut ledger = Ledger::open(&environment.db_path)?;
    let change = ledger.change()?;
    let keys = budget_keys(&acting.actions, policy);
    let snapshot = change.usage(&keys, policy, acting.now)?;
    let actions = reservations(&acting.actions, &snapshot, policy);
    let settled = change.settle(acting.id, &acting.evidence(), &actions, result, acting.tier, acting.now)?;
    let Settled::Now(counted) = settled else { return Ok(vec![]) };
    for action in &acting.actions {
        change.add_event(acting.id.session, &report::event(action, result), acting.now)?;
    }
    let told = acting.actions.iter().any(|action| action.action.kind == ActionKind::Notification);
    if let Some(session) = acting.id.session.filter(|_| told && *result == ToolResult::Succeeded) {
        change.note_report(session, acting.now)?;
    }
    let kept = failures::write_down(&change, environment)?;
    change.note_time("post-tool-use", environment.started.elapsed(), acting.now)?;
    change.commit()?;
    failures::forget(kept);
    Ok(counted)
}
