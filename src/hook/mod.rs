//! The hook handlers: one file per event. Each turns a [`HookCall`] into an [`Answer`].

pub mod answer;
pub mod session_start;
pub mod wire;

mod context_warning;
mod ending;
mod notification;
mod post_tool_batch;
mod post_tool_use;
mod pre_tool_use;
mod registry;
mod session_context;
mod session_end;
mod stop;
mod stop_failure;
mod transcript;
mod user_prompt_submit;
mod wake_up;

use chrono::{DateTime, Utc};

use crate::guard::failures::{self, UnrecordedDecision};
use crate::model::event::{HookCall, HookEvent};
use crate::model::policy::OnFailure;
use crate::model::session::Activity;
use crate::model::verdict::Reason;
use crate::runtime::environment::Environment;
use crate::runtime::installation::in_force;
use crate::runtime::warning::Warning;
use answer::Answer;

/// Serves one call. `policy.on_failure` applies to invalid input.
pub fn serve(stdin: &[u8], event: Option<&str>, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let mut answer = match wire::read(stdin, event, environment.session.as_deref()) {
        Ok(call) => handle(&call, environment, now),
        Err(error) => unreadable(&error.to_string(), event, environment, now),
    };
    answer.warnings.splice(0..0, environment.warnings.iter().cloned().map(Warning::from));
    answer
}

/// The answer to input that cannot be read: `policy.on_failure` applies before a tool runs.
pub fn unreadable(error: &str, event: Option<&str>, environment: &Environment, now: DateTime<Utc>) -> Answer {
    if event != Some("pre-tool-use")
        || in_force(environment, &mut vec![]).installation.policy.on_failure == OnFailure::Open
    {
        return Answer::allow(vec![Warning::HookInput(error.to_owned())]);
    }
    let text = format!(
        "Denied: invalid hook input ({error}), so the call cannot be checked, and policy.on_failure is closed. An operator has to set up the hooks with `opsctl render`."
    );
    let decision = UnrecordedDecision { verdict: "fail-closed", actions: "", services: String::new() };
    let message = format!("Guard failed closed: {text}");
    let unsent = failures::report(environment, environment.session.as_deref(), &message, Some(decision), now);
    let mut answer = Answer::deny(&[Reason { rule: "on_failure", text }]);
    answer.warnings.extend(unsent);
    answer
}

fn handle(call: &HookCall, environment: &Environment, now: DateTime<Utc>) -> Answer {
    match &call.event {
        HookEvent::PreToolUse(tool) => pre_tool_use::handle(call, tool, environment, now),
        HookEvent::PostToolUse(tool, result) => post_tool_use::handle(call, tool, result, environment, now),
        HookEvent::SessionStart(start) => session_start::handle(call, start, environment, now),
        HookEvent::UserPromptSubmit { prompt } => user_prompt_submit::handle(call, prompt, environment, now),
        HookEvent::PostToolBatch { calls, agent } => {
            post_tool_batch::handle(call, calls, agent.as_deref(), environment, now)
        }
        HookEvent::SessionEnd { reason } => session_end::handle(call, reason.as_deref(), environment, now),
        HookEvent::Notification { title, message } => {
            notification::handle(call, title.as_deref(), message, environment, now)
        }
        HookEvent::StopFailure { error, message } => {
            stop_failure::handle(call, error.as_deref(), message.as_deref(), environment, now)
        }
        HookEvent::Stop { blocked_before, last_message } => {
            stop::handle(call, *blocked_before, last_message, environment, now)
        }
        HookEvent::ToolStart { call: id, agent } => registry::handle(
            call,
            &Activity::ToolStarted { call: id, agent: agent.as_deref() },
            environment,
            now,
        ),
        HookEvent::SubagentStart(subagent) => {
            registry::handle(call, &Activity::SubagentStarted(subagent), environment, now)
        }
        HookEvent::SubagentStop(subagent) => {
            registry::handle(call, &Activity::SubagentStopped(subagent), environment, now)
        }
        HookEvent::Other(_) => Answer::silent(),
    }
}
