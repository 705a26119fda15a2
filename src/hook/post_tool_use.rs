//! After a tool has run: what it did is settled and told.

use chrono::{DateTime, Utc};

use super::answer::Answer;
use crate::guard::acting::ActingCall;
use crate::ledger::{Ledger, LedgerError, Settled};
use crate::model::event::{HookCall, ToolCall, ToolResult};
use crate::policy::decide::{budget_keys, reservations};
use crate::policy::report;
use crate::runtime::environment::Environment;

/// Settles the reservations of the call and writes one event per action. Never objects.
pub fn handle(
    call: &HookCall,
    tool: &ToolCall,
    result: &ToolResult,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let mut notes = Vec::new();
    if let Some(acting) = ActingCall::read(call, tool, environment, now, &mut notes)
        && let Err(error) = write_down(&acting, result, environment)
    {
        notes.push(format!("{error}; `{}` has run and is not written down", acting.evidence()));
    }
    Answer::passing(notes)
}

fn write_down(
    acting: &ActingCall<'_>,
    result: &ToolResult,
    environment: &Environment,
) -> Result<(), LedgerError> {
    let policy = &acting.installation.policy;
    let mut ledger = Ledger::open(&environment.db_path)?;
    let change = ledger.change()?;
    let keys = budget_keys(&acting.actions, policy);
    if !keys.is_empty() {
        let snapshot = change.usage(&keys, policy, acting.now)?;
        let actions = reservations(&acting.actions, &snapshot, policy);
        if change.settle(acting.id, &actions, result, acting.tier, acting.now)? == Settled::Before {
            return Ok(());
        }
    }
    for action in &acting.actions {
        change.add_event(acting.id.session, &report::event(action, result), acting.now)?;
    }
    change.commit()
}
