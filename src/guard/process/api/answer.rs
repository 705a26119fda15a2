//! Errors in the form of the API, which the client shows.

use axum::Json;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse as _;
use serde_json::json;

/// Why a request is not forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The client does not send such requests to the API.
    NotForwarded,
    /// It comes from a page of another site, or does not name the guard.
    Foreign,
    /// It did not arrive in time.
    Slow,
    /// The body is too large.
    TooLarge,
    /// A spending limit is reached. Of the API's errors, the client shows this one unchanged and does not retry it.
    Spent,
    /// Too many requests are under way; the client retries.
    Busy,
    /// The API cannot be reached, or the ledger cannot be read; the client retries.
    Unreachable,
    /// The guard has no key; a retry does not help.
    NoKey,
}

impl Refusal {
    const fn status(self) -> (StatusCode, &'static str) {
        match self {
            Self::NotForwarded => (StatusCode::NOT_FOUND, "not_found_error"),
            Self::Foreign => (StatusCode::FORBIDDEN, "permission_error"),
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, "timeout_error"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "request_too_large"),
            Self::Spent => (StatusCode::PAYMENT_REQUIRED, "billing_error"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "overloaded_error"),
            Self::Unreachable => (StatusCode::BAD_GATEWAY, "api_error"),
            Self::NoKey => (StatusCode::INTERNAL_SERVER_ERROR, "api_error"),
        }
    }

    const fn is_final(self) -> bool {
        !matches!(self, Self::Busy | Self::Unreachable | Self::Slow)
    }

    /// The response.
    pub fn response(self, message: &str) -> Response<Body> {
        let (status, kind) = self.status();
        let json = json!({"type": "error", "error": {"type": kind, "message": message}});
        let no_retry = self.is_final().then_some([("x-should-retry", "false")]);
        (status, no_retry, Json(json)).into_response()
    }
}
