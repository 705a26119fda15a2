//! A prompt is about to be read: what the agent should know beside it becomes context.

use chrono::{DateTime, Utc};

use super::answer::{Answer, Remarks};
use super::context_warning;
use super::registry::{self, Known};
use super::wake_up;
use crate::context::usage::Awaited;
use crate::model::event::HookCall;
use crate::model::session::Sign;
use crate::runtime::environment::Environment;

/// Never objects.
pub fn handle(call: &HookCall, prompt: &str, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let mut remarks = Remarks::default();
    let noted = registry::note(call, Some(&Sign::Prompted), Known::default(), environment, now);
    let noted = noted.unwrap_or_default();
    if wake_up::is_asked_for(prompt) {
        wake_up::tell(call, noted.before.paused, environment, now, &mut remarks);
    }
    remarks.context.extend(context_warning::news(
        call,
        Awaited::Nothing,
        0,
        environment,
        now,
        &mut remarks.notes,
    ));
    remarks.context.extend(noted.reminder.map(str::to_owned));
    remarks.into_answer("UserPromptSubmit")
}
