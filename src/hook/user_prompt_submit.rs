//! A prompt is about to be read: what the agent should know beside it becomes context.

use chrono::{DateTime, Utc};

use super::answer::{Answer, Remarks};
use crate::model::event::HookCall;
use crate::runtime::environment::Environment;

/// Never objects.
pub fn handle(_: &HookCall, _: &str, _: &Environment, _: DateTime<Utc>) -> Answer {
    let remarks = Remarks::default();
    remarks.into_answer("UserPromptSubmit")
}
