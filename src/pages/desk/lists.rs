//! Pages with one list each: questions, denials, sessions, and the lines of a log.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Html;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::access::visitor::Visitor;
use super::details::outcome;
use super::logs;
use super::problem::Problem;
use super::scope::{PageQuery, Scope};
use super::state::Desk;
use super::templates;
use super::templates::Head;
use super::views::view;
use crate::machine::installation;
use crate::pages::report::format::{plain, with};
use crate::pages::report::{Extent, ReportData, denials as report_denials, sessions as report_sessions};
use opsctl_inventory::compiled::Compiled;
use opsctl_ledger::Ledger;
use opsctl_ledger::records::questions::WhichQuestions;

/// The maximum number of questions, of denials, and of sessions on a page.
const MOST_QUESTIONS: u32 = 50;
const MOST_DENIALS: usize = 200;
const MOST_SESSIONS: usize = 200;

/// The maximum number of denials among which a filter selects.
const SEARCHED: u32 = 5_000;

/// What a list is made of.
struct Of<'a> {
    desk: &'a Desk,
    compiled: Compiled,
    ledger: Ledger,
    now: DateTime<Utc>,
    agents: Vec<String>,
    scope: Scope,
}

/// Renders the page of a list. `make` returns what its template shows.
async fn list(
    desk: &Arc<Desk>,
    visitor: Visitor,
    query: PageQuery,
    (path, title): (&'static str, &'static str),
    make: impl FnOnce(&Of<'_>, &PageQuery) -> Result<Value, Problem> + Send + 'static,
) -> Result<Html<String>, Problem> {
    // Before the ledger is read: a change in between shows as a newer version.
    let version = desk.live.version();
    desk.blocking(move |desk| {
        let compiled = installation::in_force(desk.environment(), &mut vec![]);
        let (ledger, now) = desk.ledger()?;
        let agents = ledger.agents()?;
        let scope = Scope::of(&query, &agents, now);
        let of = Of { desk, compiled, ledger, now, agents, scope };
        let list = make(&of, &query)?;
        let inventory = &of.compiled.installation.inventory;
        let page = path.trim_start_matches('/');
        let scope = of.scope.view(path, inventory, &of.agents);
        let view = with(json!({ "scope": scope, "links": of.scope.links(&of.agents) }), list);
        let visitor = Some((&visitor, &desk.key));
        let head = Head { title, domain: inventory.domain.as_deref(), page, visitor, now };
        templates::page(&format!("desk/{page}.html"), &head, view, json!({ "version": version }))
    })
    .await
}

/// The page with all questions, newest first.
pub async fn questions(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Query(query): Query<PageQuery>,
) -> Result<Html<String>, Problem> {
    list(&desk, visitor, query, ("/questions", "Questions"), |of, query| {
        let before = query.before.as_deref().and_then(|id| id.parse().ok());
        let which = before.map_or(WhichQuestions::All, WhichQuestions::Before);
        let found = of.ledger.questions(which, MOST_QUESTIONS, of.now)?;
        let rows: Result<Vec<Value>, Problem> = found
            .iter()
            .map(|question| {
                let shown = view(question, of.agents.len() > 1, of.now);
                Ok(with(shown, outcome(&of.ledger, (question, of.now))?))
            })
            .collect();
        let is_full = found.len() >= MOST_QUESTIONS as usize;
        let earlier = found.last().filter(|_| is_full).map(|last| format!("/questions?before={}", last.id));
        Ok(json!({ "rows": rows?, "earlier": earlier, "is_first": before.is_none() }))
    })
    .await
}

/// The page with the denials of the period.
pub async fn denials(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Query(query): Query<PageQuery>,
) -> Result<Html<String>, Problem> {
    list(&desk, visitor, query, ("/denials", "Denials"), |of, _| {
        let inventory = &of.compiled.installation.inventory;
        let found = report_denials::read(
            report_denials::DENIED,
            &of.ledger,
            inventory,
            &of.scope.filter,
            of.scope.since,
            SEARCHED,
        )?;
        let denials = report_denials::denials(&found, inventory, MOST_DENIALS);
        Ok(json!({ "denials": denials, "number": found.rows.len(), "searched": SEARCHED }))
    })
    .await
}

/// The page with the sessions of the period.
pub async fn sessions(
    State(desk): State<Arc<Desk>>,
    visitor: Visitor,
    Query(query): Query<PageQuery>,
) -> Result<Html<String>, Problem> {
    list(&desk, visitor, query, ("/sessions", "Sessions"), |of, _| {
        let period = (of.scope.since, of.now, Extent::PAGE);
        let (environment, filter) = (of.desk.environment(), &of.scope.filter);
        let data =
            ReportData::read(environment, &of.compiled, Some(&of.ledger), filter, period, &mut vec![])?;
        let active = report_sessions::active(&data);
        let number = active.len();
        let rows: Vec<Value> = active.iter().take(MOST_SESSIONS).map(|row| row.view(&data)).collect();
        let is_cut = number > MOST_SESSIONS || data.decisions.cut || data.runs.cut;
        Ok(json!({ "rows": rows, "number": number, "is_cut": is_cut }))
    })
    .await
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
