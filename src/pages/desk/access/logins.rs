//! Logging in with the token, and logging out.

use std::sync::Arc;
use std::time::Instant;

use axum::Form;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::{TimeDelta, Utc};
use serde::Deserialize;

use super::identity::client_address;
use super::visitor::Visitor;
use crate::guard::approval::desk_key::{encoded, random};
use crate::guard::process::connections::Peer;
use crate::pages::desk::problem::Problem;
use crate::pages::desk::state::Desk;
use opsctl_ledger::records::desk::Login;

/// How long a login lasts.
const LIFE: TimeDelta = TimeDelta::hours(12);

/// The name that is recorded for a person who has logged in with the token.
const WHO: &str = "desk";

/// The form of a login.
#[derive(Debug, Deserialize)]
pub struct LoginForm {
    token: String,
}

/// The form of a logout.
#[derive(Debug, Deserialize)]
pub struct LogoutForm {
    form: String,
}

/// The page with the form.
pub async fn page(State(desk): State<Arc<Desk>>, visitor: Option<Visitor>) -> Response {
    if visitor.is_some() {
        return Redirect::to("/").into_response();
    }
    login_page(&desk, None, StatusCode::OK)
}

fn login_page(desk: &Desk, failure: Option<&str>, status: StatusCode) -> Response {
    let place = desk.tokens.login_file().map(|path| {
        if desk.settings.token_file.is_some() {
            return "The token is in the file that CLAUDEOPS_DESK_TOKEN_FILE names.".to_owned();
        }
        let name = path.file_name().unwrap_or_default().display();
        format!("The token is in the file {name} of the state folder of `opsctl serve`.")
    });
    desk.templates.login(failure, place.as_deref(), status)
}

/// Logs in with the token: sets a cookie.
pub async fn log_in(
    State(desk): State<Arc<Desk>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Form(form): Form<LoginForm>,
) -> Response {
    let address = client_address(&desk, &peer, &headers);
    if let Err(wait) = desk.attempts().begin(address, Instant::now()) {
        let seconds = wait.as_secs() + 1;
        let failure = format!("Too many failed logins. Try again in {} minutes.", seconds.div_ceil(60));
        let mut answer = login_page(&desk, Some(&failure), StatusCode::TOO_MANY_REQUESTS);
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        return answer;
    }
    if !desk.tokens.logs_in(&form.token) {
        return login_page(&desk, Some("This is not the token."), StatusCode::UNAUTHORIZED);
    }
    desk.attempts().succeeded(address);
    match start(&desk).await {
        Ok(cookie) => with_cookie(&desk, &cookie, LIFE.num_seconds()),
        Err(problem) => problem,
    }
}

/// Records a login. Returns its cookie.
async fn start(desk: &Arc<Desk>) -> Result<String, Response> {
    let cookie = encoded(&random().map_err(|_| desk.problem(&Problem::INTERNAL))?);
    let now = Utc::now();
    let digest = desk.tokens.digest(&cookie).ok_or_else(|| desk.problem(&Problem::INTERNAL))?;
    let login = Login { digest, who: WHO.to_owned(), expires_at: now + LIFE };
    desk.with_ledger(move |ledger| {
        let change = ledger.change()?;
        change.add_login(&login, now)?;
        change.commit()
    })
    .await?;
    Ok(cookie)
}

/// Ends the login.
pub async fn log_out(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Form(form): Form<LogoutForm>,
) -> Response {
    if !visitor.owns_form(&desk.key, &form.form) {
        return desk.problem(&Problem::FOREIGN_FORM);
    }
    let Some(digest) = visitor.login else { return Redirect::to("/").into_response() };
    let removed = desk.with_ledger(move |ledger| {
        let change = ledger.change()?;
        change.remove_login(&digest)?;
        change.commit()
    });
    match removed.await {
        Ok(()) => with_cookie(&desk, "", 0),
        Err(problem) => problem,
    }
}

fn with_cookie(desk: &Desk, cookie: &str, seconds: i64) -> Response {
    let secure = if desk.settings.is_https() { "; Secure" } else { "" };
    let name = desk.cookie_name();
    let cookie = format!("{name}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response(),
        Err(_) => desk.problem(&Problem::INTERNAL),
    }
}
