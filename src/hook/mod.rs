//! The hook handlers: one file per event. Each turns a [`HookCall`] into an [`Answer`].

pub mod answer;
pub mod session_start;
pub mod wire;

mod context_warning;
mod ending;
mod finished;
pub mod forward;
mod guarded;
pub mod lookups;
mod notification;
mod post_tool_batch;
mod post_tool_use;
mod pre_tool_use;
pub mod preview;
mod registry;
mod session_context;
mod session_end;
mod session_files;
mod stop;
mod stop_failure;
mod transcript;
pub mod undelivered;
mod user_prompt_submit;
mod wake_up;

use chrono::{DateTime, Utc};

use crate::guard::failures::{self, UnrecordedDecision};
use crate::guard::screen;
use crate::model::event::{HookCall, HookEvent};
use crate::model::policy::OnFailure;
use crate::model::session::Activity;
use crate::model::verdict::Reason;
use crate::runtime::environment::Environment;
use crate::runtime::installation::in_force;
use crate::runtime::warning::Warning;
use answer::Answer;
use forward::Input;

/// The argument of `opsctl hook` for the event before a tool runs.
const PRE_TOOL_USE: &str = "pre-tool-use";

/// Serves one call. `policy.on_failure` applies to invalid input. A denial is delivered before it is recorded.
pub fn serve(
    stdin: &[u8],
    event: Option<&str>,
    environment: &Environment,
    now: DateTime<Utc>,
    deliver: impl FnOnce(Answer),
) {
    let deliver = |mut answer: Answer| {
        answer.warnings.splice(0..0, environment.warnings.iter().cloned().map(Warning::from));
        deliver(answer);
    };
    match wire::read(stdin, event, environment.session.as_deref()) {
        Ok(call) => handle(&call, Input { stdin, event }, environment, now, deliver),
        Err(error) => invalid(&format!("not the client's JSON: {error}"), event, environment, now, deliver),
    }
}

/// Answers input that is not the client's JSON: `policy.on_failure` applies before a tool runs.
fn invalid(
    error: &str,
    event: Option<&str>,
    environment: &Environment,
    now: DateTime<Utc>,
    deliver: impl FnOnce(Answer),
) {
    let Some(why) = reason_to_deny(event, environment) else {
        return deliver(Answer::allow(vec![Warning::HookInput(error.to_owned())]));
    };
    let problem = format!("invalid hook input ({error})");
    deny_unchecked(&problem, (why, "set up the hooks with `opsctl render`"), environment, now, deliver);
}

/// Answers input that could not be read to its end: `policy.on_failure` applies before a tool runs. The failure is
/// recorded at every event, because nothing else of the event is.
pub fn unread(
    error: &str,
    event: Option<&str>,
    environment: &Environment,
    now: DateTime<Utc>,
    deliver: impl FnOnce(Answer),
) {
    let problem = format!("hook input is incomplete: {error}");
    if let Some(why) = reason_to_deny(event, environment) {
        let reasons = (why, "check the client and the programs that start it");
        return deny_unchecked(&problem, reasons, environment, now, deliver);
    }
    let (way, warning, decision) = if event == Some(PRE_TOOL_USE) {
        let decision = UnrecordedDecision { verdict: "fail-open", actions: "", services: String::new() };
        ("open", Warning::CallUnread(problem), Some(decision))
    } else {
        ("to read an event", Warning::EventUnread(problem), None)
    };
    let message = format!("Guard failed {way}: {warning}");
    let unsent = failures::report(environment, environment.session.as_deref(), &message, decision, now);
    deliver(Answer::allow(std::iter::once(warning).chain(unsent).collect()));
}

/// Why a call is denied if its input is not available; `None` if it is allowed unchecked, or at another event.
fn reason_to_deny(event: Option<&str>, environment: &Environment) -> Option<&'static str> {
    if event != Some(PRE_TOOL_USE) {
        return None;
    }
    if in_force(environment, &mut vec![]).installation.policy.on_failure == OnFailure::Closed {
        return Some("policy.on_failure is closed");
    }
    (!screen::allows_unknown(environment)).then_some("this session may only run what is known to only read")
}

/// Denies a tool call that cannot be checked, with the reason and the remedy, and records the failure.
fn deny_unchecked(
    problem: &str,
    (why, remedy): (&str, &str),
    environment: &Environment,
    now: DateTime<Utc>,
    deliver: impl FnOnce(Answer),
) {
    let text =
        format!("Denied: {problem}, so the call cannot be checked, and {why}. An operator has to {remedy}.");
    let message = format!("Guard failed closed: {text}");
    deliver(Answer::deny(&[Reason { rule: "on_failure", topic: None, text }]));
    let decision = UnrecordedDecision { verdict: "fail-closed", actions: "", services: String::new() };
    // The client shows stderr to the model with a denial, so a warning is left out.
    let _ = failures::report(environment, environment.session.as_deref(), &message, Some(decision), now);
}

fn handle(
    call: &HookCall,
    input: Input<'_>,
    environment: &Environment,
    now: DateTime<Utc>,
    deliver: impl FnOnce(Answer),
) {
    match &call.event {
        HookEvent::PreToolUse(tool) => pre_tool_use::handle(call, tool, input, environment, now, deliver),
        HookEvent::PostToolUse(tool, result) => {
            deliver(post_tool_use::handle(call, tool, result, input, environment, now));
        }
        HookEvent::Other(_) => deliver(Answer::silent()),
        other => deliver(if let Some((guard, environment)) = guarded::guarded(environment) {
            guarded::slow(&guard, input, &environment)
        } else {
            undelivered::record(environment);
            answer(other, call, environment, now)
        }),
    }
}

/// The answer to an event without a tool call.
fn answer(event: &HookEvent, call: &HookCall, environment: &Environment, now: DateTime<Utc>) -> Answer {
    match event {
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
        HookEvent::PreToolUse(_) | HookEvent::PostToolUse(..) | HookEvent::Other(_) => Answer::silent(),
    }
}
