//! Logging in with the token, and logging out.

use std::sync::Arc;
use std::time::Instant;

use axum::Form;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::{TimeDelta, Utc};
use serde::Deserialize;
use serde_json::json;

use super::identity::client_address;
use super::visitor::Visitor;
use crate::guard::approval::desk_key::{encoded, random};
use crate::guard::process::connections::Peer;
use crate::pages::desk::problem::Problem;
use crate::pages::desk::state::Desk;
use crate::pages::desk::templates;
use crate::pages::desk::templates::Head;
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
pub async fn page(State(desk): State<Arc<Desk>>, visitor: Option<Visitor>) -> Result<Response, Problem> {
    if visitor.is_some() {
        return Ok(Redirect::to("/").into_response());
    }
    login_page(&desk, None, StatusCode::OK)
}

/// The page with the form, the failure of the last attempt, and where the token is.
fn login_page(desk: &Desk, failure: Option<&str>, status: StatusCode) -> Result<Response, Problem> {
    let place = desk.tokens.login_file().map(|path| {
        if desk.settings.token_file.is_some() {
            return "The token is in the file that CLAUDEOPS_DESK_TOKEN_FILE names.".to_owned();
        }
        let name = path.file_name().unwrap_or_default().display();
        format!("The token is in the file {name} of the state folder of `opsctl serve`.")
    });
    let head = Head { title: "Log in", ..Head::default() };
    let raw = json!({ "failure": failure, "has_token": place.is_some(), "place": place });
    Ok((status, templates::page("desk/login.html", &head, json!({}), raw)?).into_response())
}

/// Logs in with the token: sets a cookie.
pub async fn log_in(
    State(desk): State<Arc<Desk>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Form(form): Form<LoginForm>,
) -> Result<Response, Problem> {
    let address = client_address(&desk, &peer, &headers);
    if let Err(wait) = desk.attempts().begin(address, Instant::now()) {
        let seconds = wait.as_secs() + 1;
        let failure = format!("Too many failed logins. Try again in {} minutes.", seconds.div_ceil(60));
        let mut answer = login_page(&desk, Some(&failure), StatusCode::TOO_MANY_REQUESTS)?;
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        return Ok(answer);
    }
    if !desk.tokens.logs_in(&form.token) {
        return login_page(&desk, Some("This is not the token."), StatusCode::UNAUTHORIZED);
    }
    desk.attempts().succeeded(address);
    let cookie = encoded(&random().map_err(|_| Problem::INTERNAL)?);
    let now = Utc::now();
    let digest = desk.tokens.digest(&cookie).ok_or(Problem::INTERNAL)?;
    let login = Login { digest, who: WHO.to_owned(), expires_at: now + LIFE };
    desk.write(move |change| change.add_login(&login, now)).await?;
    with_cookie(&desk, &cookie, LIFE.num_seconds())
}

/// Ends the login.
pub async fn log_out(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Form(form): Form<LogoutForm>,
) -> Result<Response, Problem> {
    if !visitor.owns_form(&desk.key, &form.form) {
        return Err(Problem::FOREIGN_FORM);
    }
    let Some(digest) = visitor.login else { return Ok(Redirect::to("/").into_response()) };
    desk.write(move |change| change.remove_login(&digest)).await?;
    with_cookie(&desk, "", 0)
}

fn with_cookie(desk: &Desk, cookie: &str, seconds: i64) -> Result<Response, Problem> {
    let secure = if desk.settings.is_https() { "; Secure" } else { "" };
    let name = desk.cookie_name();
    let cookie = format!("{name}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    let cookie = HeaderValue::from_str(&cookie).map_err(|_| Problem::INTERNAL)?;
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}
