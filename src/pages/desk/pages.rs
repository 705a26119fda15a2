//! The pages: views from the ledger, rendered with the templates.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{Html, IntoResponse};
use serde_json::{Value, json};

use super::access::visitor::Visitor;
use super::details::details;
use super::problem::Problem;
use super::scope::{PageQuery, Scope};
use super::state::Desk;
use super::templates;
use super::templates::Head;
use super::views::view;
use crate::guard::approval::link;
use crate::guard::budgets;
use crate::machine::installation;
use crate::pages::report;
use crate::pages::report::format::{plain, with};
use crate::pages::report::{Extent, ReportData};
use opsctl_ledger::records::questions::WhichQuestions;
use opsctl_policy::model::records::question::{Question, QuestionState};
use opsctl_probe::hosts::PingedHost;

/// The maximum number of open questions on the page, and of answered ones.
const MOST_OPEN: u32 = 100;
const MOST_ANSWERED: usize = 8;

/// The files of the desk: name, content type, content.
const FILES: [(&str, &str, &str); 3] = [
    ("desk.js", "text/javascript; charset=utf-8", include_str!("../../../templates/desk/desk.js")),
    ("desk.css", "text/css; charset=utf-8", include_str!("../../../templates/desk/desk.css")),
    ("icon.svg", "image/svg+xml", include_str!("../../../templates/desk/icon.svg")),
];

/// The page with open questions and the report.
pub async fn desk(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Query(query): Query<PageQuery>,
) -> Result<Html<String>, Problem> {
    // Before the ledger is read: a change in between shows as a newer version.
    let version = desk.live.version();
    desk.blocking(move |desk| desk_page(desk, &visitor, &version, query)).await
}

fn desk_page(
    desk: &Desk,
    visitor: &Visitor,
    version: &str,
    query: PageQuery,
) -> Result<Html<String>, Problem> {
    let environment = desk.environment();
    let mut warnings = Vec::new();
    let compiled = installation::in_force(environment, &mut warnings);
    let (ledger, now) = desk.ledger()?;
    let agents = ledger.agents()?;
    let scope = Scope::of(&query, &agents, now);
    let answered = query.answered.and_then(|id| id.parse().ok());
    let period = (scope.since, now, Extent::PAGE);
    let mut data =
        ReportData::read(environment, &compiled, Some(&ledger), &scope.filter, period, &mut warnings)?;
    let hosts = compiled.installation.inventory.hosts.iter().map(|host| {
        let reachability = desk.live.reachability(&host.name, &host.address)?;
        Some(PingedHost::new(host, reachability))
    });
    data.hosts = hosts.collect();
    let report = report::sections(&data, &scope.links(&agents))?;
    let inventory = &compiled.installation.inventory;
    let several = agents.len() > 1;
    let shown = |question: &Question| -> Result<Value, Problem> {
        let more = details(desk, &ledger, inventory, &data.budgets, (question, now))?;
        Ok(with(view(question, several, now), more))
    };
    let open = ledger.questions(WhichQuestions::Open, MOST_OPEN, now)?;
    let all = ledger.questions(WhichQuestions::All, MOST_OPEN, now)?;
    let recent = all.iter().filter(|question| question.state != QuestionState::Open || question.at_terminal);
    let answered = answered.map_or(Ok(None), |id| ledger.question(id, now))?;
    let answered = answered.as_ref().filter(|question| question.state != QuestionState::Open);
    let title = match open.len() {
        0 => "No open questions".to_owned(),
        1 => "One question is open".to_owned(),
        number => format!("{number} questions are open"),
    };
    let warnings: Vec<String> = warnings.iter().map(|warning| plain(&warning.to_string())).collect();
    let page = json!({
        "open": open.iter().map(shown).collect::<Result<Vec<_>, _>>()?,
        "recent": recent.take(MOST_ANSWERED).map(shown).collect::<Result<Vec<_>, _>>()?,
        "answered": answered.map(shown).transpose()?,
        "warnings": warnings,
        "scope": scope.view("/", inventory, &agents),
        "headline": report.headline,
        "look": report.look,
    });
    let raw = json!({ "version": version, "sections": report.html });
    let domain = inventory.domain.as_deref();
    let head = Head { title: &title, domain, page: "desk", visitor: Some((visitor, &desk.key)), now };
    templates::page("desk/desk.html", &head, page, raw)
}

/// The page of one question, for a visitor or for the reader of a link.
pub async fn question(
    State(desk): State<Arc<Desk>>,
    visitor: Option<Visitor>,
    Path(id): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Html<String>, Problem> {
    let id = id.parse().map_err(|_| Problem::NOT_FOUND)?;
    let version = desk.live.version();
    desk.blocking(move |desk| question_page(desk, visitor.as_ref(), (id, query.t), &version)).await
}

fn question_page(
    desk: &Desk,
    visitor: Option<&Visitor>,
    (id, token): (i64, Option<String>),
    version: &str,
) -> Result<Html<String>, Problem> {
    let (ledger, now) = desk.ledger()?;
    let question = ledger.question(id, now)?;
    let is_valid = |question: &Question| {
        token.as_ref().is_some_and(|token| link::is_valid(&desk.key, question, token, now))
    };
    let question = match (question, visitor) {
        (Some(question), Some(_)) => question,
        (Some(question), None) if is_valid(&question) => question,
        (None, Some(_)) => return Err(Problem::NO_QUESTION),
        // A number that does not exist answers as a wrong token does.
        (_, None) if token.is_some() => return Err(Problem::LINK),
        (_, None) => return Err(Problem::LOG_IN),
    };
    let environment = desk.environment();
    let mut warnings = Vec::new();
    let compiled = installation::in_force(environment, &mut warnings);
    let installation = &compiled.installation;
    let budgets =
        budgets::of_agents(environment, installation, question.agent.as_deref(), now, &mut warnings);
    let more = details(desk, &ledger, &installation.inventory, &budgets, (&question, now))?;
    let view = with(view(&question, ledger.agents()?.len() > 1, now), more);
    let title = format!("Question {id}");
    // A visitor answers as such, also through a link. Only a visitor gets events of changes.
    let token = token.filter(|_| visitor.is_none());
    let raw = json!({ "version": visitor.map(|_| version), "token": token });
    let visitor = visitor.map(|visitor| (visitor, &desk.key));
    let domain = installation.inventory.domain.as_deref();
    let head = Head { title: &title, domain, page: "questions", visitor, now };
    templates::page("desk/one.html", &head, json!({ "question": view }), raw)
}

/// A file that pages load.
pub async fn asset(Path(name): Path<String>) -> Result<impl IntoResponse, Problem> {
    let file = FILES.iter().find(|(file, ..)| *file == name);
    let (_, kind, content) = file.ok_or(Problem::NOT_FOUND)?;
    // The style sheet of the report comes first.
    let before = if name == "desk.css" { report::STYLE } else { "" };
    Ok(([(header::CONTENT_TYPE, *kind)], format!("{before}{content}")))
}
