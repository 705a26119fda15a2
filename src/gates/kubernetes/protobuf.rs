//! Bodies in protobuf, which recent clients send for the types that they know.
//!
//! The API server reads them: asked for a dry run, it answers with the object in JSON and stores nothing. The body itself is
//! forwarded, so what was judged is what the server reads.

use std::sync::Arc;

use axum::http::Method;
use serde_json::{Value, json};

use super::resource::Resource;
use super::server;
use crate::gates::proxy::request::{Asked, Refusal};
use crate::gates::proxy::upstream::Upstream;

/// The content type.
pub const TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What a body is judged as; `None` if that cannot be determined.
pub async fn read(
    asked: &mut Asked,
    resource: &Resource,
    most: usize,
    upstream: &Arc<Upstream>,
) -> Result<Option<Value>, Refusal> {
    let bytes = asked.read(most).await?;
    match (&asked.method, resource.part.as_deref()) {
        // How the containers end is stated in a body that the API server does not show in a dry run.
        (&Method::DELETE, _) | (_, Some("eviction")) => return Ok(bytes.is_empty().then_some(Value::Null)),
        // The address decides.
        (_, Some("token")) => return Ok(Some(json!({}))),
        _ if ["authentication.k8s.io", "authorization.k8s.io"].contains(&resource.group.as_str()) => {
            return Ok(Some(json!({})));
        }
        (&Method::POST | &Method::PUT, None | Some("scale")) if is_built_in(&resource.group) => {}
        _ => return Ok(None),
    }
    server::dry_run(&asked.method, &asked.target, bytes, &asked.headers, upstream).await.map(Some)
}

/// Whether the API server itself has the group. Another server behind it may ignore that a request is a dry run.
pub fn is_built_in(group: &str) -> bool {
    ["", "apps", "autoscaling", "batch", "policy"].contains(&group) || group.ends_with(".k8s.io")
}
