//! All tools of a message have run: context warnings and reminders become context.

use super::context_warning;
use crate::hooks::answer::{Answer, Remarks};
use crate::hooks::registry::{self, Details};
use crate::machine::link::lookup::Awaited;
use crate::machine::request::Request;
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::records::session::Activity;

/// Never blocks.
pub fn handle(call: &HookCall, calls: &[String], agent: Option<&str>, request: &Request) -> Answer {
    let mut remarks = Remarks::default();
    // A subagent has its own context, and the transcript is that of the main agent.
    if agent.is_none() {
        let awaited = calls.last().map_or(Awaited::Nothing, |id| Awaited::Call(id.clone()));
        remarks.context.extend(context_warning::due(call, &awaited, 0, request, &mut remarks.warnings));
    }
    let activity = Activity::ToolsFinished { calls, agent };
    if let Ok(recorded) = registry::record(call, Some(&activity), Details::default(), request) {
        remarks.context.extend(recorded.reminder.map(str::to_owned));
    }
    remarks.into_answer("PostToolBatch")
}
