//! Bodies in protobuf, which recent clients send for the types that they know.
//!
//! The API server reads them: asked for a dry run, it answers with the object in JSON and stores nothing. The body itself is
//! forwarded, so what was judged is what the server reads.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT, HOST, HeaderValue};
use axum::http::{Method, Request};
use serde_json::{Value, json};

use super::resource::Resource;
use crate::gates::proxy::request::{Asked, Refusal};
use crate::gates::proxy::upstream::Upstream;

/// The content type.
pub const TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The maximum size of an answer in bytes.
const MOST: usize = 16 * 1024 * 1024;

/// What a body is judged as; `None` if that cannot be determined.
pub async fn read(
    asked: &mut Asked,
    resource: &Resource,
    most: usize,
    upstream: &Arc<Upstream>,
) -> Result<Option<Value>, Refusal> {
    let bytes = asked.read(most).await?;
    match (&asked.method, resource.part.as_deref()) {
        // The address decides. Options of a deletion count as none.
        (&Method::DELETE, _) | (_, Some("eviction" | "token")) => return Ok(Some(json!({}))),
        _ if ["authentication.k8s.io", "authorization.k8s.io"].contains(&resource.group.as_str()) => {
            return Ok(Some(json!({})));
        }
        (&Method::POST | &Method::PUT, None | Some("scale")) if is_built_in(&resource.group) => {}
        _ => return Ok(None),
    }
    let bad = |error: String| Refusal::new(axum::http::StatusCode::BAD_GATEWAY, error);
    let mut target = asked.target.clone();
    target.query.retain(|(name, _)| name != "dryRun");
    target.query.push(("dryRun".to_owned(), "All".to_owned()));
    let mut request = Request::new(Body::from(bytes));
    *request.method_mut() = asked.method.clone();
    *request.uri_mut() = target.uri().ok_or_else(|| bad("the address is too long".to_owned()))?;
    *request.headers_mut() = asked.headers.clone();
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    request.headers_mut().insert(HOST, upstream.host.clone());
    let answer = upstream
        .send(request)
        .await
        .map_err(|error| bad(format!("the API server does not answer ({error})")))?;
    let status = answer.status();
    let body = to_bytes(Body::new(answer.into_body()), MOST).await.map_err(|error| bad(error.to_string()))?;
    let mut value: Value = serde_json::from_slice(&body).map_err(|error| bad(error.to_string()))?;
    if !status.is_success() {
        let message = value.get("message").and_then(Value::as_str).unwrap_or("the API server refuses it");
        return Err(Refusal::new(status, message));
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Ok(Some(value))
}

/// Whether the API server itself has the group. Another server behind it may ignore that a request is a dry run.
fn is_built_in(group: &str) -> bool {
    ["", "apps", "autoscaling", "batch", "policy"].contains(&group) || group.ends_with(".k8s.io")
}
