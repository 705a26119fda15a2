//! All tools of a message have run: what the agent should know before it goes on becomes context.

use chrono::{DateTime, Utc};

use super::answer::{Answer, Remarks};
use crate::model::event::HookCall;
use crate::runtime::environment::Environment;

/// Never objects.
pub fn handle(_: &HookCall, _: &[String], _: Option<&str>, _: &Environment, _: DateTime<Utc>) -> Answer {
    let remarks = Remarks::default();
    remarks.into_answer("PostToolBatch")
}
