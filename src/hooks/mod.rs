//! The hooks: each call becomes an [`Answer`].

pub mod answer;
pub mod wire;

pub mod context;
pub mod events;
pub mod forward;
mod guarded;
pub mod lookups;
pub mod preview;
mod registry;
mod session_context;
mod tool_output;
mod transcript;
pub mod undelivered;

use std::fmt::Display;

use thiserror::Error;

use crate::guard::failures::{self, UnrecordedDecision};
use crate::guard::screen;
use crate::machine::installation::{header_in_force, in_force};
use crate::machine::request::Request;
use crate::machine::started;
use crate::machine::warning::Warning;
use answer::Answer;
use events::{post_tool_use, pre_tool_use};
use forward::Input;
use opsctl_policy::model::records::event::HookCall;
use opsctl_policy::model::rights::policy::OnFailure;
use wire::{HookEvent, InputError, Read};

/// The argument of `opsctl hook` for the event before a tool runs.
const PRE_TOOL_USE: &str = "pre-tool-use";

/// Why a hook cannot serve its event.
#[derive(Debug, Error)]
pub enum Unserved {
    /// The input could not be read to its end.
    #[error("hook input is incomplete: {0}")]
    Incomplete(String),
    /// The input is not that of an event.
    #[error("invalid hook input: {0}")]
    Invalid(#[from] InputError),
    /// opsctl has panicked.
    #[error("a defect of opsctl stopped this check")]
    Defect,
}

impl Unserved {
    /// What an operator has to do.
    const fn remedy(&self) -> &'static str {
        match self {
            Self::Incomplete(_) => "check the client and the programs that start it",
            Self::Invalid(InputError::OtherClient) => {
                "use one of these clients, with the hooks that `opsctl render` writes"
            }
            Self::Invalid(_) => "set up the hooks with `opsctl render`",
            Self::Defect => "report the defect",
        }
    }
}

/// Serves one call. A denial is delivered before it is recorded.
pub fn serve(stdin: &[u8], event: Option<&str>, request: &Request, deliver: impl FnOnce(Answer)) {
    match wire::read(stdin, event, request.session.as_deref()) {
        Ok(Read { client, translated, call, event: happened }) => {
            let deliver = |answer| deliver(with_warnings(answer, request).for_client(client));
            let input = match &translated {
                Some(text) => Input { stdin: text.as_bytes(), event: None },
                None => Input { stdin, event },
            };
            handle(&call, &happened, input, request, deliver);
        }
        Err(error) => unserved(&error.into(), event, request, deliver),
    }
}

/// Answers an event that cannot be served. What may be a tool call is allowed or denied by `policy.on_failure`, and denied
/// where only calls may run that are known to only read. The failure is recorded at every event, because nothing else of
/// the event is.
pub fn unserved(problem: &Unserved, event: Option<&str>, request: &Request, deliver: impl FnOnce(Answer)) {
    // Input that cannot be read may be of any event.
    let is_call = event.is_none_or(|event| event == PRE_TOOL_USE);
    let report = |way: &str, text: &dyn Display| {
        let decision = UnrecordedDecision { verdict: format!("fail-{way}"), ..UnrecordedDecision::default() };
        let way = if is_call { way } else { "to read an event" };
        let message = format!("Guard failed {way}: {text}");
        let decision = is_call.then_some(decision);
        failures::report(request, request.session.as_deref(), &message, decision, request.now)
    };
    if let Some(why) = is_call.then(|| reason_to_deny(problem, request)).flatten() {
        let remedy = problem.remedy();
        let text = format!(
            "Denied: {problem}, so the call cannot be checked, and {why}. An operator has to {remedy}."
        );
        deliver(Answer::deny_any(text.clone()));
        // The client shows stderr to the model with a denial, so a warning is left out.
        let _ = report("closed", &text);
        return;
    }
    let warning = if is_call { Warning::CallUnread } else { Warning::EventUnread }(problem.to_string());
    let unsent = report("open", &warning);
    deliver(with_warnings(Answer::allow(std::iter::once(warning).chain(unsent).collect()), request));
}

/// The answer, after the warnings about the environment.
fn with_warnings(mut answer: Answer, request: &Request) -> Answer {
    answer.warnings.splice(0..0, request.warnings.iter().cloned().map(Warning::from));
    answer
}

/// Why a call that cannot be checked is denied; `None` if it is allowed unchecked. The limits with which the session was
/// started apply.
fn reason_to_deny(problem: &Unserved, request: &Request) -> Option<&'static str> {
    let policy = in_force(request, &mut vec![]).installation.policy;
    if policy.monitor.everything {
        return None;
    }
    if matches!(problem, Unserved::Invalid(InputError::OtherClient)) {
        return Some("no other client is served");
    }
    if policy.on_failure == OnFailure::Closed {
        return Some("policy.on_failure is closed");
    }
    let limited = started::restored(request);
    let limited = limited.as_ref().unwrap_or(request);
    (!screen::with(&header_in_force(limited), limited, |screen| screen.allows_unknown()))
        .then_some("this session may only run what is known to only read")
}

fn handle(
    call: &HookCall,
    event: &HookEvent,
    input: Input<'_>,
    request: &Request,
    deliver: impl FnOnce(Answer),
) {
    match event {
        HookEvent::PreToolUse(tool) => pre_tool_use::handle(call, tool, input, request, deliver),
        HookEvent::PostToolUse(tool, result) => {
            post_tool_use::handle(call, tool, result, input, request, deliver);
        }
        HookEvent::Other(_) => deliver(Answer::silent()),
        other => deliver(if let Some((guard, request)) = guarded::guarded(request) {
            guarded::slow(&guard, input, &request)
        } else {
            undelivered::record(request);
            events::answer(other, call, request)
        }),
    }
}
