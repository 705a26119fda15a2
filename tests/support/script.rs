//! The answers of the scripted model, step by step.

use super::request::{Request, Role};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// One answer of the model: a message of one or several blocks.
#[derive(Clone, Debug)]
pub struct Step {
    pub(super) blocks: Vec<Value>,
    pub(super) failure: Option<Failure>,
    /// What the API says it has read for this answer, in tokens.
    pub(super) read: u64,
}

impl Step {
    /// The number of tokens in the model's context with this answer.
    pub fn filling(self, tokens: u64) -> Self {
        Self { read: tokens - WRITTEN, ..self }
    }
}

/// The number of tokens that the API reports as written.
pub(super) const WRITTEN: u64 = 5;

/// The number of tokens that the API reports as read, by default.
const READ: u64 = 10;

/// The API does not answer: an HTTP status and its error.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) status: u16,
    pub(super) kind: String,
    pub(super) message: String,
}

/// The API answers every request with this HTTP status and kind of error.
pub fn api_error(status: u16, kind: &str) -> Step {
    let failure = Failure { status, kind: kind.to_owned(), message: format!("a scripted {kind}") };
    Step { blocks: vec![], failure: Some(failure), read: READ }
}

/// The API refuses because the conversation no longer fits into the window of the model.
pub fn too_long() -> Step {
    let message = "prompt is too long: 210000 tokens > 200000 maximum".to_owned();
    let failure = Failure { status: 400, kind: "invalid_request_error".to_owned(), message };
    Step { blocks: vec![], failure: Some(failure), read: READ }
}

/// The model runs a command with the tool `Bash`.
pub fn bash(command: &str) -> Step {
    tool("Bash", &json!({"command": command, "description": "a step of the script"}))
}

/// The model calls any tool.
pub fn tool(name: &str, input: &Value) -> Step {
    Step {
        blocks: vec![json!({"type": "tool_use", "name": name, "input": input})],
        failure: None,
        read: READ,
    }
}

/// The model says something and, with that, ends its turn.
pub fn text(said: &str) -> Step {
    Step { blocks: vec![json!({"type": "text", "text": said})], failure: None, read: READ }
}

/// The model does several things in one message.
pub fn together(steps: impl IntoIterator<Item = Step>) -> Step {
    Step { blocks: steps.into_iter().flat_map(|step| step.blocks).collect(), failure: None, read: READ }
}

/// The answer of an agent hook's verifier.
pub fn verdict(ok: bool, reason: &str) -> Step {
    let input = if ok { json!({"ok": true}) } else { json!({"ok": false, "reason": reason}) };
    tool("StructuredOutput", &input)
}

type Answer = Box<dyn FnMut(&Request) -> Option<Step> + Send>;

/// All answers and requests of a session.
#[derive(Default)]
pub(super) struct Script {
    pub(super) main: VecDeque<Step>,
    pub(super) verifier: VecDeque<Step>,
    /// Asked in order before anything else; the first that has an answer gives it.
    pub(super) answers: Vec<Answer>,
    pub(super) asked: Vec<Request>,
    pub(super) notifications: Vec<Value>,
    pub(super) tool_uses: usize,
}

impl Script {
    /// The blocks that answer `request`, which is kept, and the tokens that were read.
    pub(super) fn answer(&mut self, request: Request) -> Result<(Vec<Value>, u64), Failure> {
        let step = self.answers.iter_mut().find_map(|answer| answer(&request));
        let step = step.unwrap_or_else(|| match request.role() {
            Role::Verifier => self.verifier.pop_front().unwrap_or_else(|| verdict(true, "")),
            Role::Agent => self.main.pop_front().unwrap_or_else(|| text("the script is at its end")),
            Role::Errand => text("an errand of the client"),
        });
        self.asked.push(request);
        match step.failure {
            Some(failure) => Err(failure),
            None => Ok((step.blocks.into_iter().map(|block| self.with_id(block)).collect(), step.read)),
        }
    }

    fn with_id(&mut self, mut block: Value) -> Value {
        if block["type"] == "tool_use" {
            self.tool_uses += 1;
            block["id"] = json!(format!("toolu_{:024}", self.tool_uses));
        }
        block
    }
}
