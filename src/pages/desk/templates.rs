//! The templates of the desk, beside those of the report.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use minijinja::value::{Serde, Value};
use serde_json::{Value as Json, json};

use super::access::visitor::Visitor;
use super::problem::Problem;
use super::views::path_part;
use crate::guard::approval::desk_key::DeskKey;
use crate::pages::report;
use crate::pages::report::format::{add_filters, with};

const TEMPLATES: [(&str, &str); 8] = [
    ("desk/base.html", include_str!("../../../templates/desk/base.html.j2")),
    ("desk/desk.html", include_str!("../../../templates/desk/desk.html.j2")),
    ("desk/question.html", include_str!("../../../templates/desk/question.html.j2")),
    ("desk/one.html", include_str!("../../../templates/desk/one.html.j2")),
    ("desk/login.html", include_str!("../../../templates/desk/login.html.j2")),
    ("desk/problem.html", include_str!("../../../templates/desk/problem.html.j2")),
    ("desk/sessions.html", include_str!("../../../templates/desk/sessions.html.j2")),
    ("desk/log.html", include_str!("../../../templates/desk/log.html.j2")),
];

/// The template engine: escapes all values, and fails on undefined ones.
#[derive(Debug)]
pub struct Templates(minijinja::Environment<'static>);

/// What the head of a page shows.
#[derive(Debug)]
pub struct Head<'a> {
    /// The title.
    pub title: &'a str,
    /// The domain of the services.
    pub domain: Option<&'a str>,
    /// The page on which the visitor is, for the navigation: `desk`, `sessions` or `other`.
    pub page: &'a str,
    /// Who is logged in.
    pub visitor: Option<&'a Visitor>,
    /// The time as of which relative times are shown.
    pub now: DateTime<Utc>,
}

impl Templates {
    /// Reads the templates. An error is a bug in one.
    pub fn new() -> Result<Self, minijinja::Error> {
        let mut templates = report::templates(Utc::now())?;
        templates.add_filter("path_part", path_part);
        for (name, text) in TEMPLATES {
            templates.add_template(name, text)?;
        }
        Ok(Self(templates))
    }

    /// Renders a page. Secrets are removed from `view`; `raw` is what only opsctl writes, such as tokens of forms.
    pub fn page(
        &self,
        template: &str,
        key: &DeskKey,
        head: &Head<'_>,
        view: Json,
        raw: Json,
    ) -> Result<Response, Problem> {
        let form = head.visitor.map(|visitor| visitor.form_token(key));
        self.render(template, head, view, raw, form.as_deref()).map(|page| Html(page).into_response())
    }

    fn render(
        &self,
        template: &str,
        head: &Head<'_>,
        mut view: Json,
        raw: Json,
        form: Option<&str>,
    ) -> Result<String, Problem> {
        opsctl_redact::json(&mut view);
        let all = json!({
            "title": head.title,
            "domain": head.domain,
            "page": head.page,
            "who": head.visitor.map(|visitor| visitor.who.as_str()),
            "can_log_out": head.visitor.is_some_and(|visitor| visitor.login.is_some()),
            "form": form,
            "token": null,
        });
        let all = with(with(all, view), raw);
        let mut templates = self.0.clone();
        add_filters(&mut templates, head.now);
        Ok(templates.get_template(template)?.render(Value::from(Serde(&all)))?)
    }

    /// The page for logging in, with the failure of the last attempt and where the token is.
    pub fn login(&self, failure: Option<&str>, place: Option<&str>, status: StatusCode) -> Response {
        let head = Head { title: "Log in", domain: None, page: "other", visitor: None, now: Utc::now() };
        let raw = json!({ "failure": failure, "has_token": place.is_some(), "place": place });
        match self.render("desk/login.html", &head, json!({}), raw, None) {
            Ok(page) => (status, Html(page)).into_response(),
            Err(problem) => self.problem(&problem),
        }
    }

    /// The page that reports a problem.
    pub fn problem(&self, problem: &Problem) -> Response {
        let head = Head { title: problem.title, domain: None, page: "other", visitor: None, now: Utc::now() };
        match self.render("desk/problem.html", &head, json!({ "text": problem.text }), json!({}), None) {
            Ok(page) => (problem.status, Html(page)).into_response(),
            Err(_) => (problem.status, problem.title).into_response(),
        }
    }
}
