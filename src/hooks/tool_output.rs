//! Secrets in the output of a tool. The client accepts another output in its place, and the model reads only that; the
//! output of a tool that failed cannot be replaced.

use serde_json::{Value, json};

use super::answer::{Answer, Output};
use super::forward::Input;
use super::wire::response::ToolResponse;
use crate::guard::failures;
use crate::machine::installation;
use crate::machine::request::Request;
use opsctl_ledger::Ledger;
use opsctl_policy::model::records::event::{HookCall, NewEvent, ToolCall};
use opsctl_policy::texts::report::{secrets_redacted, secrets_shown};
use opsctl_redact::shortened;

/// The longest command or path in an event, in characters.
const SUBJECT_CHARS: usize = 160;

/// The secrets that the output of a tool contained.
pub struct FoundSecrets {
    /// The output without them; `None` if the tool failed.
    output: Option<Value>,
    /// The event of them.
    event: NewEvent,
}

/// Searches the output of a tool for secrets. `None` if there are none, or if the policy does not replace them.
pub fn search(tool: &ToolCall, input: Input<'_>, request: &Request) -> Option<FoundSecrets> {
    let mut response = ToolResponse::read(input.stdin);
    let mut error = Value::from(response.error());
    let found = match opsctl_redact::json(&mut response.output) {
        0 => FoundSecrets {
            event: Some(opsctl_redact::json(&mut error))
                .filter(|count| *count > 0)
                .map(|count| secrets_shown(count, &subject(tool, response.name())))?,
            output: None,
        },
        count => FoundSecrets {
            event: secrets_redacted(count, &subject(tool, response.name())),
            output: Some(response.output),
        },
    };
    installation::header_in_force(request).redact_output.then_some(found)
}

impl FoundSecrets {
    /// Adds the output without secrets to an answer that has no output of its own.
    pub fn replace(&mut self, answer: Answer) -> Answer {
        let Some(output) = self.output.take() else { return answer };
        let json = json!({"hookSpecificOutput": {
            "hookEventName": "PostToolUse",
            "updatedToolOutput": output,
            "additionalContext": "opsctl has replaced secrets in this output with `[redacted]`. Do not write `[redacted]` to a file in their place.",
        }});
        Answer { output: Output::RedactedJson(json), ..answer }
    }

    /// Records the event. If the ledger cannot be used, the failure is kept, and recorded later.
    pub fn record(&self, call: &HookCall, request: &Request) {
        let session = call.session.as_deref();
        let recorded = Ledger::note(&request.ledger, |change| {
            change.add_event(session, &self.event, change.now(request.now))
        });
        if let Err(error) = recorded {
            let message = format!("Guard failed to record an event: {}: {error}", self.event.message);
            // The answer is delivered, so that a notice that is not sent cannot be reported in it.
            let _ = failures::report(request, session, &message, None, request.now);
        }
    }
}

/// The command, the file or the tool, without secrets.
fn subject(tool: &ToolCall, name: &str) -> String {
    let text = match tool {
        ToolCall { command: Some(command), .. } => command,
        ToolCall { .. } => match tool.files.first() {
            Some(file) => &format!("{name} {}", file.path),
            None => name,
        },
    };
    shortened(text.trim(), SUBJECT_CHARS)
}
