//! The scripted model: answers with the steps of a script and records all requests.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::http::{Response, Server, response};
use super::messages::{Role, ToolResult, conversation, opening, role, stream, tool_results, whole};
use super::others;
use super::script::{Script, Step};

/// A model on a loopback port, stopped on drop.
pub struct Model {
    server: Server,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    /// Starts the model.
    pub fn start(script: Script) -> io::Result<Self> {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let script = Mutex::new(script);
        let server = Server::start(move |method, path, body| respond(method, path, body, &script, &log))?;
        Ok(Self { server, asked })
    }

    /// The URL of the model.
    pub fn url(&self) -> &str {
        &self.server.url
    }

    /// The conversations, one text per request of the agent and its subagents.
    pub fn conversations(&self) -> Vec<String> {
        locked(&self.asked).iter().filter(|body| role(body) == Role::Agent).map(all_text).collect()
    }

    /// The results of tool calls, in order.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        let mut results: Vec<(String, ToolResult)> = Vec::new();
        let asked = locked(&self.asked);
        for (id, result) in asked.iter().flat_map(|body| tool_results(body).chain(others::tool_results(body)))
        {
            // Every request repeats the whole conversation.
            if results.iter().all(|(known, _)| known != id) {
                results.push((id.to_owned(), result));
            }
        }
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// The text of a conversation, of whichever API.
fn all_text(body: &Value) -> String {
    conversation(body) + &others::conversation(body)
}

/// Locks a mutex, even if a thread panicked: no update is left incomplete.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn respond(
    method: &Method,
    path: &str,
    body: &[u8],
    script: &Mutex<Script>,
    log: &Mutex<Vec<Value>>,
) -> Response {
    let json = |status, body: &Value| response(status, "application/json", body.to_string());
    let ok = |body| json(StatusCode::OK, &body);
    match (method, path) {
        (&Method::POST, "/v1/messages") => {
            let Ok(body) = serde_json::from_slice::<Value>(body) else {
                return json(StatusCode::BAD_REQUEST, &json!({"error": "not JSON"}));
            };
            let step = next(&body, &mut locked(script));
            let model = body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
            let streamed = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
            let mut asked = locked(log);
            asked.push(body);
            if streamed {
                response(StatusCode::OK, "text/event-stream", stream(asked.len(), &model, &step))
            } else {
                ok(whole(asked.len(), &model, &step))
            }
        }
        (&Method::POST, "/v1/responses") => match serde_json::from_slice::<Value>(body) {
            Ok(body) => {
                let step = next(&body, &mut locked(script));
                let mut asked = locked(log);
                asked.push(body);
                response(StatusCode::OK, "text/event-stream", others::responses(asked.len(), &step))
            }
            Err(_) => json(StatusCode::BAD_REQUEST, &json!({"error": "not JSON"})),
        },
        (&Method::POST, path) if path.ends_with("enerateContent") => {
            let body = serde_json::from_slice::<Value>(body).unwrap_or_default();
            let step = next(&body, &mut locked(script));
            locked(log).push(body);
            let content = others::content(&step);
            if path.ends_with(":streamGenerateContent") {
                response(StatusCode::OK, "text/event-stream", format!("data: {content}\n\n"))
            } else {
                ok(content)
            }
        }
        (&Method::POST, "/v1/messages/count_tokens") => ok(json!({"input_tokens": 100})),
        (&Method::POST, _) => ok(json!({})),
        _ => ok(json!({"data": [], "has_more": false})),
    }
}

fn next(body: &Value, script: &mut Script) -> Step {
    let steps = match role(body) {
        Role::Errand => return Step::Say("an errand"),
        Role::Verifier => {
            let verdict = script.verdicts.pop_front().unwrap_or_else(|| json!({"ok": true}));
            return Step::Tool("StructuredOutput", verdict);
        }
        Role::Agent if script.brief.as_ref().is_some_and(|brief| opening(body).contains(brief)) => {
            &mut script.subagent
        }
        Role::Agent => &mut script.agent,
    };
    steps.pop_front().unwrap_or(Step::Say("done"))
}
