//! What programs read: `/healthz`, whether the ledger can be read and written, and `/metrics`.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use chrono::Utc;

use super::problem::Problem;
use super::state::Desk;
use crate::guard::process::connections::Peer;
use crate::pages::metrics::format::Format;
use crate::pages::metrics::{CONTENT_TYPE, text};
use opsctl_ledger::Ledger;

/// A result is used for this time: requests need no login, and each check writes to the disk.
const FRESH: Duration = Duration::from_secs(2);

/// A program that needs no login: its request comes from this machine, or has the token of `CLAUDEOPS_METRICS_TOKEN_FILE`. A
/// request that a proxy has forwarded does not come from this machine.
pub struct Program;

impl FromRequestParts<Arc<Desk>> for Program {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Problem> {
        let Parts { headers, extensions, .. } = parts;
        let is_local = extensions.get::<Peer>().is_some_and(|peer| peer.address.is_loopback());
        let is_forwarded = headers.keys().any(|name| {
            ["forwarded", "via", "x-real-ip"].contains(&name.as_str())
                || name.as_str().starts_with("x-forwarded-")
        });
        let bearer =
            headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if (is_local && !is_forwarded) || bearer.is_some_and(|token| desk.tokens.reads_metrics(token)) {
            return Ok(Self);
        }
        Err(Problem::NOT_LOGGED_IN)
    }
}

/// Answers 200 if the ledger can be read and written, else 503 with the reason.
pub async fn health(_: Program, State(desk): State<Arc<Desk>>) -> Result<Response, Problem> {
    let found = desk.blocking(|desk| {
        let mut latest = desk.health.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, result)) = latest.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok((*at, result.clone()).1);
        }
        let result = Ledger::check_writing(&desk.environment().ledger).err().map(|error| error.to_string());
        *latest = Some((Instant::now(), result.clone()));
        Ok(result)
    });
    Ok(match found.await? {
        None => "ok\n".into_response(),
        Some(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    })
}

/// The metrics in the format of [`CONTENT_TYPE`].
pub async fn metrics(_: Program, State(desk): State<Arc<Desk>>) -> Result<Response, Problem> {
    let text =
        desk.blocking(|desk| Ok(text(Format::OpenMetrics, desk.environment(), Utc::now(), true))).await?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}
