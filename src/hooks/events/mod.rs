//! One handler for each event of the client.

pub mod context_warning;
pub mod notification;
mod objections;
pub mod post_tool_batch;
pub mod post_tool_use;
pub mod pre_tool_use;
pub mod session_end;
pub mod session_start;
pub mod stop;
pub mod stop_failure;
pub mod user_prompt_submit;
pub mod wake_up;

use super::answer::Answer;
use super::registry;
use super::wire::HookEvent;
use crate::machine::request::Request;
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::records::session::Activity;

/// The answer to an event without a tool call.
pub fn answer(event: &HookEvent, call: &HookCall, request: &Request) -> Answer {
    match event {
        HookEvent::SessionStart(start) => session_start::handle(call, start, request),
        HookEvent::UserPromptSubmit { prompt } => user_prompt_submit::handle(call, prompt, request),
        HookEvent::PostToolBatch { calls, refused, agent } => {
            post_tool_batch::handle(call, calls, refused, agent.as_deref(), request)
        }
        HookEvent::SessionEnd { reason } => session_end::handle(call, reason.as_deref(), request),
        HookEvent::Notification { title, message } => {
            notification::handle(call, title.as_deref(), message, request)
        }
        HookEvent::StopFailure { error, message } => {
            stop_failure::handle(call, error.as_deref(), message.as_deref(), request)
        }
        HookEvent::Stop { blocked_before, last_message } => {
            stop::handle(call, *blocked_before, last_message, request)
        }
        HookEvent::ToolStart { call: id, agent } => {
            registry::handle(call, &Activity::ToolStarted { call: id, agent: agent.as_deref() }, request)
        }
        HookEvent::SubagentStart(subagent) => {
            registry::handle(call, &Activity::SubagentStarted(subagent), request)
        }
        HookEvent::SubagentStop(subagent) => {
            registry::handle(call, &Activity::SubagentStopped(subagent), request)
        }
        HookEvent::PreToolUse(_) | HookEvent::PostToolUse(..) | HookEvent::Other(_) => Answer::silent(),
    }
}
