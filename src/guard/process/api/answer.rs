//! Errors in the form of the API, which the client shows.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use serde::Serialize;

#[derive(Serialize)]
struct AnswerWire<'a> {
    r#type: &'static str,
    error: ErrorWire<'a>,
}

#[derive(Serialize)]
struct ErrorWire<'a> {
    r#type: &'static str,
    message: &'a str,
}

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
        let wire = AnswerWire { r#type: "error", error: ErrorWire { r#type: kind, message } };
        let mut response = Response::new(Body::from(serde_json::to_string(&wire).unwrap_or_default()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.is_final() {
            headers.insert(HeaderName::from_static("x-should-retry"), HeaderValue::from_static("false"));
        }
        response
    }
}
