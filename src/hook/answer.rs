//! What a handler answers, and the form in which the client honours it.

use serde::Serialize;

use crate::model::verdict::Reason;

/// The answer to one call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Why the call is denied: exit code 2, and the words that the client shows to the model.
    pub denial: Option<String>,
    /// The client's JSON, or text that becomes context.
    pub stdout: String,
    /// Remarks for the log, one line each.
    pub notes: Vec<String>,
}

impl Answer {
    /// No objection and nothing to say.
    pub fn silent() -> Self {
        Self::default()
    }

    /// No objection, with remarks for the log.
    pub fn passing(notes: Vec<String>) -> Self {
        Self { notes, ..Self::default() }
    }

    /// Text that becomes context of the session.
    pub fn context(text: String, notes: Vec<String>) -> Self {
        Self { denial: None, stdout: text, notes }
    }

    /// A denial of a tool call.
    ///
    /// All releases of the client honour exit code 2 with the reason on stderr; the JSON says the same to
    /// those that read it. Its keys stand alone: beside older ones the client takes it for no verdict.
    pub fn deny(reasons: &[Reason]) -> Self {
        let texts: Vec<&str> = reasons.iter().map(|reason| reason.text.as_str()).collect();
        let reason = texts.join("\n");
        let json = DenyWire {
            hook_specific_output: DenyOutputWire {
                hook_event_name: "PreToolUse",
                permission_decision: "deny",
                permission_decision_reason: &reason,
            },
        };
        // A struct of strings always serialises; without it the exit code still denies.
        let stdout = serde_json::to_string(&json).unwrap_or_default();
        Self { denial: Some(reason), stdout, notes: vec![] }
    }
}

impl Answer {
    /// The session may not end yet. As with a denial, exit code 2 is what all releases of the client honour.
    pub fn block(reason: String, notes: Vec<String>) -> Self {
        let json = BlockWire { decision: "block", reason: &reason };
        let stdout = serde_json::to_string(&json).unwrap_or_default();
        Self { denial: Some(reason), stdout, notes }
    }
}

/// What several parts of a handler have to say, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remarks {
    /// What the model should read, a paragraph each.
    pub context: Vec<String>,
    /// Remarks for the log, one line each.
    pub notes: Vec<String>,
}

impl Remarks {
    /// The answer at an event of this name, as the client calls it. Without context stdout stays empty.
    pub fn into_answer(self, event: &str) -> Answer {
        if self.context.is_empty() {
            return Answer::passing(self.notes);
        }
        let text = self.context.join("\n\n");
        let json = ContextWire {
            hook_specific_output: ContextOutputWire { hook_event_name: event, additional_context: &text },
        };
        let stdout = serde_json::to_string(&json).unwrap_or_default();
        Answer { denial: None, stdout, notes: self.notes }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextWire<'a> {
    hook_specific_output: ContextOutputWire<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextOutputWire<'a> {
    hook_event_name: &'a str,
    additional_context: &'a str,
}

#[derive(Serialize)]
struct BlockWire<'a> {
    decision: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DenyWire<'a> {
    hook_specific_output: DenyOutputWire<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DenyOutputWire<'a> {
    hook_event_name: &'a str,
    permission_decision: &'a str,
    permission_decision_reason: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_has_the_form_that_the_client_honours_and_no_other_keys() {
        let answer = Answer::deny(&[Reason { rule: "budget", text: "No.".into() }]);
        assert_eq!(
            answer.stdout,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"No."}}"#
        );
        assert_eq!(answer.denial.as_deref(), Some("No."));
    }
}
