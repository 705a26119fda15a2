//! A prompt is about to be read: what the agent should know beside it becomes context.

use chrono::{DateTime, Utc};

use super::answer::{Answer, Remarks};
use super::context_warning;
use crate::context::usage::Awaited;
use crate::model::event::HookCall;
use crate::runtime::environment::Environment;

/// Never objects.
pub fn handle(call: &HookCall, _: &str, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let mut remarks = Remarks::default();
    remarks.context.extend(context_warning::news(
        call,
        Awaited::Nothing,
        0,
        environment,
        now,
        &mut remarks.notes,
    ));
    remarks.into_answer("UserPromptSubmit")
}
