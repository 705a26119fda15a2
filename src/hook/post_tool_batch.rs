//! All tools of a message have run: what the agent should know before it goes on becomes context.

use chrono::{DateTime, Utc};

use super::answer::{Answer, Remarks};
use super::context_warning;
use super::registry::{self, Known};
use crate::context::usage::Awaited;
use crate::model::event::HookCall;
use crate::model::session::Sign;
use crate::runtime::environment::Environment;

/// Never objects.
pub fn handle(
    call: &HookCall,
    calls: &[String],
    agent: Option<&str>,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let mut remarks = Remarks::default();
    // A subagent has a context of its own, and the record is the session's.
    if agent.is_none() {
        let awaited = calls.last().map_or(Awaited::Nothing, |id| Awaited::Call(id));
        remarks.context.extend(context_warning::news(call, awaited, 0, environment, now, &mut remarks.notes));
    }
    let sign = Sign::ToolsDone { calls, agent };
    if let Ok(noted) = registry::note(call, Some(&sign), Known::default(), environment, now) {
        remarks.context.extend(noted.reminder.map(str::to_owned));
    }
    remarks.into_answer("PostToolBatch")
}
