//! Answering a question, as a visitor or with a link. Only POST requests answer.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::{Form, http::StatusCode};
use serde::Deserialize;

use super::access::visitor::Visitor;
use super::problem::Problem;
use super::state::Desk;
use super::views::seal;
use crate::guard::approval;
use crate::guard::approval::{ApprovalError, link};
use opsctl_policy::model::records::question::{Answer, Question};

/// The name that is recorded for an answer with a link.
const WHO: &str = "link";

/// The form of an answer.
#[derive(Debug, Deserialize)]
pub struct AnswerForm {
    id: i64,
    decision: String,
    #[serde(default)]
    note: String,
    /// The token of the visitor's forms.
    #[serde(default)]
    form: String,
    /// The token of a link.
    #[serde(default)]
    t: String,
    /// What the page showed, as a digest. An answer without it is to the question as it is stored.
    #[serde(default)]
    shown: String,
}

/// An answer of a visitor.
pub async fn by_visitor(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Form(form): Form<AnswerForm>,
) -> Result<Redirect, Problem> {
    if !visitor.owns_form(&desk.key, &form.form) {
        return Err(Problem::FOREIGN_FORM);
    }
    let id = form.id;
    desk.blocking(move |desk| answer(desk, &form, &visitor.who, false)).await?;
    Ok(Redirect::to(&format!("/?answered={id}")))
}

/// An answer with a link. A program, such as a button of a notification, gets a short text.
pub async fn by_link(
    State(desk): State<Arc<Desk>>,
    headers: axum::http::HeaderMap,
    Form(form): Form<AnswerForm>,
) -> Result<Response, Problem> {
    let (id, token) = (form.id, form.t.clone());
    let is_browser = headers.contains_key(axum::http::header::ORIGIN);
    let question = desk.blocking(move |desk| answer(desk, &form, WHO, true)).await?;
    if is_browser {
        return Ok(Redirect::to(&format!("/q/{id}?t={token}")).into_response());
    }
    Ok(format!("{}\n", question.state.as_str()).into_response())
}

fn answer(desk: &Desk, form: &AnswerForm, who: &str, needs_link: bool) -> Result<Question, Problem> {
    let decision = Answer::named(&form.decision).ok_or(Problem::BAD_REQUEST)?;
    let (ledger, now) = desk.ledger()?;
    let question = ledger.question(form.id, now)?;
    // The answer needs its connection.
    drop(ledger);
    if needs_link {
        let is_valid = |question: &Question| link::is_valid(&desk.key, question, &form.t, now);
        // A number that does not exist answers as a wrong token does.
        if !question.as_ref().is_some_and(is_valid) {
            return Err(Problem::LINK);
        }
    }
    if question.is_some_and(|question| !form.shown.is_empty() && form.shown != seal(&question)) {
        return Err(Problem::CHANGED);
    }
    let note = Some(form.note.as_str()).filter(|note| !note.trim().is_empty());
    Ok(approval::answer(desk.environment(), form.id, decision, note, who, now)?)
}

impl From<ApprovalError> for Problem {
    fn from(error: ApprovalError) -> Self {
        let status = match error {
            ApprovalError::Unknown(_) | ApprovalError::NoLedger(_) => StatusCode::NOT_FOUND,
            ApprovalError::Answered { .. } | ApprovalError::Expired(_) | ApprovalError::AtTerminal(_) => {
                StatusCode::CONFLICT
            }
            ApprovalError::Ledger(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, title: "Not answered", text: error.to_string().into() }
    }
}
