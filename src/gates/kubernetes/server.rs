//! What the gate itself asks the API server before it judges a request.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue};
use axum::http::{Method, Request, StatusCode};
use serde_json::Value;

use crate::gates::proxy::request::Refusal;
use crate::gates::proxy::target::Target;
use crate::gates::proxy::upstream::Upstream;

/// The maximum size of an answer in bytes.
const MOST: usize = 16 * 1024 * 1024;

/// The object at an address; `None` if the server does not state it.
pub async fn object(
    target: &Target,
    headers: &HeaderMap,
    upstream: &Arc<Upstream>,
) -> Result<Option<Value>, Refusal> {
    let own = headers.get(AUTHORIZATION).map(|value| (AUTHORIZATION, value.clone()));
    let headers = own.into_iter().collect();
    let (status, value) = answer((&Method::GET, target, Bytes::new()), &headers, upstream).await?;
    Ok(Some(value).filter(|_| status.is_success()))
}

/// The object that results from a change, which the server does not store: it is asked for a dry run. The error is its refusal.
pub async fn dry_run(
    method: &Method,
    target: &Target,
    body: Bytes,
    headers: &HeaderMap,
    upstream: &Arc<Upstream>,
) -> Result<Value, Refusal> {
    let mut target = target.clone();
    target.query.retain(|(name, _)| name != "dryRun");
    target.query.push(("dryRun".to_owned(), "All".to_owned()));
    let (status, mut value) = answer((method, &target, body), headers, upstream).await?;
    if !status.is_success() {
        let message = value.get("message").and_then(Value::as_str).unwrap_or("the API server refuses it");
        return Err(Refusal::new(status, message));
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Ok(value)
}

async fn answer(
    (method, target, body): (&Method, &Target, Bytes),
    headers: &HeaderMap,
    upstream: &Arc<Upstream>,
) -> Result<(StatusCode, Value), Refusal> {
    let bad = |error: String| Refusal::new(StatusCode::BAD_GATEWAY, error);
    let length = body.len();
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = method.clone();
    *request.uri_mut() = target.uri().ok_or_else(|| bad("the address is too long".to_owned()))?;
    *request.headers_mut() = headers.clone();
    request.headers_mut().remove(CONTENT_LENGTH);
    if length > 0 {
        request.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    request.headers_mut().insert(HOST, upstream.host.clone());
    let answer = upstream.send(request).await;
    let answer = answer.map_err(|error| bad(format!("the API server does not answer ({error})")))?;
    let status = answer.status();
    let body = to_bytes(Body::new(answer.into_body()), MOST).await.map_err(|error| bad(error.to_string()))?;
    let value = serde_json::from_slice(&body);
    // A refusal may be any text.
    if !status.is_success() {
        return Ok((status, value.unwrap_or_default()));
    }
    Ok((status, value.map_err(|error| bad(error.to_string()))?))
}
