//! What programs read: `/healthz`, whether the ledger can be read and written, and `/metrics`.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use chrono::Utc;

use super::connections::Peer;
use super::problem::Problem;
use super::state::Desk;
use crate::ledger::{Ledger, LedgerError};
use crate::metrics;
use crate::runtime::environment::Environment;

/// A result is used for this time: requests need no login, and each check writes to the disk.
const FRESH: Duration = Duration::from_secs(2);

/// Answers 200 if the ledger can be read and written, else 503 with the reason.
pub async fn health(
    State(desk): State<Arc<Desk>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    if !is_program(&desk, &peer, &headers) {
        return desk.problem(&Problem::NOT_LOGGED_IN);
    }
    let found = desk.blocking(|desk| {
        let mut latest = desk.health.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, result)) = latest.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok((*at, result.clone()).1);
        }
        let result = write(desk.environment()).err().map(|error| error.to_string());
        *latest = Some((Instant::now(), result.clone()));
        Ok(result)
    });
    match found.await {
        Ok(None) => "ok\n".into_response(),
        Ok(Some(error)) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
        Err(problem) => problem,
    }
}

/// The metrics in the format of `metrics::CONTENT_TYPE`.
pub async fn metrics(
    State(desk): State<Arc<Desk>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    if !is_program(&desk, &peer, &headers) {
        return desk.problem(&Problem::NOT_LOGGED_IN);
    }
    match desk.blocking(|desk| Ok(metrics::text(desk.environment(), Utc::now(), true))).await {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(problem) => problem,
    }
}

/// Whether a request comes from this machine, or has the token of `CLAUDEOPS_METRICS_TOKEN_FILE`. A request that a proxy
/// has forwarded does not come from this machine.
fn is_program(desk: &Desk, peer: &Peer, headers: &HeaderMap) -> bool {
    let bearer =
        headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let is_forwarded = ["forwarded", "x-forwarded-for", "via"].iter().any(|name| headers.contains_key(*name));
    (peer.address.is_loopback() && !is_forwarded)
        || bearer.is_some_and(|token| desk.tokens.reads_metrics(token))
}

fn write(environment: &Environment) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open_briefly(&environment.ledger)?;
    let change = ledger.change()?;
    change.check_writing(Utc::now())?;
    change.commit()
}
