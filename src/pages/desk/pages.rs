//! The pages: views from the ledger, rendered with the templates.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{Html, IntoResponse};
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::json;

use super::access::visitor::Visitor;
use super::logs;
use super::problem::Problem;
use super::state::Desk;
use super::templates;
use super::templates::Head;
use super::views::{path_part, view};
use crate::guard::approval::link;
use crate::machine::installation;
use crate::pages::report;
use crate::pages::report::format::{plain, shown};
use crate::pages::report::{Extent, ReportData};
use opsctl_ledger::records::questions::WhichQuestions;
use opsctl_policy::model::records::question::{Question, QuestionState};
use opsctl_probe::hosts::PingedHost;

/// The period of the page.
const SPAN: TimeDelta = TimeDelta::days(7);

/// The maximum number of open questions on the page, of answered ones, and of sessions.
const MOST_OPEN: u32 = 100;
const MOST_ANSWERED: usize = 20;
const MOST_SESSIONS: u32 = 200;

/// The files of the desk: name, content type, content.
const FILES: [(&str, &str, &str); 3] = [
    ("desk.js", "text/javascript; charset=utf-8", include_str!("../../../templates/desk/desk.js")),
    ("desk.css", "text/css; charset=utf-8", include_str!("../../../templates/desk/desk.css")),
    ("icon.svg", "image/svg+xml", include_str!("../../../templates/desk/icon.svg")),
];

/// The query of a page.
#[derive(Debug, Deserialize)]
pub struct PageQuery {
    /// The number of the question that was just answered.
    answered: Option<String>,
    /// The agent whose rows are shown.
    agent: Option<String>,
    /// The token of a link.
    t: Option<String>,
}

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
    let agent = query.agent.filter(|agent| agents.contains(agent));
    let answered = query.answered.and_then(|id| id.parse().ok());
    let period = (now - SPAN, now, Extent::PAGE);
    let mut data =
        ReportData::read(environment, &compiled, Some(&ledger), agent.as_deref(), period, &mut warnings)?;
    let hosts = compiled.installation.inventory.hosts.iter().map(|host| {
        let reachability = desk.live.reachability(&host.name, &host.address)?;
        Some(PingedHost::new(host, reachability))
    });
    data.hosts = hosts.collect();
    let report = report::sections(&data)?;
    let view = |question: &Question| view(question, agents.len() > 1, now);
    let open = ledger.questions(WhichQuestions::Open, MOST_OPEN, now)?;
    let all = ledger.questions(WhichQuestions::All, MOST_OPEN, now)?;
    let recent = all.iter().filter(|question| question.state != QuestionState::Open || question.at_terminal);
    let answered = answered.map_or(Ok(None), |id| ledger.question(id, now))?;
    let title = match open.len() {
        0 => "No open questions".to_owned(),
        1 => "One question is open".to_owned(),
        number => format!("{number} questions are open"),
    };
    let warnings: Vec<String> = warnings.iter().map(|warning| plain(&warning.to_string())).collect();
    let page = json!({
        "open": open.iter().map(view).collect::<Vec<_>>(),
        "recent": recent.take(MOST_ANSWERED).map(view).collect::<Vec<_>>(),
        "answered": answered.as_ref().filter(|question| question.state != QuestionState::Open).map(view),
        "warnings": warnings,
        "filter": filter("/", &agents, agent.as_deref()),
        "headline": report.headline,
        "look": report.look,
    });
    let raw = json!({ "version": version, "sections": report.html });
    let domain = compiled.installation.inventory.domain.as_deref();
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
    desk.blocking(move |desk| question_page(desk, visitor.as_ref(), id, query.t)).await
}

fn question_page(
    desk: &Desk,
    visitor: Option<&Visitor>,
    id: i64,
    token: Option<String>,
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
    let view = view(&question, ledger.agents()?.len() > 1, now);
    let title = format!("Question {id}");
    // A visitor answers as such, also through a link.
    let raw = json!({ "token": token.filter(|_| visitor.is_none()) });
    let visitor = visitor.map(|visitor| (visitor, &desk.key));
    let head = Head { title: &title, visitor, now, ..Head::default() };
    templates::page("desk/one.html", &head, json!({ "question": view }), raw)
}

/// The page with the sessions of the period.
pub async fn sessions(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Query(query): Query<PageQuery>,
) -> Result<Html<String>, Problem> {
    desk.blocking(move |desk| {
        let (ledger, now) = desk.ledger()?;
        let agents = ledger.agents()?;
        let agent = query.agent.filter(|agent| agents.contains(agent));
        let runs = ledger.runs(agent.as_deref(), Some(now - SPAN), MOST_SESSIONS)?;
        let filter = filter("/sessions", &agents, agent.as_deref());
        let page = json!({ "rows": shown(&runs.rows), "is_cut": runs.cut, "filter": filter });
        let visitor = Some((&visitor, &desk.key));
        let head = Head { title: "Sessions", page: "sessions", visitor, now, ..Head::default() };
        templates::page("desk/sessions.html", &head, page, json!({}))
    })
    .await
}

/// The links that filter a page by agent; empty if the ledger has not several.
fn filter(path: &str, agents: &[String], chosen: Option<&str>) -> Vec<serde_json::Value> {
    if agents.len() < 2 {
        return vec![];
    }
    let all = json!({ "name": "All agents", "href": path, "is_chosen": chosen.is_none() });
    let of_one = |agent: &String| {
        let href = format!("{path}?agent={}", path_part(agent));
        json!({ "name": plain(agent), "href": href, "is_chosen": chosen == Some(agent.as_str()) })
    };
    std::iter::once(all).chain(agents.iter().map(of_one)).collect()
}

/// The log of a session.
pub async fn log(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Html<String>, Problem> {
    desk.blocking(move |desk| {
        let (ledger, now) = desk.ledger()?;
        let path = ledger.log_of(&id)?.ok_or(Problem::NO_LOG)?;
        let log = logs::read(&desk.environment().results_dir(), &path).ok_or(Problem::NO_LOG)?;
        let page = json!({ "session": plain(&id), "lines": log.lines, "is_cut": log.is_cut });
        let visitor = Some((&visitor, &desk.key));
        let head = Head { title: "Log", page: "sessions", visitor, now, ..Head::default() };
        templates::page("desk/log.html", &head, page, json!({}))
    })
    .await
}

/// A file that pages load.
pub async fn asset(Path(name): Path<String>) -> Result<impl IntoResponse, Problem> {
    let file = FILES.iter().find(|(file, ..)| *file == name);
    let (_, kind, content) = file.ok_or(Problem::NOT_FOUND)?;
    // The style sheet of the report comes first.
    let before = if name == "desk.css" { report::STYLE } else { "" };
    Ok(([(header::CONTENT_TYPE, *kind)], format!("{before}{content}")))
}
