//! What applies to all requests: the host that they may name, a time limit, and the headers of all answers.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::identity::is_cross_site;
use crate::pages::desk::problem::Problem;
use crate::pages::desk::state::Desk;

/// The time for a request, from its head to the head of its answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a form in bytes.
pub const LARGEST_FORM: usize = 16 * 1024;

/// Loads from the desk only, runs no inline script, sends forms to the desk only, is not shown in a frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// `no-referrer` would make browsers hide the origin of the desk's own forms.
const HEADERS: [(header::HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        header::HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Checks a request, passes it on and completes the answer.
pub async fn protect(State(desk): State<Arc<Desk>>, request: Request, next: Next) -> Response {
    let mut answer = if let Some(problem) = refusal(&desk, &request) {
        problem.into_response()
    } else {
        let answer = tokio::time::timeout(TIMEOUT, next.run(request)).await;
        answer.map_err(|_| Problem::TOO_SLOW).into_response()
    };
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn refusal(desk: &Desk, request: &Request) -> Option<Problem> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
    // The host of an absolute address is what counts, and a proxy is not expected to send one.
    let names_another = request.uri().host().is_some();
    if !desk.settings.accepts_host(host) || hosts.next().is_some() || names_another {
        return Some(Problem::WRONG_HOST);
    }
    let is_read = [Method::GET, Method::HEAD].contains(request.method());
    (!is_read && is_cross_site(desk, request.headers())).then_some(Problem::CROSS_SITE)
}
