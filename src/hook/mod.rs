//! The hook handlers: one file per event. Each turns a [`HookCall`] into an [`Answer`].

pub mod answer;
pub mod session_start;
pub mod wire;
mod wire_session;

mod context_warning;
mod ending;
mod mcp;
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
use crate::model::session::Sign;
use crate::runtime::environment::Environment;
use answer::Answer;

/// The events that `opsctl hook` takes as an argument, in kebab case: all that the client has, the usual ones first.
/// Without a handler an event passes.
pub const EVENTS: [&str; 33] = [
    "session-start",
    "user-prompt-submit",
    "pre-tool-use",
    "post-tool-use",
    "post-tool-use-failure",
    "post-tool-batch",
    "subagent-start",
    "subagent-stop",
    "stop",
    "stop-failure",
    "session-end",
    "notification",
    "pre-compact",
    "user-prompt-expansion",
    "post-compact",
    "pre-model-switch",
    "post-model-switch",
    "permission-request",
    "permission-denied",
    "setup",
    "teammate-idle",
    "task-created",
    "task-completed",
    "elicitation",
    "elicitation-result",
    "config-change",
    "worktree-create",
    "worktree-remove",
    "instructions-loaded",
    "cwd-changed",
    "file-changed",
    "directory-added",
    "message-display",
];

/// A further argument: what PreToolUse tells of a session's state, in a hook that the client does not wait for.
pub const SESSION_STATE: &str = "session-state";

/// Serves one call. Input that cannot be read is reported and objected to by nobody: what the client
/// means cannot be told from it.
pub fn serve(stdin: &[u8], event: Option<&str>, environment: &Environment, now: DateTime<Utc>) -> Answer {
    let mut answer = match wire::read(stdin, event, environment.session.as_deref()) {
        Ok(call) => handle(&call, environment, now),
        Err(error) => Answer::passing(vec![format!(
            "hook input is not the client's JSON ({error}); nothing was checked: let the client call it, as `opsctl render` sets it up"
        )]),
    };
    answer.notes.splice(0..0, environment.complaints.iter().cloned());
    answer
}

fn handle(call: &HookCall, environment: &Environment, now: DateTime<Utc>) -> Answer {
    match &call.event {
        HookEvent::PreToolUse(tool) => pre_tool_use::handle(call, tool, environment, now),
        HookEvent::PostToolUse(tool, result) => post_tool_use::handle(call, tool, result, environment, now),
        HookEvent::SessionStart(beginning) => session_start::handle(call, beginning, environment, now),
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
        HookEvent::Stop { again, words } => stop::handle(call, *again, words, environment, now),
        HookEvent::ToolBegins { call: id, agent } => {
            registry::handle(call, &Sign::ToolBegins { call: id, agent: agent.as_deref() }, environment, now)
        }
        HookEvent::SubagentStart(subagent) => {
            registry::handle(call, &Sign::SubagentBegins(subagent), environment, now)
        }
        HookEvent::SubagentStop(subagent) => {
            registry::handle(call, &Sign::SubagentEnds(subagent), environment, now)
        }
        HookEvent::Other(_) => Answer::silent(),
    }
}
