//! Hooks as clients of a guard that is a process of its own (`CLAUDEOPS_GUARD`).
//!
//! The guard runs the handlers of this module's siblings on the same input, and answers; this process only delivers the
//! answer. If the guard does not answer, `policy.on_failure` applies before a tool runs, and the report of a finished call is
//! kept (`undelivered`).

use std::time::Duration;

use serde_json::Value;

use super::answer::{Answer, Output};
use super::{lookups, undelivered};
use crate::link::address::Address;
use crate::link::caller::LinkError;
use crate::link::message::{AnswerWire, Call, Reply};
use crate::redact;
use crate::runtime::environment::Environment;
use crate::runtime::guard_link::{self, QUICK, SLOW};
use crate::runtime::warning::Warning;
use crate::runtime::started;

/// The input of a hook.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The client's JSON.
    pub stdin: &'a [u8],
    /// The event in kebab case; `None` if the input states it.
    pub event: Option<&'a str>,
}

/// The environment with which the session was started, if a guard serves this process.
pub fn guarded(environment: &Environment) -> Option<(Address, Environment)> {
    let limited = started::restored(environment).unwrap_or_else(|| environment.clone());
    limited.guard.clone().map(|guard| (guard, limited))
}

/// Asks the guard about a call that is about to run, or reports one that has run.
pub fn quick(guard: &Address, input: Input<'_>, environment: &Environment) -> Result<Answer, LinkError> {
    undelivered::deliver(guard, environment)?;
    serve(guard, input, environment, QUICK)
}

/// Has the guard serve any other event.
pub fn slow(guard: &Address, input: Input<'_>, environment: &Environment) -> Answer {
    let served = undelivered::deliver(guard, environment).and_then(|()| serve(guard, input, environment, SLOW));
    served.unwrap_or_else(|error| Answer::allow(vec![Warning::Unserved(error)]))
}

/// Reports a call that has run. A report that does not arrive is kept.
pub fn report(guard: &Address, input: Input<'_>, environment: &Environment) -> Answer {
    match quick(guard, input, environment) {
        Ok(answer) => answer,
        Err(error) => Answer::allow(vec![match undelivered::keep(input, environment) {
            Ok(()) => Warning::ReportKept(error),
            Err(cause) => Warning::ReportLost(error, cause),
        }]),
    }
}

/// Has the guard serve one event.
pub(super) fn serve(
    guard: &Address,
    input: Input<'_>,
    environment: &Environment,
    limit: Duration,
) -> Result<Answer, LinkError> {
    let call = Call::Event { event: input.event.map(str::to_owned) };
    let mut look = |question: &_| lookups::answer(question, environment);
    match guard_link::call(guard, call, input.stdin, environment, limit, &mut look)? {
        Reply::Answer(answer) => Ok(answer.into()),
        _ => Err(guard_link::unexpected()),
    }
}

/// An answer as it is sent, without secrets: the reader knows only those of its own environment.
pub fn to_wire(answer: Answer) -> AnswerWire {
    let text = |text: &str| redact::text(text).into_owned();
    let mut wire = AnswerWire {
        denial: answer.denial.as_deref().map(text),
        warnings: answer.warnings.iter().map(|warning| text(&warning.to_string())).collect(),
        ..AnswerWire::default()
    };
    match answer.output {
        Output::Nothing => {}
        Output::Json(mut json) => {
            redact::json(&mut json);
            wire.json = Some(json);
        }
        Output::Context(context) => wire.context = Some(text(&context)),
    }
    wire
}

impl From<AnswerWire> for Answer {
    fn from(wire: AnswerWire) -> Self {
        let output = match (wire.json, wire.context) {
            (Some(json), _) if json != Value::Null => Output::Json(json),
            (_, Some(context)) => Output::Context(context),
            (_, None) => Output::Nothing,
        };
        Self {
            denial: wire.denial,
            output,
            warnings: wire.warnings.into_iter().map(Warning::OfGuard).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::Reason;

    #[test]
    fn an_answer_arrives_as_it_was_given() {
        let denied = || Answer::deny(&[Reason { rule: "budget", text: "No.".into() }]);
        let arrived = Answer::from(to_wire(denied()));
        assert_eq!((arrived.denial, arrived.output.to_string()), (denied().denial, denied().output.to_string()));
        let context = Answer::context("tab\tand\nline".to_owned(), vec![Warning::UnreadableCommand]);
        let text = context.warnings[0].to_string();
        let arrived = Answer::from(to_wire(context));
        assert_eq!((arrived.denial, arrived.output.to_string().as_str()), (None, "tab\tand\nline"));
        assert_eq!(arrived.warnings[0].to_string(), text);
        assert!(matches!(Answer::from(to_wire(Answer::silent())).output, Output::Nothing));
    }
}
