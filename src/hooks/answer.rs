//! The answer of a handler, in the form that the client accepts.

use std::fmt;

use serde_json::{Value, json};

use crate::machine::client::clients::Client;
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

    /// A denial of a tool call of a client that is not known: exit code 2 and stderr, which all clients read. Some do not read it
    /// with JSON of another client on stdout.
    pub fn deny_any(reason: String) -> Self {
        Self { denial: Some(reason), ..Self::default() }
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
        Self { output: decision("block", &reason), denial: Some(reason), warnings }
    }
}

impl Answer {
    /// The answer as this client reads it.
    #[must_use]
    pub fn for_client(self, client: Client) -> Self {
        match client {
            Client::ClaudeCode => self,
            Client::Codex => self.for_another("block", |denial| (Output::Nothing, denial)),
            // With exit code 2 and JSON that states no decision, Gemini CLI allows the call.
            Client::Gemini => self.for_another("deny", |denial| (decision("deny", &denial), denial)),
        }
    }

    /// The answer as a client reads it that knows no question to a person, and replaces the output of a tool by the reason of
    /// a decision. `denied` makes the output of a denial.
    fn for_another(self, verdict: &str, denied: impl Fn(String) -> (Output, String)) -> Self {
        let Self { denial, output, warnings } = self;
        let denial = denial.or_else(|| stated(&output, "permissionDecisionReason").map(in_text));
        if let Some(denial) = denial {
            let (output, denial) = denied(denial);
            return Self { denial: Some(denial), output, warnings: vec![] };
        }
        let output = match (stated(&output, "updatedToolOutput"), stated(&output, "additionalContext")) {
            (Some(replaced), note) => {
                let note = note.map(in_text).unwrap_or_default();
                let text = format!("{note}\n\n{}", in_text(replaced));
                Output::RedactedJson(json!({"decision": verdict, "reason": text.trim_start()}))
            }
            (None, _) => output,
        };
        let output = match output {
            Output::Context(text) => Output::Json(json!({
                "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}
            })),
            output => output,
        };
        Self { denial: None, output, warnings }
    }
}

/// What an answer states for its event.
fn stated<'a>(output: &'a Output, key: &str) -> Option<&'a Value> {
    match output {
        Output::Json(json) | Output::RedactedJson(json) => json.get("hookSpecificOutput")?.get(key),
        Output::Nothing | Output::Context(_) => None,
    }
}

fn in_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A decision without an event.
fn decision(decision: &str, reason: &str) -> Output {
    Output::Json(json!({"decision": decision, "reason": reason}))
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
