//! The Messages API as the client sees it, on loopback.

use super::request::Request;
use super::script::{Failure, Script, WRITTEN};
use axum::Router;
use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::{Arc, Mutex};

/// Where the operators' notifications arrive, as apprise's `json://` sends them.
pub(super) const OPERATORS: &str = "/operators";

/// Routes for a server that answers from `script`.
pub(super) fn router(script: Arc<Mutex<Script>>) -> Router {
    Router::new().fallback(move |method: Method, uri: Uri, body: Bytes| {
        let answer = respond(&script, &method, uri.path(), &body);
        async move { answer }
    })
}

fn respond(script: &Mutex<Script>, method: &Method, path: &str, body: &[u8]) -> Response {
    if method != Method::POST {
        return axum::Json(json!({"data": [], "has_more": false})).into_response();
    }
    match path {
        "/v1/messages" => {
            let Ok(body) = serde_json::from_slice::<Value>(body) else {
                return (StatusCode::BAD_REQUEST, "the body is not JSON").into_response();
            };
            let (model, streamed) = (body["model"].clone(), body["stream"] == true);
            let mut script = script.lock().unwrap();
            let (blocks, read) = match script.answer(Request { body }) {
                Ok(answer) => answer,
                Err(Failure { status, kind, message }) => {
                    let error = json!({"type": kind, "message": message});
                    let status = StatusCode::from_u16(status).unwrap();
                    return (status, axum::Json(json!({"type": "error", "error": error}))).into_response();
                }
            };
            let id = format!("msg_{:024}", script.asked.len());
            if streamed { stream(&id, &model, &blocks, read) } else { whole(&id, &model, &blocks, read) }
        }
        OPERATORS => {
            script.lock().unwrap().notifications.push(serde_json::from_slice(body).unwrap_or_default());
            StatusCode::NO_CONTENT.into_response()
        }
        "/v1/messages/count_tokens" => axum::Json(json!({"input_tokens": 100})).into_response(),
        _ => axum::Json(json!({})).into_response(),
    }
}

fn stop_reason(blocks: &[Value]) -> &'static str {
    if blocks.iter().any(|block| block["type"] == "tool_use") { "tool_use" } else { "end_turn" }
}

fn message(id: &str, model: &Value, content: &[Value], stop_reason: &Value, read: u64) -> Value {
    json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop_reason, "stop_sequence": null,
        // Most of what is read comes from a cache.
        "usage": {"input_tokens": read - read / 2, "cache_read_input_tokens": read / 2, "output_tokens": WRITTEN},
    })
}

fn whole(id: &str, model: &Value, blocks: &[Value], read: u64) -> Response {
    axum::Json(message(id, model, blocks, &json!(stop_reason(blocks)), read)).into_response()
}

fn stream(id: &str, model: &Value, blocks: &[Value], read: u64) -> Response {
    let mut events = String::new();
    let mut send = |data: Value| {
        let kind = data["type"].as_str().unwrap_or_default();
        write!(events, "event: {kind}\ndata: {data}\n\n").unwrap();
    };
    send(json!({"type": "message_start", "message": message(id, model, &[], &Value::Null, read)}));
    for (index, block) in blocks.iter().enumerate() {
        let mut opening = block.clone();
        let delta = if block["type"] == "tool_use" {
            opening["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
        } else {
            opening["text"] = json!("");
            json!({"type": "text_delta", "text": block["text"]})
        };
        send(json!({"type": "content_block_start", "index": index, "content_block": opening}));
        send(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        send(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop_reason(blocks), "stop_sequence": null});
    send(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": WRITTEN}}));
    send(json!({"type": "message_stop"}));
    ([(header::CONTENT_TYPE, "text/event-stream")], events).into_response()
}
