//! The input and the answer of a hook, as they are sent to the guard and back.

use std::time::Duration;

use serde_json::Value;

use super::answer::{Answer, Output};
use super::lookups;
use crate::machine::guard_link;
use crate::machine::link::address::Address;
use crate::machine::link::caller::LinkError;
use crate::machine::link::message::{AnswerWire, Call, Reply};
use crate::machine::request::Request;
use crate::machine::warning::Warning;

/// The input of a hook.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The client's JSON.
    pub stdin: &'a [u8],
    /// The event in kebab case; `None` if the input states it.
    pub event: Option<&'a str>,
}

/// Has the guard serve one event.
pub fn serve(
    guard: &Address,
    input: Input<'_>,
    request: &Request,
    limit: Duration,
) -> Result<Answer, LinkError> {
    let call = Call::Event { event: input.event.map(str::to_owned) };
    let mut look = |question: &_| lookups::answer(question, request);
    match guard_link::call(guard, call, input.stdin, request, limit, &mut look)? {
        Reply::Answer(answer) => Ok(answer.into()),
        _ => Err(guard_link::unexpected()),
    }
}

/// An answer as it is sent, without secrets: the reader knows only those of its own environment.
pub fn to_wire(answer: Answer) -> AnswerWire {
    let text = |text: &str| opsctl_redact::text(text).into_owned();
    let mut wire = AnswerWire {
        denial: answer.denial.as_deref().map(text),
        warnings: answer.warnings.iter().map(|warning| text(&warning.to_string())).collect(),
        ..AnswerWire::default()
    };
    match answer.output {
        Output::Nothing => {}
        Output::Json(mut json) | Output::RedactedJson(mut json) => {
            opsctl_redact::json(&mut json);
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
    use opsctl_policy::model::records::verdict::Reason;

    #[test]
    fn an_answer_arrives_as_it_was_given() {
        let denied = || Answer::deny(&[Reason { rule: "budget", text: "No.".into(), topic: None }]);
        let arrived = Answer::from(to_wire(denied()));
        assert_eq!(
            (arrived.denial, arrived.output.to_string()),
            (denied().denial, denied().output.to_string())
        );
        let context = Answer::context("tab\tand\nline".to_owned(), vec![Warning::EventUnread("x".into())]);
        let text = context.warnings[0].to_string();
        let arrived = Answer::from(to_wire(context));
        assert_eq!((arrived.denial, arrived.output.to_string().as_str()), (None, "tab\tand\nline"));
        assert_eq!(arrived.warnings[0].to_string(), text);
        assert!(matches!(Answer::from(to_wire(Answer::silent())).output, Output::Nothing));
    }
}
