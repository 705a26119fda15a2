//! A prompt was submitted: the wake-up summary, context warnings and reminders become context.

use super::context_warning;
use super::wake_up;
use crate::hooks::answer::{Answer, Remarks};
use crate::hooks::registry::{self, Details};
use crate::machine::link::lookup::Awaited;
use crate::machine::request::Request;
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::records::session::Activity;

/// Never blocks the prompt.
pub fn handle(call: &HookCall, prompt: &str, request: &Request) -> Answer {
    let mut remarks = Remarks::default();
    let recorded = registry::record(call, Some(&Activity::PromptSubmitted), Details::default(), request);
    let recorded = recorded.unwrap_or_default();
    if wake_up::is_asked_for(prompt) {
        wake_up::add_summary(call, recorded.paused, request, &mut remarks);
    }
    let warning = context_warning::due(call, &Awaited::Nothing, 0, request, &mut remarks.warnings);
    remarks.context.extend(warning);
    remarks.context.extend(recorded.reminder.map(str::to_owned));
    remarks.into_answer("UserPromptSubmit")
}
