//! Problems that a page reports.

use std::borrow::Cow;

use axum::http::StatusCode;

use opsctl_ledger::LedgerError;

/// A problem: its status, title and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The status of the answer.
    pub status: StatusCode,
    /// The title of the page.
    pub title: &'static str,
    /// What happened, and what to do.
    pub text: Cow<'static, str>,
}

impl Problem {
    pub const NOT_FOUND: Self =
        Self::of(StatusCode::NOT_FOUND, "Page not found", "There is no page at this address.");
    pub const NO_QUESTION: Self =
        Self::of(StatusCode::NOT_FOUND, "Question not found", "There is no question of this number.");
    pub const NO_LOG: Self = Self::of(
        StatusCode::NOT_FOUND,
        "Log not found",
        "The session has no log, or it is not in the results folder of the guard (CLAUDEOPS_RESULTS_DIR).",
    );
    pub const METHOD: Self =
        Self::of(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed", "This address has no such method.");
    pub const BAD_REQUEST: Self = Self::of(
        StatusCode::BAD_REQUEST,
        "Not answered",
        "The form states no decision. Open the question again.",
    );
    pub const LOG_IN: Self = Self::of(
        StatusCode::UNAUTHORIZED,
        "Log in first",
        "Open the desk, log in, and open the question there.",
    );
    pub const NOT_LOGGED_IN: Self =
        Self::of(StatusCode::UNAUTHORIZED, "Log in first", "The login is missing or has expired.");
    pub const LINK: Self = Self::of(
        StatusCode::FORBIDDEN,
        "Link not valid",
        "The link is incomplete, belongs to another question, or has expired. Open the desk and log in.",
    );
    pub const FOREIGN_FORM: Self = Self::of(
        StatusCode::FORBIDDEN,
        "Form not valid",
        "The form belongs to another login, and nothing was answered. Open the desk again.",
    );
    pub const CROSS_SITE: Self = Self::of(
        StatusCode::FORBIDDEN,
        "Request refused",
        "The request comes from a page of another site, and nothing was changed. Behind a reverse proxy, CLAUDEOPS_DESK_URL must be the address that browsers use.",
    );
    pub const CHANGED: Self = Self::of(
        StatusCode::CONFLICT,
        "Not answered",
        "The question is not the one that the page showed. Open it again.",
    );
    pub const WRONG_HOST: Self = Self::of(
        StatusCode::MISDIRECTED_REQUEST,
        "Unknown host",
        "The desk does not have this name. State its address with CLAUDEOPS_DESK_URL.",
    );
    pub const TOO_SLOW: Self =
        Self::of(StatusCode::REQUEST_TIMEOUT, "Too slow", "The request took too long. Try again.");
    pub const BUSY: Self = Self::of(
        StatusCode::SERVICE_UNAVAILABLE,
        "Too many open pages",
        "Close pages of the desk and try again.",
    );
    pub const INTERNAL: Self = Self::of(
        StatusCode::INTERNAL_SERVER_ERROR,
        "The desk failed",
        "This is a bug of opsctl. `opsctl approvals` and `opsctl approve` work without the desk.",
    );

    const fn of(status: StatusCode, title: &'static str, text: &'static str) -> Self {
        Self { status, title, text: Cow::Borrowed(text) }
    }

    /// A problem with a text of its own.
    pub fn new(status: StatusCode, title: &'static str, text: String) -> Self {
        Self { status, title, text: Cow::Owned(text) }
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "The ledger cannot be used", error.to_string())
    }
}

impl From<minijinja::Error> for Problem {
    fn from(_: minijinja::Error) -> Self {
        Self::INTERNAL
    }
}
