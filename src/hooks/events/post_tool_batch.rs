//! All tools of a message have run: what was reserved for calls that no hook has reported is settled, and context warnings
//! and reminders become context.

use super::context_warning;
use crate::hooks::answer::{Answer, Remarks};
use crate::hooks::registry::{self, Details};
use crate::hooks::undelivered;
use crate::machine::link::lookup::Awaited;
use crate::machine::request::Request;
use crate::machine::unreported::{self, Unreported};
use crate::machine::warning::Warning;
use opsctl_ledger::{Ledger, Open, Result};
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::records::session::Activity;

/// Never blocks. `refused` are the calls that the client has refused.
pub fn handle(
    call: &HookCall,
    calls: &[String],
    refused: &[String],
    agent: Option<&str>,
    request: &Request,
) -> Answer {
    let mut remarks = Remarks::default();
    // A subagent has its own context, and the transcript is that of the main agent.
    if agent.is_none() {
        let awaited = calls.last().map_or(Awaited::Nothing, |id| Awaited::Call(id.clone()));
        remarks.context.extend(context_warning::due(call, &awaited, 0, request, &mut remarks.warnings));
    }
    let activity = Activity::ToolsFinished { calls, agent };
    if let Ok(recorded) = registry::record(call, Some(&activity), Details::default(), request) {
        remarks.context.extend(recorded.reminder.map(str::to_owned));
        if let Some(session) = call.session.as_deref().filter(|_| !recorded.open.is_empty()) {
            match settle(session, &recorded.open, refused, request) {
                Ok(warnings) => remarks.warnings.extend(warnings),
                // It counts until the end of the session settles it.
                Err(error) => remarks.warnings.push(Warning::OpenReservations(error)),
            }
        }
    }
    remarks.into_answer("PostToolBatch")
}

/// Releases what the client has refused; anything else ran, and the hook after it failed.
fn settle(session: &str, open: &[String], refused: &[String], request: &Request) -> Result<Vec<Warning>> {
    undelivered::record(request);
    let unreported = Ledger::write(&request.ledger, |change| {
        let mut unreported = Unreported::default();
        change.release_calls(session, refused)?;
        for call in open {
            let open = Open::OfCall(session, call);
            unreported.settle(change, open, unreported::NOT_REPORTED, request, request.now)?;
        }
        Ok(unreported)
    })?;
    Ok(unreported.publish(request))
}
