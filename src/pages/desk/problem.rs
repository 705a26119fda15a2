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

/// Problems whose text never differs: a status, the title, and the text.
macro_rules! problems {
    ($($name:ident: $status:ident, $title:literal, $text:literal;)*) => {
        impl Problem {
            $(pub const $name: Self =
                Self { status: StatusCode::$status, title: $title, text: Cow::Borrowed($text) };)*
        }
    };
}

problems! {
    NOT_FOUND: NOT_FOUND, "Page not found", "There is no page at this address.";
    NO_QUESTION: NOT_FOUND, "Question not found", "There is no question of this number.";
    NO_LOG: NOT_FOUND, "Log not found",
        "The session has no log, or it is not in the results folder of the guard (CLAUDEOPS_RESULTS_DIR).";
    METHOD: METHOD_NOT_ALLOWED, "Method not allowed", "This address has no such method.";
    BAD_REQUEST: BAD_REQUEST, "Not answered", "The form states no decision. Open the question again.";
    LOG_IN: UNAUTHORIZED, "Log in first", "Open the desk, log in, and open the question there.";
    NOT_LOGGED_IN: UNAUTHORIZED, "Log in first", "The login is missing or has expired.";
    LINK: FORBIDDEN, "Link not valid",
        "The link is incomplete, belongs to another question, or has expired. Open the desk and log in.";
    FOREIGN_FORM: FORBIDDEN, "Form not valid",
        "The form belongs to another login, and nothing was answered. Open the desk again.";
    CROSS_SITE: FORBIDDEN, "Request refused",
        "The request comes from a page of another site, and nothing was changed. Behind a reverse proxy, \
         CLAUDEOPS_DESK_URL must be the address that browsers use.";
    CHANGED: CONFLICT, "Not answered", "The question is not the one that the page showed. Open it again.";
    WRONG_HOST: MISDIRECTED_REQUEST, "Unknown host",
        "The desk does not have this name. State its address with CLAUDEOPS_DESK_URL.";
    TOO_SLOW: REQUEST_TIMEOUT, "Too slow", "The request took too long. Try again.";
    BUSY: SERVICE_UNAVAILABLE, "Too many open pages", "Close pages of the desk and try again.";
    INTERNAL: INTERNAL_SERVER_ERROR, "The desk failed",
        "This is a bug of opsctl. `opsctl approvals` and `opsctl approve` work without the desk.";
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        let text = error.to_string().into();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, title: "The ledger cannot be used", text }
    }
}

impl From<minijinja::Error> for Problem {
    fn from(_: minijinja::Error) -> Self {
        Self::INTERNAL
    }
}
