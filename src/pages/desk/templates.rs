//! The templates of the desk, beside those of the report.

use std::sync::LazyLock;

use axum::response::{Html, IntoResponse, Response};
use chrono::{DateTime, Utc};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error};
use serde_json::{Value as Json, json};

use super::access::visitor::Visitor;
use super::problem::Problem;
use crate::guard::approval::desk_key::DeskKey;
use crate::pages::report;
use crate::pages::report::format::{add_filters, with};

/// The template engine: escapes all values, and fails on undefined ones. An error is a bug in a template.
pub static TEMPLATES: LazyLock<Result<Environment<'static>, Error>> = LazyLock::new(|| {
    let mut templates = report::templates(Utc::now())?;
    for (name, text) in [
        ("desk/base.html", include_str!("../../../templates/desk/base.html.j2")),
        ("desk/desk.html", include_str!("../../../templates/desk/desk.html.j2")),
        ("desk/question.html", include_str!("../../../templates/desk/question.html.j2")),
        ("desk/one.html", include_str!("../../../templates/desk/one.html.j2")),
        ("desk/login.html", include_str!("../../../templates/desk/login.html.j2")),
        ("desk/problem.html", include_str!("../../../templates/desk/problem.html.j2")),
        ("desk/scope.html", include_str!("../../../templates/desk/scope.html.j2")),
        ("desk/questions.html", include_str!("../../../templates/desk/questions.html.j2")),
        ("desk/denials.html", include_str!("../../../templates/desk/denials.html.j2")),
        ("desk/sessions.html", include_str!("../../../templates/desk/sessions.html.j2")),
        ("desk/log.html", include_str!("../../../templates/desk/log.html.j2")),
    ] {
        templates.add_template(name, text)?;
    }
    Ok(templates)
});

/// What the head of a page shows.
#[derive(Debug, Default)]
pub struct Head<'a> {
    /// The title.
    pub title: &'a str,
    /// The domain of the services.
    pub domain: Option<&'a str>,
    /// The page on which the visitor is, for the navigation: `desk`, `questions`, `denials`, `sessions` or another one.
    pub page: &'a str,
    /// Who is logged in, and the key of the forms.
    pub visitor: Option<(&'a Visitor, &'a DeskKey)>,
    /// The time as of which relative times are shown.
    pub now: DateTime<Utc>,
}

/// Renders a page. Secrets are removed from `view`; `raw` is what only opsctl writes, such as tokens of forms.
pub fn page(template: &str, head: &Head<'_>, mut view: Json, raw: Json) -> Result<Html<String>, Problem> {
    opsctl_redact::json(&mut view);
    let all = json!({
        "title": head.title,
        "domain": head.domain,
        "page": head.page,
        "who": head.visitor.map(|(visitor, _)| visitor.who.as_str()),
        "can_log_out": head.visitor.is_some_and(|(visitor, _)| visitor.login.is_some()),
        "form": head.visitor.map(|(visitor, key)| visitor.form_token(key)),
        "token": null,
        // The version of what a page shows that is refreshed when the ledger changes.
        "version": null,
    });
    let all = with(with(all, view), raw);
    let mut templates = TEMPLATES.as_ref().map_err(|_| Problem::INTERNAL)?.clone();
    add_filters(&mut templates, head.now);
    Ok(Html(templates.get_template(template)?.render(Value::from(Serde(&all)))?))
}

impl IntoResponse for Problem {
    /// The page that reports it.
    fn into_response(self) -> Response {
        let head = Head { title: self.title, ..Head::default() };
        match page("desk/problem.html", &head, json!({ "text": self.text }), json!({})) {
            Ok(page) => (self.status, page).into_response(),
            Err(_) => (self.status, self.title).into_response(),
        }
    }
}
