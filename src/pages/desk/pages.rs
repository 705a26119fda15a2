//! The pages: views from the ledger, rendered with the templates.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use chrono::{TimeDelta, Utc};
use serde::Deserialize;
use serde_json::json;

use super::access::visitor::Visitor;
use super::logs;
use super::problem::Problem;
use super::state::Desk;
use super::templates::Head;
use super::views::{path_part, view};
use crate::guard::approval::link;
use crate::machine::installation;
use crate::pages::report;
use crate::pages::report::ReportData;
use crate::pages::report::format::{plain, shown};
use opsctl_ledger::Ledger;
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

/// The query of the page.
#[derive(Debug, Deserialize)]
pub struct DeskQuery {
    /// The number of the question that was just answered.
    answered: Option<String>,
    /// The agent whose rows are shown.
    agent: Option<String>,
}

/// The query of the page with the sessions.
#[derive(Debug, Deserialize)]
pub struct SessionsQuery {
    /// The agent whose sessions are shown.
    agent: Option<String>,
}

/// The query of a link.
#[derive(Debug, Deserialize)]
pub struct LinkQuery {
    /// The token.
    t: Option<String>,
}

/// The page with open questions and the report.
pub async fn desk(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Query(query): Query<DeskQuery>,
) -> Response {
    // Before the ledger is read: a change in between shows as a newer version.
    let version = desk.live.version();
    let answered = query.answered.and_then(|id| id.parse().ok());
    let wanted = (answered, query.agent);
    let page = desk.blocking(move |desk| desk_page(desk, &visitor, &version, wanted));
    page.await.unwrap_or_else(|problem| problem)
}

fn desk_page(
    desk: &Desk,
    visitor: &Visitor,
    version: &str,
    (answered, agent): (Option<i64>, Option<String>),
) -> Result<Response, Problem> {
    let environment = desk.environment();
    let mut warnings = Vec::new();
    let compiled = installation::in_force(environment, &mut warnings);
    let ledger = Ledger::open(&environment.ledger)?;
    let now = ledger.now(Utc::now())?;
    let agents = ledger.agents()?;
    let agent = agent.filter(|agent| agents.contains(agent));
    let period = (now - SPAN, now);
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
        "calm": report.is_calm,
    });
    let raw = json!({ "version": version, "sections": report.html });
    let domain = compiled.installation.inventory.domain.as_deref();
    let head = Head { title: &title, domain, page: "desk", visitor: Some(visitor), now };
    desk.templates.page("desk/desk.html", &desk.key, &head, page, raw)
}

/// The page of one question, for a visitor or for the reader of a link.
pub async fn question(
    State(desk): State<Arc<Desk>>,
    visitor: Option<Visitor>,
    Path(id): Path<String>,
    Query(query): Query<LinkQuery>,
) -> Response {
    let Ok(id) = id.parse() else { return desk.problem(&Problem::NOT_FOUND) };
    let page = desk.blocking(move |desk| question_page(desk, visitor.as_ref(), id, query.t));
    page.await.unwrap_or_else(|problem| problem)
}

fn question_page(
    desk: &Desk,
    visitor: Option<&Visitor>,
    id: i64,
    token: Option<String>,
) -> Result<Response, Problem> {
    let ledger = Ledger::open(&desk.environment().ledger)?;
    let now = ledger.now(Utc::now())?;
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
    let head = Head { title: &title, domain: None, page: "other", visitor, now };
    // A visitor answers as such, also through a link.
    let raw = json!({ "token": token.filter(|_| visitor.is_none()) });
    desk.templates.page("desk/one.html", &desk.key, &head, json!({ "question": view }), raw)
}

/// The page with the sessions of the period.
pub async fn sessions(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Query(query): Query<SessionsQuery>,
) -> Response {
    let page = desk.blocking(move |desk| sessions_page(desk, &visitor, query.agent));
    page.await.unwrap_or_else(|problem| problem)
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

fn sessions_page(desk: &Desk, visitor: &Visitor, agent: Option<String>) -> Result<Response, Problem> {
    let ledger = Ledger::open(&desk.environment().ledger)?;
    let now = ledger.now(Utc::now())?;
    let agents = ledger.agents()?;
    let agent = agent.filter(|agent| agents.contains(agent));
    let runs = ledger.runs(agent.as_deref(), Some(now - SPAN), MOST_SESSIONS)?;
    let filter = filter("/sessions", &agents, agent.as_deref());
    let page = json!({ "rows": shown(&runs.rows), "is_cut": runs.cut, "filter": filter });
    let visitor = Some(visitor);
    let head = Head { title: "Sessions", domain: None, page: "sessions", visitor, now };
    desk.templates.page("desk/sessions.html", &desk.key, &head, page, json!({}))
}

/// The log of a session.
pub async fn log(State(desk): State<Arc<Desk>>, visitor: Visitor, Path(id): Path<String>) -> Response {
    let page = desk.blocking(move |desk| log_page(desk, &visitor, &id));
    page.await.unwrap_or_else(|problem| problem)
}

fn log_page(desk: &Desk, visitor: &Visitor, session: &str) -> Result<Response, Problem> {
    let environment = desk.environment();
    let path = Ledger::open(&environment.ledger)?.log_of(session)?.ok_or(Problem::NO_LOG)?;
    let log = logs::read(&environment.results_dir(), &path).ok_or(Problem::NO_LOG)?;
    let page = json!({ "session": plain(session), "lines": log.lines, "is_cut": log.is_cut });
    let (visitor, now) = (Some(visitor), Utc::now());
    let head = Head { title: "Log", domain: None, page: "sessions", visitor, now };
    desk.templates.page("desk/log.html", &desk.key, &head, page, json!({}))
}

/// A file that pages load.
pub async fn asset(State(desk): State<Arc<Desk>>, Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(file, ..)| *file == name) {
        Some((_, kind, content)) => {
            // The style sheet of the report comes first.
            let before = if name == "desk.css" { report::STYLE } else { "" };
            ([(header::CONTENT_TYPE, *kind)], format!("{before}{content}")).into_response()
        }
        None => desk.problem(&Problem::NOT_FOUND),
    }
}

/// The answer to an unknown address.
pub async fn not_found(State(desk): State<Arc<Desk>>) -> Response {
    desk.problem(&Problem::NOT_FOUND)
}

/// The answer to a method that an address does not have.
pub async fn wrong_method(State(desk): State<Arc<Desk>>) -> Response {
    desk.problem(&Problem::METHOD)
}
