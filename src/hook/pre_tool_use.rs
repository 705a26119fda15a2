//! Before a tool runs: the place where a command can be stopped.

use chrono::{DateTime, Utc};

use super::answer::Answer;
use crate::guard::acting::ActingCall;
use crate::guard::judge::judge;
use crate::model::event::{HookCall, ToolCall};
use crate::model::verdict::Verdict;
use crate::runtime::environment::Environment;

/// Denies, or says nothing. What is let through is reserved first.
pub fn handle(call: &HookCall, tool: &ToolCall, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let mut notes = Vec::new();
    let Some(acting) = ActingCall::before(call, tool, environment, now, &mut notes) else {
        // What could not be read is said, even where nothing in it seems to act.
        return Answer::passing(notes);
    };
    match judge(&acting, environment, &mut notes) {
        Verdict::Silent => Answer::passing(notes),
        // The client shows stderr to the model with a denial, so the remarks are left out.
        Verdict::Deny(reasons) => Answer::deny(&reasons),
    }
}
