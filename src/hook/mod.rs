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

use crate::model::event::{HookCall, HookEvent};
use crate::model::session::Activity;
use crate::runtime::environment::Environment;
use crate::runtime::warning::Warning;
use answer::Answer;

/// Serves one call. Invalid input is reported on stderr and allowed.
pub fn serve(stdin: &[u8], event: Option<&str>, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let mut answer = match wire::read(stdin, event, environment.session.as_deref()) {
        Ok(call) => handle(&call, environment, now),
        Err(error) => Answer::allow(vec![Warning::HookInput(error)]),
    };
    answer.warnings.splice(0..0, environment.warnings.iter().cloned().map(Warning::from));
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
