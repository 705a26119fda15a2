//! The answer of a handler, in the form that the client accepts.

use std::fmt;

use serde_json::{Value, json};

use crate::machine::warning::Warning;
use opsctl_policy::model::records::verdict::{Asked, Reason, in_lines};

/// What the client reads on stdout.
#[derive(Debug, Default)]
pub enum Output {
    /// Nothing.
    #[default]
    Nothing,
    /// The client's JSON.
    Json(Value),
    /// The client's JSON, from which secrets have been removed.
    RedactedJson(Value),
    /// Text that becomes context of the session.
    Context(String),
}

/// The answer to one call.
#[derive(Debug, Default)]
pub struct Answer {
    /// Why the call is denied or blocked: exit code 2, and the text that the client shows to the model.
    pub denial: Option<String>,
    /// What the client reads on stdout.
    pub output: Output,
    /// Problems, printed to stderr.
    pub warnings: Vec<Warning>,
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Json(json) | Self::RedactedJson(json) => json.fmt(f),
            Self::Context(text) => f.write_str(text),
        }
    }
}

impl Answer {
    /// Allowed, without output.
    pub fn silent() -> Self {
        Self::default()
    }

    /// Allowed, with warnings.
    pub fn allow(warnings: Vec<Warning>) -> Self {
        Self { warnings, ..Self::default() }
    }

    /// Text that becomes context of the session.
    pub fn context(text: String, warnings: Vec<Warning>) -> Self {
        Self { denial: None, output: Output::Context(text), warnings }
    }

    /// A denial of a tool call.
    ///
    /// All releases of the client accept exit code 2 with the reason on stderr; some read the JSON instead. It has no other
    /// keys: with older keys in addition, the client ignores the verdict.
    pub fn deny(reasons: &[Reason]) -> Self {
        let reason = in_lines(reasons);
        Self { output: permission("deny", &reason), denial: Some(reason), warnings: vec![] }
    }

    /// A question to a person. Without an answer, the call does not run: the client ends the session until it is resumed
    /// (`defer`), or asks the person at the terminal (`ask`).
    pub fn ask(asked: &Asked, warnings: Vec<Warning>) -> Self {
        let number = asked.question.map(|id| format!("Question {id} to a person. ")).unwrap_or_default();
        let reason = format!("{number}{}", in_lines(&asked.reasons));
        let decision = if asked.at_terminal { "ask" } else { "defer" };
        Self { output: permission(decision, &reason), denial: None, warnings }
    }

    /// Blocks the end of a turn. All releases of the client accept exit code 2 with the reason on stderr.
    pub fn block(reason: String, warnings: Vec<Warning>) -> Self {
        let json = json!({"decision": "block", "reason": reason});
        Self { output: Output::Json(json), denial: Some(reason), warnings }
    }
}

/// The collected output of several parts of a handler, in order.
#[derive(Debug, Default)]
pub struct Remarks {
    /// Text for the model, a paragraph each.
    pub context: Vec<String>,
    /// Problems, printed to stderr.
    pub warnings: Vec<Warning>,
}

impl Remarks {
    /// The answer to the event of this name, in the client's spelling. Without context stdout stays empty.
    pub fn into_answer(self, event: &str) -> Answer {
        if self.context.is_empty() {
            return Answer::allow(self.warnings);
        }
        let text = self.context.join("\n\n");
        let json = json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}});
        Answer { denial: None, output: Output::Json(json), warnings: self.warnings }
    }
}

/// The decision on a tool call, as the client reads it. With further keys, some releases ignore it.
fn permission(decision: &str, reason: &str) -> Output {
    Output::Json(json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }}))
}
