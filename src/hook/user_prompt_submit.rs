//! A prompt was submitted: the wake-up summary, context warnings and reminders become context.

use chrono::{DateTime, Utc};

use super::answer::{Answer, Remarks};
use super::context_warning;
use super::registry::{self, Details};
use super::wake_up;
use crate::context::usage::Awaited;
use crate::model::event::HookCall;
use crate::model::session::Activity;
use crate::runtime::environment::Environment;

/// Never blocks the prompt.
pub fn handle(call: &HookCall, prompt: &str, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let mut remarks = Remarks::default();
    let recorded =
        registry::record(call, Some(&Activity::PromptSubmitted), Details::default(), environment, now);
    let recorded = recorded.unwrap_or_default();
    if wake_up::is_asked_for(prompt) {
        wake_up::add_summary(call, recorded.before.paused, environment, now, &mut remarks);
    }
    remarks.context.extend(context_warning::due(
        call,
        Awaited::Nothing,
        0,
        environment,
        now,
        &mut remarks.warnings,
    ));
    remarks.context.extend(recorded.reminder.map(str::to_owned));
    remarks.into_answer("UserPromptSubmit")
}
